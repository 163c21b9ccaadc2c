"""The words that a study is written in: its points, how close is close, and the study itself."""

import functools
import hashlib
import inspect
import itertools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Formatter
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from kernlab.datasets import row_labels
from kernlab.lab.engine.errors import ParameterError
from kernlab.lab.engine.parameters import PROFILE, Choice, checked, kinds_of
from kernlab.lab.published import published

Scalar = str | int | float | bool | None


def plain_scalar(value, what="a value"):
    """A NumPy scalar as the Python scalar it stands for; anything but a scalar is refused."""
    value = value.item() if getattr(value, "ndim", None) == 0 else value
    if isinstance(value, Scalar):
        return value
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


def derive_seed(*parts):
    """A seed below 2**32 from texts and numbers: the same on every machine and Python version.

    Built-in hashing is salted per process and would not do.
    """
    text = json.dumps([str(part) for part in parts], ensure_ascii=True)
    digest = hashlib.sha256(text.encode("ascii")).digest()
    return int.from_bytes(digest[:4], "big")


def point_seed(study, point):
    """The seed of a point: its study, data set and repeat, whatever the order of the run.

    Neither method nor parameters enter: methods are compared on the same rows, and a sweep over C
    or over landmarks sees the same draws throughout. A study with other parameters than the
    catalogue's draws as that does, and a file draws alike wherever it lies.
    """
    return derive_seed(study.catalogue_id, study.seed, Path(point.dataset).name, point.repeat)


def _sequence(value):
    return (value,) if isinstance(value, Scalar) else tuple(value)


# ------------------------------------------------------------- what is said of the table
ENOUGH_REPEATS = 5  # for a standard deviation
COLUMNS = ("row", "column", "value", "reason")


@dataclass(frozen=True)
class Tolerance:
    """When a measured number reproduces a published one, and in which direction it is better.

    Parameters
    ----------
    absolute, relative : float
        It reproduces when it is within `absolute`, or within `relative` times the published size.
    spreads : float
        Or within so many of the standard deviations that the paper prints beside the number.
    better : {"neither", "higher", "lower"}
    reason : str
        Why so much: the paper's own spread, its last digit, its repeats.
    """

    absolute: float = 0.0
    relative: float = 0.0
    better: str = "neither"
    reason: str = ""
    spreads: float = 0.0

    def __str__(self):
        sizes = [f"{self.absolute:g}"] if self.absolute else []
        sizes += [f"{100 * self.relative:g} %"] if self.relative else []
        sizes += [f"{self.spreads:g} printed standard deviations"] if self.spreads else []
        text = f"within {' or '.join(sizes)}" if sizes else "to the last printed digit"
        text += "" if self.better == "neither" else f", {self.better} is better"
        return text + (f": {self.reason}" if self.reason else "")

    def __post_init__(self):
        if self.better not in ("higher", "lower", "neither"):
            raise ValueError(f"better={self.better!r}: say 'higher', 'lower' or 'neither'")
        if min(self.absolute, self.relative, self.spreads) < 0:
            raise ValueError("a tolerance cannot be negative")

    def accepts(self, published, measured):
        """Whether the measured number counts as the published one."""
        # A little more keeps 93.8 within 0.1 of 93.7 in binary arithmetic.
        allowed = max(self.absolute, self.relative * abs(published))
        return abs(measured - published) <= allowed * (1 + 1e-9) + 1e-12 * abs(published)

    def improves(self, published, measured):
        """Whether the measured number lies on the better side of the published one."""
        if self.better == "higher":
            return measured > published
        return self.better == "lower" and measured < published


class Templates(dict):
    """Tolerances by the label of a column, whose {places} match anything."""

    def get(self, label, default=None):
        if label in self:
            return self[label]
        patterns = {re.sub(r"\\\{\w+\\\}", ".+", re.escape(name)): name for name in self}
        found = (name for pattern, name in patterns.items() if re.fullmatch(pattern, label))
        return super().get(next(found, label), default)


