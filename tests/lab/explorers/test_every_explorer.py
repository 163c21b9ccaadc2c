"""What holds for every explorer: controls redraw, and a setting can be kept and taken along."""

import base64
import html
import io
import json
import re

import numpy as np
import pytest
from PIL import Image

from kernlab.lab.explorers import EXPLORERS, Explorer
from kernlab.lab.explorers.base import FRAMES_KEY, RUNNER_VARIABLE, WIDGET_VIEW
from kernlab.lab.explorers.declared import Scene, log_slider
from kernlab.lab.plots.style import new_figure

WITH_DATA = [name for name, declared in EXPLORERS.items() if declared.given]


@pytest.fixture(scope="module", params=EXPLORERS)
def explorer(request):
    """Each once, put back by every test."""
    return EXPLORERS[request.param]()


def pixels(png):
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int)


def other_values(control):
    """Both ends of a control, or two of its options."""
    if hasattr(control, "options"):
        values = [control.options[0][1], control.options[-1][1]]
    elif hasattr(control, "base"):
        values = [control.base**control.min, control.base**control.max]
    elif hasattr(control, "min"):
        values = [control.min, control.max]
    elif isinstance(control.value, bool):
        values = [not control.value]
    else:  # points in the plane
        values = [((0.25, 0.5, 1),), ((0.25, 0.5, 1), (0.6, 0.3, 1))]
    return [value for value in values if value != control.value]


def test_every_control_redraws_and_reset_goes_back(explorer):
    size = pixels(explorer.png).shape
    first = explorer.values
    for name, control in explorer.controls.items():
        for value in other_values(control):
            before = explorer.png, explorer.caption
            control.value = value
            if "Not drawn" in explorer.caption:  # a sentence, and the picture stays
                assert len(explorer.caption) > 60
                assert explorer.png == before[0]
                continue
            assert (explorer.png, explorer.caption) != before, (name, value)
            assert "Warning" not in explorer.caption
            assert "Raise max_iter" not in explorer.caption
            if name != "count":  # of points: fewer labellings take less room
                assert pixels(explorer.png).shape == size
        explorer.reset()
    assert explorer.values == first


def test_a_picture_says_what_it_shows(explorer):
    alt = explorer.alt
    for control in explorer.controls.values():
        if hasattr(control, "description"):
            assert control.description
            assert control.description in alt
    assert explorer.text in alt
    assert "<" not in alt
    bundle = explorer.bundle()
    assert set(bundle) == {WIDGET_VIEW, "image/png", "text/plain"}
    assert bundle["text/plain"] == f"<Explorer: {explorer.text}>"


def test_the_code_is_of_what_is_shown(explorer):
    """It runs, and its machine has the accuracy on fresh rows that the caption tells."""
    names = {}
    if explorer.code is None:
        return
    exec(explorer.code(**explorer.values), names)
    machine = names.get("machine")
    told = re.findall(r"accuracy <b>([\d.]+)%</b> on (?:fresh|test)", explorer.caption)
    told += re.findall(r"<b>([\d.]+)%</b> on fresh ones", explorer.caption)
    if machine is not None and told and hasattr(machine, "score"):
        score = 100.0 * machine.score(names["X_test"], names["y_test"])
        assert float(told[0]) == pytest.approx(score, abs=0.3)


@pytest.mark.parametrize("name", WITH_DATA)
def test_own_rows_and_own_files_can_be_chosen(name, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 3))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=240) > 0, "yes", "no")
    file = tmp_path / "mine.csv"
    np.savetxt(file, np.column_stack([X, y == "yes"]), delimiter=",")
    explorer = EXPLORERS[name]((X, y), file)
    assert explorer.controls["dataset"].value == "own rows 1"
    assert "Not drawn" not in explorer.caption
    explorer.controls["dataset"].value = str(file)
    assert "Not drawn" not in explorer.caption
    explorer.controls["dataset"].value = "own rows 1"
    if explorer.code:
        exec(explorer.code(**explorer.values), {"X": X, "y": y})
    with pytest.raises(TypeError, match="is no data set"):
        EXPLORERS[name](3.0)


