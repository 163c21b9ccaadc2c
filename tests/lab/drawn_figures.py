"""What every test of a figure asks first: that there is something on it."""

import numpy as np


def assert_drawn(figure):
    """Every axis that is shown shows data; a figure of words alone is none."""
    figure.draw_without_rendering()
    shown = [ax for ax in figure.axes if ax.get_visible() and ax.axison]
    assert shown, "no axes but words"
    for ax in shown:
        artists = [artist for artist in ax.get_children() if artist is not ax.patch]
        assert any(map(_has_data, artists)), f"nothing is drawn in {ax.get_title()!r}"
    return figure


def _has_data(artist):
    if not artist.get_visible():
        return False
    for numbers in ("get_xydata", "get_offsets", "get_array", "get_segments", "get_xy"):
        values = getattr(artist, numbers, lambda: None)()
        if values is not None and _some_finite(values):
            return True
    return bool(getattr(artist, "get_paths", list)())


def _some_finite(values):
    """Whether any number, or of points any point, is finite."""
    if isinstance(values, list):  # segments, each of some points
        return any(map(_some_finite, values))
    finite = np.isfinite(np.ma.filled(np.ma.asarray(values, dtype=float), np.nan))
    points = finite.ndim > 1 and finite.shape[-1] == 2
    return bool(finite.all(axis=-1).any() if points else finite.any())