@dataclass(frozen=True)
class Cell:
    """A column that a paper prints, and how it is measured.

    Parameters
    ----------
    label : str
        The published column. {dataset}, {method}, {variant} and columns of the table are filled
        in: one value for each of their combinations.
    column : str
        The measured column.
    tolerance : Tolerance
    scale : float
        What the mean is multiplied by: 100 for per cent.
    statistic : str
        "mean", "median", "max", ... of the rows; "std" needs five repeats.
    where : callable, optional
        Table -> which rows count.
    row : str
        The published row, filled in likewise. Data sets go by the names that the paper gives them;
        rows that it does not print are left out.
    """

    label: str
    column: str
    tolerance: Tolerance = Tolerance()
    scale: float = 1.0
    statistic: str = "mean"
    where: Callable | None = None
    row: str = "{dataset}"


def _measured_cells(id, cells, table):
    """Some cells beside the published table of this id: (row, column, value[, reason])."""
    printed, labels = set(published(id)["row"]), row_labels(id)
    for cell in cells:
        rows = table if cell.where is None else table[cell.where(table)]
        if cell.column not in rows:
            continue
        names = list(dict.fromkeys(re.findall(r"\{(\w+)\}", cell.row + cell.label)))
        groups = rows.groupby(names, sort=False) if names else [((), rows)]
        for values, group in groups:
            filled = dict(zip(names, values, strict=True))
            filled |= {"dataset": labels.get(filled.get("dataset"), filled.get("dataset"))}
            row, label = cell.row.format(**filled), cell.label.format(**filled)
            values = cell.scale * group[cell.column].dropna()
            if row in printed and cell.statistic == "std":
                yield spread_cell(row, label, values)
            elif row in printed and len(values):
                yield row, label, float(values.agg(cell.statistic))


def _as_cells(measured, table):
    """What `measured` gives of a table, as a table: tuples (row, column, value[, reason]).

    The reason says why a value is missing, or why it differs; without either they are dropped.
    """
    found = measured(table)
    if isinstance(found, pd.DataFrame):
        return found
    cells = pd.DataFrame([(*cell, "")[:4] for cell in found], columns=list(COLUMNS))
    return cells[cells["value"].notna() | (cells["reason"] != "")].reset_index(drop=True)


def spread_cell(row, column, values):
    """The standard deviation over repeats, where there are enough of them."""
    values = values.dropna()
    if len(values) >= ENOUGH_REPEATS:
        return row, column, float(values.std(ddof=1))
    several = "1 repeat gives" if len(values) == 1 else f"{len(values)} repeats give"
    return row, column, np.nan, f"{several} no standard deviation worth comparing"


def per_cent(share):
    """A share as text, with one decimal."""
    return f"{100 * share:.1f} %"


def means(column, by=("dataset", "method", "variant")):
    """Key figures: the mean of a column in each group, in per cent, as a function of the table.

    Parameters
    ----------
    column : str
    by : sequence of str
        What makes a group; a column that takes one value only is left out of the label.
    """

    def key_figures(table):
        names = [name for name in by if table[name].nunique() > 1] or list(by[:1])
        rows = table.dropna(subset=column) if column in table else table[:0]
        return {
            ", ".join(str(v) for v in values if v != ""): per_cent(group[column].mean())
            for values, group in rows.groupby(names, sort=False)
        }

    return key_figures


def figures_by(label, text, where=None):
    """Key figures: for each combination of the label's {places} what `text` says of its rows.

    Parameters
    ----------
    label : str
        Such as "{dataset}, h = {h:g}", filled in from columns; what is empty is left out.
    text : callable or str
        Rows -> text, or a template that the last row fills in.
    where : callable, optional
        Table -> which rows count.
    """
    places = [name for _, name, *_ in Formatter().parse(label) if name]

    def key_figures(table):
        rows = table if where is None else table[where(table)]
        figures = {}
        for values, group in rows.groupby(places, sort=False):
            filled = label.format(**dict(zip(places, values, strict=True)))
            told = text(group) if callable(text) else text.format(**group.iloc[-1])
            figures[filled.replace(", ,", ",").removesuffix(", ")] = told
        return figures

    return key_figures


