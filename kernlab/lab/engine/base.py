"""The words a study is written in: a point of its grid, how close is close, and the study itself.

A study answers one question. Its grid says which points to compute, `measure` turns one point and
a seed into the columns of a tidy row, and the engine does the rest: order, processes, resuming,
failures, provenance.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any

Scalar = str | int | float | bool | None


class StudyError(RuntimeError):
    """A study cannot be run as asked; the text says why and what to do."""


class UnknownStudy(StudyError, LookupError):  # noqa: N818 - it names what is unknown
    """No study, paper or notebook has this name."""


class NotRun(Exception):  # noqa: N818 - an outcome, not a mistake
    """Raised by `measure` for a point that it will not compute; the text says why."""


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


@dataclass(frozen=True)
class Tolerance:
    """When a measured number reproduces a published one, and in which direction it is better.

    It reproduces when it is within `absolute`, or within `relative` times the published size.
    """

    absolute: float = 0.0
    relative: float = 0.0
    better: str = "neither"

    def __post_init__(self):
        if self.better not in ("higher", "lower", "neither"):
            raise ValueError(f"better={self.better!r}: say 'higher', 'lower' or 'neither'")
        if self.absolute < 0 or self.relative < 0:
            raise ValueError("a tolerance cannot be negative")

    def accepts(self, published, measured):
        """Whether the measured number counts as the published one."""
        # The hair of slack keeps 93.8 within 0.1 of 93.7 in binary arithmetic.
        allowed = max(self.absolute, self.relative * abs(published))
        return abs(measured - published) <= allowed * (1 + 1e-9) + 1e-12 * abs(published)

    def improves(self, published, measured):
        """Whether the measured number lies on the better side of the published one."""
        if self.better == "higher":
            return measured > published
        return self.better == "lower" and measured < published


@dataclass(frozen=True)
class Study:
    """One figure, table or statement of a paper, as something that can be computed again."""

    id: str
    paper: str
    title: str
    question: str  # one plain sentence: what the study finds out
    grid: Callable[[str], Sequence[Point]]  # profile name -> points
    # (point, seed) -> the columns of its row; a list of such mappings where a point has a course,
    # such as one row per iteration.
    measure: Callable[[Point, int], Mapping[str, Any] | Sequence[Mapping[str, Any]]]
    timing: bool = False  # run alone with all threads; other studies run in parallel, on one each
    predict_seconds: Callable[[Point], float | None] | None = None
    key_figures: Callable[[Any], Mapping[str, str]] | None = None  # rounded text, by label
    measured: Callable[[Any], Any] | None = None  # table -> columns row, column, value
    # table -> what was asked of each piece of work beside what was reached: columns work, method,
    # threads, seconds, ratio, asked, and what else there is to say. A bench prints it.
    comparison: Callable[[Any], Any] | None = None
    tolerances: Mapping[str, Tolerance] = field(default_factory=lambda: MappingProxyType({}))
    needs: Sequence[str] = ()  # data sets it wants
    seed: int = 0
    version: int = 1  # raise it to have every row computed again

    def __post_init__(self):
        if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", self.id):
            raise ValueError(f"study id {self.id!r}: use lower-case words joined by hyphens")