@pytest.mark.parametrize("name", ["fpc_stopping", "fpc_degrees"])
def test_frames_are_the_pictures(name, monkeypatch):
    explorer = EXPLORERS[name]()
    assert explorer.metadata() == {}
    monkeypatch.setenv(RUNNER_VARIABLE, "a notebook")
    page = explorer.metadata()[FRAMES_KEY]
    assert len(page) < 1_000_000
    first = re.search(r'src="data:image/png;base64,([^"]+)"', page)[1]
    frames = json.loads(re.search(r"frames = (\[\[.*?\]\]);\n", page)[1].replace("<\\/", "</"))
    values = [list(values) for values in explorer.frames.values()]
    assert len(frames) == np.prod([len(each) for each in values])
    words = [json.loads(html.unescape(each)) for each in re.findall("data-words='(.*?)'", page)]
    assert [len(each) for each in words] == [len(each) for each in values]
    for place in (0, len(frames) - 1):
        at = np.unravel_index(place, [len(each) for each in values])
        chosen = dict(
            zip(explorer.frames, (v[i] for v, i in zip(values, at, strict=True)), strict=True)
        )
        explorer.set(**chosen)
        shown = Image.open(io.BytesIO(base64.b64decode(first))).convert("RGBA")
        if frames[place][0]:
            layer = Image.open(io.BytesIO(base64.b64decode(frames[place][0]))).convert("RGBA")
            shown = Image.alpha_composite(shown, layer)
        difference = np.abs(np.asarray(shown.convert("RGB")).astype(int) - pixels(explorer.png))
        assert difference.mean() < 1.0
        assert frames[place][1] in explorer.caption


# ----------------------------------------------------------------------- the base by itself
def small(draw=None, **more):
    controls = {"C": log_slider("C", 1.0, -2, 3)()}

    def plain(C):
        figure, ax = new_figure()
        ax.plot([0, C])
        return figure, f"C is {C:g}"

    return Explorer(draw or plain, controls, "a line", **more)


def test_what_cannot_be_drawn_is_said_and_the_sign_of_work_goes():
    explorer, busy = small(), []

    def refuse(C):
        busy.append("kernlab-busy" in explorer.widget._dom_classes)
        raise ValueError("a <bad> value")

    explorer.draw = refuse
    explorer.controls["C"].value = 2.0
    assert busy == [True]
    assert "kernlab-busy" not in explorer.widget._dom_classes
    assert "Not drawn:</b> a &lt;bad&gt; value" in explorer.caption


def test_a_pinned_picture_stays_with_its_setting():
    explorer = small()
    explorer.pin()
    kept = explorer.pinned.value
    explorer.controls["C"].value = 100.0
    assert explorer.pinned.value == kept
    assert "pinned:</b> C 1<" in kept
    explorer.pin(False)
    assert explorer.pinned.value == ""


def test_several_controls_are_set_with_one_picture():
    drawn = []

    def draw(C):
        drawn.append(C)
        return new_figure()[0], ""

    explorer = small(draw)
    explorer.set(C=10.0)
    explorer.reset()
    assert drawn == [1.0, 10.0, 1.0]


def test_a_scene_forgets_what_it_drew():
    def still(ax):
        ax.set(xlim=(0, 1), ylim=(0, 1))

    def line(ax):
        ax.plot([0, 5], [0, 5], color="red", zorder=5)

    place, size = [(0.1, 0.1, 0.8, 0.8)], (4, 3)
    scene = Scene(place, size, still)
    empty, _ = scene.png(lambda ax: None)
    drawn, _ = scene.png(line)
    assert scene.png(lambda ax: "again") == (empty, "again") != (drawn, "again")
    assert scene.axes[0].get_xlim() == (0, 1)
    whole, _ = Scene(place, size, lambda ax: (still(ax), line(ax))).png(lambda ax: None)
    assert np.abs(pixels(whole) - pixels(drawn)).mean() < 0.5
