"""The words that a study is written in: its points, how close is close, and the study itself."""

import functools
import hashlib
import inspect
import itertools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kernlab.lab.engine.comparing import Cell, Comparison, Templates, means
from kernlab.lab.engine.errors import ParameterError
from kernlab.lab.engine.parameters import checked, kinds_of

Scalar = str | int | float | bool | None


def plain_scalar(value, what="a value"):
    """A NumPy scalar as the Python scalar it stands for; anything but a scalar is refused."""
    if value is None or isinstance(value, str | bool):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        return plain_scalar(value.item(), what)
    raise TypeError(f"{what} is a {type(value).__name__}: a table's cell takes one number or text")


@dataclass(frozen=True)
class Point:
    """One point of a study's grid. Its identity is all of its fields."""

    dataset: str
    method: str
    variant: str = ""
    repeat: int = 0
    params: tuple[tuple[str, Scalar], ...] = ()

    @classmethod
    def make(cls, dataset, method, variant="", repeat=0, **params):
        """A point with its parameters by name, in an order that does not matter."""
        pairs = ((name, plain_scalar(value, name)) for name, value in sorted(params.items()))
        return cls(str(dataset), str(method), str(variant), int(repeat), tuple(pairs))

    @property
    def parameters(self):
        """The parameters as a dictionary."""
        return dict(self.params)

    def __getitem__(self, name):
        try:
            return self.parameters[name]
        except KeyError:
            known = ", ".join(self.parameters) or "none"
            raise KeyError(f"the point has no parameter {name!r} (it has: {known})") from None

    def get(self, name, default=None):
        return self.parameters.get(name, default)

    def __str__(self):
        parts = [self.method, f"on {self.dataset}", self.variant and f"({self.variant})"]
        parts += [f"{name}={value}" for name, value in self.params]
        parts += [f"repeat {self.repeat}"] if self.repeat else []
        return " ".join(part for part in parts if part)


def product(datasets, methods, variants="", repeats=1, **params):
    """The points of all combinations.

    Those of one data set and repeat stand together, and in them the methods that are compared: so
    they are timed under the same conditions.

    Parameters
    ----------
    datasets, methods, variants : str or sequence of str
    repeats : int
        Or a function of the method, where slow ones are repeated less often.
    **params : scalar, sequence of scalars, or callable
        Of each point; a function is called with the data set.

    Returns
    -------
    list of Point
    """
    points = []
    for dataset in _sequence(datasets):
        values = {
            name: _sequence(value(dataset) if callable(value) else value)
            for name, value in params.items()
        }
        times = {m: repeats(m) if callable(repeats) else repeats for m in _sequence(methods)}
        for repeat in range(max(times.values(), default=0)):
            for chosen in itertools.product(*values.values(), times, _sequence(variants)):
                *settings, method, variant = chosen
                if repeat < times[method]:
                    named = dict(zip(values, settings, strict=True))
                    points.append(Point.make(dataset, method, variant, repeat, **named))
    return points


SEED_BITS = 32


