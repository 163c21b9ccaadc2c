"""Names beside lines instead of a legend, without running into one another."""

import numpy as np
from matplotlib.transforms import ScaledTranslation
from scipy.optimize import isotonic_regression

from kernlab.lab.plots.style import text_colour

_LINE_SPACING = 1.25
_SMALLEST_FONT = 5.0
_GAP_IN_POINTS = 8.0


def label_lines(ax, fontsize=8.0):
    """Write each line's own label in its colour at the right edge, level with the line's end.

    What is drawn for a study gets this done where there is no legend. A label that is written
    already, or begins with an underscore, is left out.

    Labels that would overlap are moved apart as little as possible (least squares under a smallest
    distance, which is an isotonic regression) and a thin leader joins each to its line. Call it
    last, when limits, scales and titles stand.

    Parameters
    ----------
    ax : Axes
    fontsize : float
        In points; reduced where the labels would not fit beside one another.

    Returns
    -------
    list of Annotation
        From bottom to top.
    """
    written = {text.get_text() for text in ax.texts}
    named = [(line, str(line.get_label())) for line in ax.get_lines()]
    labelled = [line for line, name in named if name[:1] != "_" and name not in written]
    if not labelled:
        return []
    # Layout first: only then is the height known that the labels have to share.
    ax.figure.draw_without_rendering()
    height = ax.get_window_extent().height * 72 / ax.figure.dpi
    ends = [(line, end) for line in labelled if (end := _visible_end(ax, line)) is not None]
    if not ends:
        return []
    ends.sort(key=lambda pair: pair[1][1])
    room = height / (_LINE_SPACING * len(ends))
    fontsize = float(np.clip(fontsize, _SMALLEST_FONT, max(room, _SMALLEST_FONT)))
    wanted = np.array([end[1] for _, end in ends])
    placed = spread(wanted, _LINE_SPACING * fontsize / height)
    return [
        _label(ax, line, end, level, fontsize)
        for (line, end), level in zip(ends, placed, strict=True)
    ]


def spread(wanted, distance, lowest=0.0, highest=1.0):
    """Positions nearest to the wanted ones (sorted) that keep a smallest distance and the bounds.

    Where the bounds leave too little room the distance is what shrinks.
    """
    wanted = np.asarray(wanted, dtype=float)
    count = len(wanted)
    if count > 1:
        distance = min(distance, (highest - lowest) / (count - 1))
    steps = distance * np.arange(count)
    # Minimise sum (p_i - w_i)^2 over p_{i+1} - p_i >= distance: with q_i = p_i - i * distance the
    # constraint says that q increases. An isotonic fit clipped to bounds is the bounded optimum.
    free = isotonic_regression(wanted - steps).x
    return np.clip(free, lowest, highest - (steps[-1] if count else 0.0)) + steps


def _visible_end(ax, line):
    """The last point of a line inside the axes, in axes fractions; None if there is none."""
    points = np.column_stack([np.ravel(line.get_xdata()), np.ravel(line.get_ydata())])
    with np.errstate(all="ignore"):
        to_axes = line.get_transform() - ax.transAxes
        fractions = to_axes.transform(points.astype(float))
    inside = np.all(np.isfinite(fractions) & (fractions > -0.01) & (fractions < 1.01), axis=1)
    return fractions[inside][-1] if inside.any() else None


def _label(ax, line, end, level, fontsize):
    colour = text_colour(line.get_color())
    gap = ScaledTranslation(_GAP_IN_POINTS / 72, 0, ax.figure.dpi_scale_trans)
    return ax.annotate(
        line.get_label(),
        xy=tuple(end),
        xycoords="axes fraction",
        xytext=(1.0, level),
        textcoords=ax.transAxes + gap,
        ha="left",
        va="center",
        fontsize=fontsize,
        color=colour,
        arrowprops={"arrowstyle": "-", "color": line.get_color(), "lw": 0.6, "alpha": 0.6,
                    "shrinkA": 1, "shrinkB": 2, "relpos": (0.0, 0.5)},
    )  # fmt: skip
