"""Figures inside the page: sharp where the page stays small, smaller where it would not.

A page that opens from disk on its own carries its pictures in itself, as data addresses. SVG is
sharp at any size and best, unless a figure with very many marks makes it large.
"""

import base64
import io

from PIL import Image

PAGE_BUDGET = 11_000_000
"""Characters that all pictures together may take; the page should stay below 15 MB."""

_SHARP_LIMIT = 300_000
_SMALL_WIDTH = 900


def embed(pictures, budget=PAGE_BUDGET):
    """A data address for each picture, together within the budget where that is possible.

    The largest pictures give way first: from SVG to PNG, then to a PNG of fewer pixels and colours.

    Parameters
    ----------
    pictures : sequence of Picture
    budget : int
        In characters.

    Returns
    -------
    list of str
    """
    addresses = [_best(picture) for picture in pictures]
    for smaller in (_as_png, _as_small_png):
        by_size = sorted(range(len(pictures)), key=lambda i: -len(addresses[i]))
        for i in by_size:
            if sum(map(len, addresses)) <= budget:
                return addresses
            addresses[i] = min(addresses[i], smaller(pictures[i]) or addresses[i], key=len)
    return addresses


def _best(picture):
    if picture.svg and (picture.svg.stat().st_size <= _SHARP_LIMIT or not picture.png):
        return _address("svg+xml", picture.svg.read_bytes())
    return _as_png(picture)


def _as_png(picture):
    return _address("png", picture.png.read_bytes()) if picture.png else ""


def _as_small_png(picture):
    if not picture.png:
        return ""
    with Image.open(picture.png) as image:
        small = image.convert("RGB")
        small.thumbnail((_SMALL_WIDTH, 10 * _SMALL_WIDTH))
        written = io.BytesIO()
        small.quantize(256).save(written, "PNG", optimize=True)
    return _address("png", written.getvalue())


def _address(kind, content):
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