def derive_seed(*parts):
    """A seed below 2**32 from texts and numbers: the same on every machine and Python version.

    Built-in hashing is salted per process and would not do.
    """
    text = json.dumps([str(part) for part in parts], ensure_ascii=True)
    digest = hashlib.sha256(text.encode("ascii")).digest()
    return int.from_bytes(digest[: SEED_BITS // 8], "big")


def point_seed(study, point):
    """The seed of a point: its study, data set and repeat, whatever the order of the run.

    Neither method nor parameters enter: methods are compared on the same rows, and a sweep over C
    or over landmarks sees the same draws throughout. A study with other parameters than the
    catalogue's draws as that does, and a file draws alike wherever it lies.
    """
    return derive_seed(study.catalogue_id, study.seed, Path(point.dataset).name, point.repeat)


def _sequence(value):
    return (value,) if isinstance(value, Scalar) else tuple(value)


@dataclass(frozen=True)
class Study:
    """One figure, table or statement of a paper, as something that can be computed again.

    Parameters
    ----------
    grid : callable
        Name of a profile -> the points to measure.
    measure : callable
        (point, seed) -> the columns of its row, or a list of such mappings (or a DataFrame, as
        `sweep` gives) where a point has several. It stands at the top level of a module and finds
        all that it needs in the point.
    timing : bool
        Run alone, with all threads; other studies run in parallel, on one thread each.
    predict_seconds : callable, optional
        Point -> the seconds that it will take, or None where that is not known.
    key_figures : callable, optional
        Table -> rounded text by label; the mean accuracies by default.
    measured : sequence of Cell, or callable, optional
        What stands beside the numbers that the paper prints: cells, or a function from the table
        to the columns row, column, value and reason.
    tolerances : mapping
        From a printed column to its `Tolerance`, where `measured` is a function. A label may have
        {places} that match anything.
    comparison : callable, optional
        Of a bench: table -> what was asked of each piece of work beside what was reached.
    needs : sequence of str
        The data sets that it wants, where its points have labels that are none.
    id, paper, title, question, parameters, seed
        Filled in by `catalogued`. `parameters` holds those that are not the catalogue's.
    version : int
        Raise it to have every row computed again.
    """

    id: str = ""
    paper: str = ""
    title: str = ""
    question: str = ""  # one plain sentence: what the study finds out
    grid: Callable[[str], Sequence[Point]] | None = None
    measure: Callable[[Point, int], Mapping[str, Any] | Sequence[Mapping[str, Any]]] | None = None
    timing: bool = False
    predict_seconds: Callable[[Point], float | None] | None = None
    key_figures: Callable[[Any], Mapping[str, str]] | None = None
    measured: Callable[[Any], Any] | Sequence[Cell] | None = None
    comparison: Callable[[Any], Any] | None = None
    tolerances: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    needs: Sequence[str] = ()
    seed: int = 0
    version: int = 1
    parameters: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self):
        if self.id and not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*(@[0-9a-f]{6})?", self.id):
            raise ValueError(f"study id {self.id!r}: use lower-case words joined by hyphens")
        if self.key_figures is None:
            object.__setattr__(self, "key_figures", means("test_accuracy"))
        if isinstance(self.measured, Comparison | Sequence):
            cells = tuple(getattr(self.measured, "cells", self.measured))
            tolerances = {cell.label: cell.tolerance for cell in cells} | dict(self.tolerances)
            object.__setattr__(self, "tolerances", tolerances)
            object.__setattr__(self, "measured", Comparison(self.catalogue_id, cells))
        object.__setattr__(self, "tolerances", Templates(self.tolerances))

    @property
    def catalogue_id(self):
        """The id of the study in the catalogue that this one is, or varies."""
        return self.id.partition("@")[0]

    @property
    def on_record(self):
        """Whether it is the catalogue's own: others stay off the scorecard and the record."""
        return "@" not in self.id


class StudyFunction:
    """A function of parameters that returns a `Study`, under one or several ids; see `catalogued`.

    Calling it gives the study of the id whose own arguments are those given.
    """

    def __init__(self, function):
        functools.update_wrapper(self, function)
        self._function = function
        self._kinds, self._defaults = kinds_of(function)
        self._entries = {}

    @property
    def ids(self):
        return tuple(self._entries)

    def choices(self, id):
        """The kind and the default of each parameter that a reader of this id may turn."""
        own = self._entries[id][2]
        return {n: (k, self._defaults[n]) for n, k in self._kinds.items() if n not in own}

    def enter(self, id, title, paper, own):
        """One more id, with the arguments that are its own."""
        own = checked(own, self._kinds, id)
        self._entries = {id: (title, paper or id.partition("-")[0], own), **self._entries}

    def __call__(self, *arguments, **named):
        if len(arguments) > len(self._kinds):
            raise ParameterError(f"{self.__name__} takes at most {len(self._kinds)} parameters")
        named = dict(zip(self._kinds, arguments, strict=False)) | named
        default = self.ids[-1]
        values = checked(named, self._kinds, default)
        fitting = [
            id
            for id, (_, _, own) in self._entries.items()
            if all(values.get(name, self._defaults[name]) == value for name, value in own.items())
        ]
        return self._made(fitting[-1] if fitting else default, values)

    def study(self, id, **named):
        """The study of one id, with other parameters than the catalogue's where they are given."""
        return self._made(id, checked(named, self._kinds, id))

    def _made(self, id, given):
        title, paper, own = self._entries[id]
        standard = self._defaults | own
        values = standard | given
        changed = {name: value for name, value in values.items() if value != standard[name]}
        study = self._function(**values)
        key = f"{id}@{_digest(changed)}" if changed else id
        return replace(
            study,
            id=key,
            paper=paper,
            title=study.title or title,
            question=study.question or _summary(self._function),
            seed=values.get("seed", 0),
            parameters=MappingProxyType(changed),
        )


def catalogued(id, title="", *, paper="", **own):
    """Make a function that returns a `Study` known under an id.

    Parameters
    ----------
    id : str
        The catalogue's, such as "lasn-f4"; its first word is the paper.
    title : str
        As the paper's caption, such as "Figure 4: the number of landmarks, small sets".
    paper : str, optional
    **own
        Arguments that belong to this id, where one function serves several: put the decorator
        once for each; the last is that of a call without arguments.

    Returns
    -------
    StudyFunction
        The first paragraph of the docstring is the question of the study.
    """

    def enter(function):
        known = function if isinstance(function, StudyFunction) else StudyFunction(function)
        known.enter(id, title, paper, own)
        return known

    return enter


def _digest(values):
    text = json.dumps(values, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:6]


def _summary(function):
    return " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())
