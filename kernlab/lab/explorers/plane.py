"""Machines in the plane: their two sides, boundary and margins, and points that can be moved."""

import html

import bqplot
import ipywidgets as widgets
import numpy as np
import traitlets
from matplotlib import rcParams
from matplotlib.colors import LinearSegmentedColormap

from kernlab.lab.explorers.base import NAME_HANDLES
from kernlab.lab.plots.style import new_figure

BLUE, RED, DARK = "#0062B0", "#CC3311", "#222222"
_SIDES = LinearSegmentedColormap.from_list("sides", ["#BBD7EE", "#FFFFFF", "#F6CFC6"])
_NOTHING = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="
REACH = 2.7  # half the side of the square that shows features of unit variance


def square(size=90):
    """A grid over the plane of features of unit variance: its axis, and all its points."""
    axis = np.linspace(-REACH, REACH, size)
    return axis, np.column_stack([each.ravel() for each in np.meshgrid(axis, axis)])


def fixed_figure(places, size):
    """A figure with axes at fixed places: left, bottom, width, height."""
    figure, axes = new_figure(1, len(places), panel=(size[0] / len(places), size[1]), squeeze=False)
    figure.set_layout_engine("none")
    for ax, place in zip(axes[0], places, strict=True):
        ax.set_position(place)
    return figure, axes[0]


def heading(ax, text):
    """A title that moves with the picture."""
    look = {"fontsize": rcParams["axes.titlesize"], "fontweight": rcParams["axes.titleweight"]}
    ax.annotate(text, (0, 1), xycoords="axes fraction", xytext=(0, 8), textcoords="offset points",
                **look)  # fmt: skip


def draw_sides(ax, axis, decisions):
    """The two sides as colours, the boundary as a solid line, the margins dashed."""
    decisions = np.reshape(decisions, (len(axis), len(axis)))
    ends = (axis[0], axis[-1])
    ax.imshow(
        np.clip(decisions, -1.5, 1.5), extent=ends + ends, origin="lower", aspect="auto",
        cmap=_SIDES, vmin=-1.5, vmax=1.5, interpolation="bilinear",
    )  # fmt: skip
    levels = [level for level in (-1.0, 0.0, 1.0) if decisions.min() < level < decisions.max()]
    if levels:
        styles = ["solid" if level == 0 else "dashed" for level in levels]
        ax.contour(axis, axis, decisions, levels, colors=DARK, linestyles=styles, linewidths=1)


def empty_plane(ax, reach=REACH, title=""):
    """Axes without ticks for what `draw_sides` draws."""
    ax.set(xticks=[], yticks=[], xlim=(-reach, reach), ylim=(-reach, reach), title=title)
    ax.grid(visible=False)


def draw_rows(ax, X, y, size=14, **look):
    """Rows in the colours of their classes."""
    for label, colour in ((-1, BLUE), (1, RED)):
        ax.scatter(*X[y == label].T, s=size, color=colour, **{"linewidths": 0.4} | look)


class Plane(traitlets.HasTraits):
    """A picture on which a click adds a point, and points can be dragged.

    The points are drawn by bqplot above the picture. Who draws the picture draws them as well, so
    that they are there without a front end.

    Parameters
    ----------
    place : (left, bottom, width, height)
        Of the axes whose points these are, in shares of the picture.
    limits : (lowest, highest)
        Of both axes.
    size : (width, height)
        Of the picture, in inches.
    kinds : mapping
        What can be added: name -> (value, colour).
    """

    value = traitlets.Tuple()
    """(x, y, value of its kind) of every point."""

    def __init__(self, place, limits, size, kinds):
        super().__init__()
        self.png = None
        self._values = [value for value, _ in kinds.values()]
        self._held = False
        span = limits[1] - limits[0]
        ends = [(limits[0] - place[i] / place[i + 2] * span,
                 limits[0] + (1.0 - place[i]) / place[i + 2] * span) for i in (0, 1)]  # fmt: skip
        scales = {
            name: bqplot.LinearScale(min=low, max=high)
            for name, (low, high) in zip("xy", ends, strict=True)
        }
        self._image = bqplot.Image(
            image=widgets.Image(), x=list(ends[0]), y=list(ends[1]), scales=scales
        )
        self.marks = [
            bqplot.Scatter(
                x=np.empty(0), y=np.empty(0), scales=scales, colors=[colour], enable_move=True,
                stroke=DARK, default_size=110, interactions={},
            )
            for _, colour in kinds.values()
        ]  # fmt: skip
        width, height = (f"{110 * side:.0f}px" for side in size)
        none = dict.fromkeys(("top", "bottom", "left", "right"), 0)
        figure = bqplot.Figure(
            marks=[self._image, *self.marks], fig_margin=none, animation_duration=0,
            min_aspect_ratio=0.1, max_aspect_ratio=10.0, padding_x=0, padding_y=0,
            display_toolbar=False,
            layout={"width": width, "height": height},
        )  # fmt: skip
        figure.add_class("kernlab-plane")
        self._kind = widgets.ToggleButtons(
            options=list(kinds), description="a click adds", layout={"width": "max-content"}
        )
        self._kind.style.button_width = "auto"
        clear = widgets.Button(description="remove points", layout={"width": "auto"})
        self._words = widgets.HTML()
        self.widget = widgets.VBox([figure, self._words, widgets.HBox([self._kind, clear])])
        for points in self.marks:
            points.observe(self._moved, names=["x", "y"])
        self._kind.observe(self._choose, names="index")
        clear.on_click(lambda _: setattr(self, "value", ()))
        self._choose()

    def show(self, png, alt):
        """The picture, and words for who cannot see it."""
        self.png = png
        before, self._image.image = self._image.image, widgets.Image(value=png, format="png")
        before.close()
        self._words.value = (
            f'<img src="{_NOTHING}" width="1" height="1" alt="{html.escape(alt)}" '
            f'onload="{NAME_HANDLES}">'
        )

    def _choose(self, _change=None):
        for index, points in enumerate(self.marks):
            points.interactions = {"click": "add"} if index == self._kind.index else {}

    def _moved(self, _change):
        """From the front end: both coordinates arrive one after the other."""
        if self._held or any(len(points.x) != len(points.y) for points in self.marks):
            return
        self._held = True
        self.value = tuple(
            (float(x), float(y), value)
            for value, points in zip(self._values, self.marks, strict=True)
            for x, y in zip(points.x, points.y, strict=True)
        )
        self._held = False

    @traitlets.observe("value")
    def _set(self, change):
        if self._held:
            return
        self._held = True
        for value, points in zip(self._values, self.marks, strict=True):
            chosen = np.array([(x, y) for x, y, kind in change["new"] if kind == value])
            chosen = chosen.reshape(-1, 2)
            with points.hold_sync():
                points.x, points.y = chosen[:, 0].copy(), chosen[:, 1].copy()
        self._held = False
