"""Machines in the plane: their two sides, boundary and margins, and points that can be moved."""

import html
from types import SimpleNamespace

import bqplot
import ipywidgets as widgets
import numpy as np
import traitlets
from matplotlib import rcParams
from matplotlib.colors import LinearSegmentedColormap

from kernlab.lab.explorers.base import NAME_HANDLES
from kernlab.lab.papers.common.fitting import seconds_of
from kernlab.lab.plots.style import BLUE, DARK, RED

# So few colours cannot be told from more, and a picture is a third smaller.
_SIDES = LinearSegmentedColormap.from_list("sides", ["#BBD7EE", "#FFFFFF", "#F6CFC6"], 40)
_NOTHING = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="
REACH = 2.7  # half the side of the square that shows features of unit variance


def square(size=90):
    """A grid over the plane of features of unit variance: its axis, and all its points."""
    axis = np.linspace(-REACH, REACH, size)
    return axis, np.column_stack([each.ravel() for each in np.meshgrid(axis, axis)])


def heading(ax, text):
    """A title that moves with the picture."""
    look = {"fontsize": rcParams["axes.titlesize"], "fontweight": rcParams["axes.titleweight"]}
    ax.annotate(text, (0, 1), xycoords="axes fraction", xytext=(0, 8), textcoords="offset points",
                **look)  # fmt: skip


def look_at(machine, rows, size=90):
    """Train a machine on rows in the plane: its decisions on the grid of `square`, what it costs.

    Returned are rows, machine, decisions, accuracy (on fresh rows, if there are any) and seconds.
    """
    _, seconds = seconds_of(lambda: machine.fit(rows.X, rows.y))
    ask = getattr(machine, "decision_function", machine.predict)
    return SimpleNamespace(
        rows=rows,
        machine=machine,
        decisions=np.asarray(ask(square(size)[1]), dtype=float),
        accuracy=machine.score(rows.X_test, rows.y_test) if len(rows.y_test) else None,
        seconds=seconds,
    )


def draw_sides(ax, decisions):
    """The two sides as colours, the boundary as a solid line, the margins dashed."""
    side = round(len(decisions) ** 0.5)
    axis, decisions = square(side)[0], decisions.reshape(side, side)
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
    ax.set(xticks=[], yticks=[], xlim=(-reach, reach), ylim=(-reach, reach), title=title)
    ax.grid(visible=False)


def panel(ax, title, *, log="", xticks=(), yticks=(), legend=None, **settings):
    """What stays on axes; `log` names the logarithmic ones, `legend` is the place of one."""
    ax.set(title=title, **{f"{axis}scale": "log" for axis in log}, **settings)
    for set_ticks, ticks in ((ax.set_xticks, xticks), (ax.set_yticks, yticks)):
        if ticks:
            set_ticks(ticks, [f"{each:,g}" for each in ticks])
    ax.minorticks_off()
    if legend:
        ax.legend(loc=legend, fontsize=8)


def draw_rows(ax, X, y, size=14, **look):
    for label, colour in ((-1, BLUE), (1, RED)):
        ax.scatter(*X[y == label].T, s=size, color=colour, **{"linewidths": 0.4} | look)


def draw_machine(ax, fit, title="", size=4, shown=None, **look):
    """What `look_at` has found: both sides, (the first) rows, and a title."""
    draw_sides(ax, fit.decisions)
    draw_rows(ax, fit.rows.X[:shown], fit.rows.y[:shown], size, **{"linewidths": 0} | look)
    heading(ax, title)


class Plane(traitlets.HasTraits):
    """A picture on which a click adds a point, and points can be dragged.

    The points are drawn by bqplot above the picture. Who draws the picture draws them as well, so
    that they are there without a front end.

    Parameters
    ----------
    place : (left, bottom, width, height), of the axes in shares of the picture
    limits : (lowest, highest), of both axes
    size : (width, height), of the picture in inches
    kinds : mapping, what can be added: name -> (value, colour)
    """

    value = traitlets.Tuple()
    """(x, y, value of its kind) of every point."""

    def __init__(self, place, limits, size, kinds):
        super().__init__()
        self._values = [value for value, _ in kinds.values()]
        self._held = False
        span = limits[1] - limits[0]
        ends = [(limits[0] - place[i] / place[i + 2] * span,
                 limits[0] + (1.0 - place[i]) / place[i + 2] * span) for i in (0, 1)]  # fmt: skip
        x, y = (list(end) for end in ends)
        scales = {n: bqplot.LinearScale(min=e[0], max=e[1]) for n, e in (("x", x), ("y", y))}
        self._image = bqplot.Image(image=widgets.Image(), x=x, y=y, scales=scales)
        self.marks = [
            bqplot.Scatter(
                x=np.empty(0), y=np.empty(0), scales=scales, colors=[colour], enable_move=True,
                stroke=DARK, default_size=110, interactions={},
            )
            for _, colour in kinds.values()
        ]  # fmt: skip
        width, height = (f"{110 * side:.0f}px" for side in size)
        figure = bqplot.Figure(
            marks=[self._image, *self.marks], animation_duration=0, display_toolbar=False,
            fig_margin=dict.fromkeys(("top", "bottom", "left", "right"), 0), padding_x=0,
            padding_y=0, min_aspect_ratio=0.1, max_aspect_ratio=10.0,
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
