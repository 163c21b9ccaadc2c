"""Four points that can be moved, all ways of labelling them, and the lines that separate them."""

from dataclasses import dataclass

import numpy as np

from kernlab.lab.explorers.base import Explorer, choice, slider
from kernlab.lab.explorers.plane import BLUE, DARK, RED, fixed_figure
from kernlab.lab.papers.sparse.shatter import labellings, separating_line
from kernlab.lab.plots.style import house_style

NAMES = "ABCD"
START = [(0.2, 0.2), (0.8, 0.2), (0.8, 0.8), (0.2, 0.8)]
ACROSS = 4  # labellings in a line
GAP = 0.22  # between them


@dataclass(frozen=True)
class Shattering:
    """Points, their labellings up to exchange, and a separating line for each or None."""

    points: np.ndarray
    labels: list
    lines: list

    @property
    def is_shattered(self):
        return None not in self.lines

    @property
    def inseparable(self):
        """The labellings that no line separates."""
        return [y for y, line in zip(self.labels, self.lines, strict=True) if line is None]


def shatter(points):
    """Look for a line for every labelling of the points."""
    points = np.asarray(points, float)
    labels = labellings(len(points))
    return Shattering(points, labels, [separating_line(points, y) for y in labels])


@house_style()
def draw_shattering(found):
    """Every labelling in a square of its own, tinted where there is no line."""
    down = -(-len(found.labels) // ACROSS)
    figure, (ax,) = fixed_figure([(0.005, 0.005, 0.99, 0.99)], (7.2, 1.8 * down))
    for place, (labels, line) in enumerate(zip(found.labels, found.lines, strict=True)):
        corner = np.array([place % ACROSS, -(place // ACROSS)]) * (1.0 + GAP)
        _draw_square(ax, corner, found.points, labels, line)
    ax.set(
        xlim=(-GAP / 2, ACROSS * (1.0 + GAP) - GAP / 2),
        ylim=(-(down - 1) * (1.0 + GAP) - GAP / 2, 1.0 + GAP / 2),
        aspect="equal",
    )
    ax.set_axis_off()
    return figure


def _draw_square(ax, corner, points, labels, line):
    x, y = corner
    frame = np.array([[0, 0], [1, 0], [1, 1], [0, 1]]) + corner
    face = "white" if line else "#F6DAD3"
    ax.fill(*frame.T, facecolor=face, edgecolor="#BBBBBB", lw=0.8, zorder=1)
    colours = [RED if label > 0 else BLUE for label in labels]
    ax.scatter(*(points + corner).T, c=colours, s=95, zorder=3)
    for name, point in zip(NAMES, points, strict=False):
        ax.annotate(
            name, point + corner, color="white", fontsize=6.5, ha="center",
            va="center_baseline", zorder=4,
        )  # fmt: skip
    if line is None:
        ax.annotate("no line", (x + 0.5, y - 0.02), fontsize=8, color="#7A1F0F",
                    ha="center", va="top")  # fmt: skip
        return
    ends = _inside(line)
    if ends is not None:
        ax.plot(*(ends + corner).T, color=DARK, lw=1.2, zorder=2)


def _inside(line):
    """Both ends of a line within the unit square, or None where it passes by."""
    w1, w2, b = line
    ends = []
    for a, c, swap in ((w1, w2, False), (w2, w1, True)):
        if c:
            for edge in (0.0, 1.0):
                other = -(b + a * edge) / c
                if -1e-12 <= other <= 1.0 + 1e-12:
                    ends.append((other, edge) if swap else (edge, other))
    ends = np.unique(np.round(np.array(ends).reshape(-1, 2), 9), axis=0)
    return ends[[0, -1]] if len(ends) > 1 else None


def describe(found):
    """Which labellings fail and why, in one line of HTML."""
    n, count = len(found.points), len(found.labels)
    if found.is_shattered:
        return (
            f"all <b>{count} of {count}</b> labellings (up to exchanging the classes) have a line: "
            f"these {n} points are <b>shattered</b>"
        )
    sides = {side: _names(found.inseparable[0], side) for side in (1, -1)}
    text = (
        f"<b>{count - len(found.inseparable)} of {count}</b> labellings have a line. The hulls of "
        f"{sides[1]} and of {sides[-1]} meet, so that no line keeps them apart"
    )
    if n > 3:
        text += "; of four points in the plane two such groups always do (Radon), wherever they lie"
    return text


def _names(labels, side):
    return ", ".join(NAMES[i] for i, label in enumerate(labels) if label == side)


def shattering():
    """The explorer: how many points, and where each lies."""

    def draw(count, **places):
        points = [(places[f"{name}_x"], places[f"{name}_y"]) for name in NAMES[:count]]
        found = shatter(points)
        return draw_shattering(found), describe(found)

    def code(count, **places):
        points = [(places[f"{name}_x"], places[f"{name}_y"]) for name in NAMES[:count]]
        return (
            "from kernlab.lab.papers.sparse.shatter import labellings, separating_line\n\n"
            f"points = {[(round(x, 2), round(y, 2)) for x, y in points]}\n"
            f"lines = [separating_line(points, labels) for labels in labellings({count})]"
        )

    controls = {"count": choice("points", {"two": 2, "three": 3, "four": 4}, 4)}
    for name, (x, y) in zip(NAMES, START, strict=True):
        for key, word, value in ((f"{name}_x", "across", x), (f"{name}_y", "up", y)):
            controls[key] = slider(f"{name} {word}", value, 0.05, 0.95, 0.05, release=False)
    text = "labellings of points that can be moved, and lines"
    return Explorer(draw, controls, text, code=code)