# ----------------------------------------------------------------------------- the study
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
    by_the_clock : bool
        What it finds depends on how fast the machine is, so that the record is not checked by it.
    predict_seconds : callable, optional
        Point -> the seconds that it will take, or None where that is not known.
    key_figures : callable, optional
        Table -> rounded text by label; the mean accuracies by default.
    measured : sequence of Cell, or callable, optional
        What stands beside the numbers that the paper prints: cells, or a function from the table
        to tuples (row, column, value[, reason]) or a table of them.
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
    by_the_clock: bool = False
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
        measured = self.measured
        if isinstance(measured, Sequence):
            tolerances = {cell.label: cell.tolerance for cell in measured} | dict(self.tolerances)
            object.__setattr__(self, "tolerances", tolerances)
            measured = functools.partial(_measured_cells, self.catalogue_id, tuple(measured))
        if measured is not None:
            object.__setattr__(self, "measured", functools.partial(_as_cells, measured))
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
    """What `catalogued` makes of a function of parameters that gives a study's points.

    Calling it gives the `Study` of the id whose own arguments are those given. What else belongs to
    the study is put on its functions: `measure`, `key_figures` and `measured`. Where these take
    parameters of the study beside what they are given, they get them by name.
    """

    def __init__(self, function):
        functools.update_wrapper(self, function)
        self._function = function
        self._takes_profile = PROFILE in inspect.signature(function).parameters
        self._kinds, self._defaults = kinds_of(function)
        self._entries, self._fields, self._when = {}, {}, {}

    @property
    def ids(self):
        return tuple(self._entries)

    def choices(self, id):
        """The kind and the default of each parameter that a reader of this id may turn."""
        own, defaults = self._entries[id][2], self._defaults
        told = {n: None if isinstance(d, Choice) else d for n, d in defaults.items()}
        return {n: (k, told[n]) for n, k in self._kinds.items() if n not in own}

    def enter(self, id, title, paper, own):
        """One more id, with the arguments that are its own."""
        own = checked(own, self._kinds, id)
        self._entries = {id: (title, paper or id.partition("-")[0], own), **self._entries}

    # -------------------------------------------------------------- what is said of its points
    def measure(self, function=None, **fields):
        """The function that measures a point, and other fields of the `Study`."""
        if function is None:
            return functools.partial(self.measure, **fields)
        self._fields |= {"measure": function, **fields}
        return function

    def key_figures(self, label, where=None):
        """The function that tells of the table; with a label, of groups: see `figures_by`."""

        def enter(text):
            self._fields["key_figures"] = figures_by(label, text, where)
            return text

        if callable(label):
            self._fields["key_figures"] = label
        return label if callable(label) else enter

    def measured(self, tolerances, **when):
        """The function that gives the numbers to compare, with their tolerances by label.

        Where `when` says what parameters have to be, there is no comparison with others.
        """

        def enter(function):
            self._fields |= {"measured": function, "tolerances": tolerances}
            self._when = when
            return function

        return enter

    # ----------------------------------------------------------------------------- the studies
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
        told = hashlib.sha256(json.dumps(changed, sort_keys=True, default=str).encode()).hexdigest()
        fields = {name: _bound(name, field, values) for name, field in self._fields.items()}
        if any(values[name] != value for name, value in self._when.items()):
            fields["measured"] = None
        return Study(
            id=f"{id}@{told[:6]}" if changed else id,
            paper=paper,
            title=title,
            question=" ".join((inspect.getdoc(self._function) or "").split("\n\n")[0].split()),
            grid=functools.partial(self._points, values),
            seed=values.get("seed", 0),
            parameters=MappingProxyType(changed),
            **fields,
        )

    def _points(self, values, profile):
        chosen = {n: v.of(profile) if isinstance(v, Choice) else v for n, v in values.items()}
        return self._function(**chosen, **({PROFILE: profile} if self._takes_profile else {}))


def _bound(name, field, values):
    """A field with the parameters of the study that it takes; `needs` may be a function of them."""
    if name not in ("key_figures", "measured", "needs") or not callable(field):
        return field
    takes = list(inspect.signature(field).parameters)
    if name == "needs":
        return field(**{each: values[each] for each in takes})
    given = {each: values[each] for each in takes[1:] if each in values}  # beside the table
    return functools.partial(field, **given) if given else field


def catalogued(id, title="", *, paper="", **own):
    """Make a function that gives the points of a `Study` known under an id.

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
