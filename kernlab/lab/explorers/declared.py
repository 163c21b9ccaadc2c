"""Explorers as declarations: controls, a function that computes, and one that draws.

The limits of axes depend at most on the data set, so that the eye sees what a slider moves.
"""

import inspect
import itertools
import warnings
from contextlib import contextmanager
from functools import cache, cached_property, lru_cache, partial
from typing import NamedTuple

import ipywidgets as widgets
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import ThreadpoolController

from kernlab.lab.explorers.base import DOTS_PER_INCH, Explorer, canvas_png
from kernlab.lab.explorers.samples import samples
from kernlab.lab.plots.style import house_style, new_figure
from kernlab.runtime import on_one_thread


# ------------------------------------------------------------------------------ controls
class Controls(dict):
    """Name -> function that makes a control: `log_slider`, `choice`, ..."""


def log_slider(description, value, low, high, step=0.1, say=".3g"):
    """A slider over powers of ten, from 10^low to 10^high, that acts on release."""
    return partial(
        widgets.FloatLogSlider, value=value, base=10, min=low, max=high, step=step,
        description=description, continuous_update=False, readout_format=say,
    )  # fmt: skip


def count_slider(description, value, low, high):
    """The same for whole numbers: an explorer takes the nearest ones, as they are written."""
    return log_slider(description, value, low, high, say=".0f")


def slider(description, value, low, high, step=1, *, release=True):
    """A slider over numbers, whole ones if `value` is; with release=False it acts while dragged."""
    return partial(
        widgets.IntSlider if isinstance(value, int) else widgets.FloatSlider, value=value,
        min=low, max=high, step=step, description=description, continuous_update=not release,
    )  # fmt: skip


def stops(description, values, value):
    """A slider over listed numbers that acts while it is dragged: for what is only looked up."""
    options = [(f"{each:g}", each) for each in values]
    return partial(widgets.SelectionSlider, options=options, value=value, description=description)


def choice(description, options, value):
    """One of several: a sequence of values, or a mapping of names to values."""
    named = options.items() if isinstance(options, dict) else ((str(o), o) for o in options)
    return partial(widgets.Dropdown, options=list(named), value=value, description=description)


@cache
def _openmp():
    return ThreadpoolController().select(user_api="openmp")


# ------------------------------------------------------------------------------ pictures
class Scene:
    """Axes at fixed places that are drawn once, for pictures that differ in a few artists.

    Laying out axes, ticks and labels takes matplotlib some 100 ms, a line on them one or two. Axes
    keep the limits that `still(*axes)` gives them.
    """

    def __init__(self, places, size, still=None):
        figure, first = new_figure(panel=size)
        figure.set_layout_engine("none")
        first.remove()
        with house_style():
            self.axes = [figure.add_axes(place) for place in places]
            if still:
                still(*self.axes)
        figure.set_dpi(DOTS_PER_INCH)
        for ax in figure.axes:
            ax.set_autoscale_on(False)
        self._canvas = figure.canvas
        self._canvas.draw()
        self._background = self._canvas.copy_from_bbox(figure.bbox)

    def png(self, draw):
        """The picture with what `draw(*axes)` adds to the axes and removes again; what it gives."""
        kept = {id(artist) for ax in self.axes for artist in ax.get_children()}
        with house_style():
            given = draw(*self.axes)
        added = [a for ax in self.axes for a in ax.get_children() if id(a) not in kept]
        self._canvas.restore_region(self._background)
        for artist in sorted(added, key=lambda artist: artist.zorder):
            artist.axes.draw_artist(artist)
        for artist in added:
            artist.remove()
        return canvas_png(self._canvas), given


class Given(NamedTuple):
    """The data sets that can be chosen beside a reader's own, and how much of them is shown."""

    first: str
    rows: int  # at most
    toys: tuple = ()
    sets: tuple = ()
    plane: bool = False  # along two principal components


