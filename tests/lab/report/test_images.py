"""Pictures travel inside the page, and the page stays below its size."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

from kernlab.lab.report import page
from kernlab.lab.report.outputs import Picture
from kernlab.lab.report.page import embed


def picture(folder, name, svg=1000, png=400):
    """A figure with an SVG of a given size in bytes and a PNG of a given width in pixels."""
    paths = {"svg": None, "png": None}
    if svg:
        paths["svg"] = folder / f"{name}.svg"
        paths["svg"].write_bytes(b"<svg/>" + b" " * (svg - 6))
    if png:
        paths["png"] = folder / f"{name}.png"
        noise = np.random.default_rng(0).integers(0, 255, (png // 2, png, 3), dtype=np.uint8)
        Image.fromarray(noise).save(paths["png"])
    return Picture("llsvm-f1", name, "A caption.", 1, 1, 0, **paths)


def decoded(address):
    kind, content = address.split(";base64,")
    return kind.removeprefix("data:"), base64.b64decode(content)


@pytest.mark.parametrize(
    ("svg", "png", "kind"),
    [(1000, 400, "svg"), (400_000, 400, "png"), (0, 400, "png"), (400_000, 0, "svg")],
)
def test_a_small_svg_is_taken_as_it_is_and_the_png_for_a_large_or_missing_one(
    tmp_path, svg, png, kind
):
    one = picture(tmp_path, "a", svg=svg, png=png)
    (address,) = embed([one])
    assert decoded(address)[0].partition("+")[0] == f"image/{kind}"
    assert decoded(address)[1] == getattr(one, kind).read_bytes()


def test_the_budget_makes_the_largest_smaller_and_leaves_the_others(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "_SMALL_WIDTH", 300)  # few colours are sought slowly in noise
    pictures = [picture(tmp_path, "small"), picture(tmp_path, "large", svg=0)]
    free = embed(pictures)
    small, large = embed(pictures, budget=len(free[0]) + len(free[1]) // 2)
    assert small == free[0]
    kind, content = decoded(large)
    assert kind == "image/png"
    assert Image.open(io.BytesIO(content)).width == 300
    assert len(small) + len(large) <= len(free[0]) + len(free[1]) // 2


def test_nothing_grows_under_a_budget_that_cannot_be_met(tmp_path):
    pictures = [picture(tmp_path, "a", png=300), picture(tmp_path, "b", svg=500, png=0)]
    free, squeezed = embed(pictures), embed(pictures, budget=1)
    assert all(len(s) <= len(f) for s, f in zip(squeezed, free, strict=True))
    assert all(address.startswith("data:image/") for address in squeezed)