class Declared:
    """What an explorer shows, its docstring in a line; called, it is shown.

    A subclass has some of the attributes below, and of the methods

    - `prepare(...)`: what is kept while the parameters that it names stay as they are;
    - `compute([prepared,] ...)`: what is found; what is prepared, if it is not there;
    - `still([prepared,] *axes)`: draws what stays on the axes;
    - `draw(found, *axes, ...)`: draws what moves and gives a caption in HTML; without `places` it
      gives a Figure and a caption.

    In place of the dots they are given, by name, the values of the controls and `rows`, those of
    the chosen data set.
    """

    given: Given | None = None
    controls = Controls()
    places = ()  # of axes: left, bottom, width, height in shares of the picture
    size = None  # of the picture in inches
    code = None  # a string that is formatted with the values, or a method; `data` makes the rows
    frames = ()  # controls (`stops`) whose pictures are carried along in copies without Python
    ahead = False  # whether all that can be chosen is prepared beforehand
    unfinished = False  # whether machines may stop short: the picture shows what a warning says
    prepare = compute = still = None

    def __call__(self, *data):
        controls = {name: make() for name, make in self.controls.items()}
        if given := self.given:
            chosen = samples(data, toys=given.toys, sets=given.sets)
            first = next(iter(chosen)) if data else given.first
            controls = {"dataset": choice("data set", list(chosen), first)()} | controls

        def known(values):
            if not given:
                return values
            sample, much = chosen[values["dataset"]], {"most": given.rows, "plane": given.plane}
            return values | {"rows": sample.rows(**much), "data": sample.code(**much)}

        def code(**values):
            values = known(values)
            text = isinstance(self.code, str)
            return self.code.format(**values) if text else _ask(self.code, values)

        if self.ahead:  # what is offered here; a reader's own when it is chosen
            offered = {
                name: [value for _, value in control.options]
                for name, control in controls.items()
                if name in self._prepared_by
            }
            if given:
                offered["rows"] = [known({"dataset": name})["rows"] for name in given.sets]
            for key in itertools.product(*(offered[name] for name in self._prepared_by)):
                self._scene(*key)
        frames = {name: [value for _, value in controls[name].options] for name in self.frames}
        return Explorer(
            lambda **values: self.picture(known(values)), controls, self.__doc__,
            code=self.code and code, frames=frames,
        )  # fmt: skip

    def picture(self, values):
        """PNG or Figure, and caption."""
        key = tuple(values[name] for name in self._prepared_by)
        before = [self._prepared(*key)] if self.prepare else []
        with self._computing():
            found = _ask(self.compute, values, *before) if self.compute else before[0]
        if self.places:
            return self._scene(*key).png(partial(_ask, self.draw, values, found))
        with house_style():
            return _ask(self.draw, values, found)

    @contextmanager
    def _computing(self):
        """Machines are small, and the browser has the other core: a second thread would be waited
        for longer than it helps."""
        with warnings.catch_warnings(), on_one_thread(), _openmp().limit(limits=1):
            if self.unfinished:
                warnings.simplefilter("ignore", ConvergenceWarning)
            yield

    @cached_property
    def _prepared_by(self):
        named = inspect.signature(self.prepare).parameters if self.prepare else ()
        return [name for name in named if name == "rows" or name in self.controls]

    @cached_property
    def _prepared(self):
        return lru_cache(maxsize=16)(self._computing()(self.prepare))

    @cached_property
    def _scene(self):
        def made(*key):
            before = [self._prepared(*key)] if self.prepare else []
            return Scene(self.places, self.size, self.still and partial(self.still, *before))

        return lru_cache(maxsize=16)(made)


def _ask(function, values, *first):
    """`function(*first)`, and the other parameters that it has from `values`."""
    parameters = inspect.signature(function).parameters.values()
    if not any(each.kind is each.VAR_KEYWORD for each in parameters):
        names = [each.name for each in parameters][len(first) :]
        values = {name: values[name] for name in names if name in values}
    return function(*first, **values)
