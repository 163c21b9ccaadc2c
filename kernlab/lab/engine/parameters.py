"""Parameters of studies: what each may be, from Python, from text or from a notebook's lists.

A parameter means the same in every study, so that most are known by their names: see `KNOWN`.
"""

import difflib
import inspect
import math
import sys
from dataclasses import dataclass, replace
from numbers import Integral, Real
from pathlib import Path

from kernlab.datasets import DataError, get_entry, is_path
from kernlab.lab.engine.errors import ParameterError


class ImpossibleError(ValueError):
    """Why a value cannot be, where the kind does not say it."""


@dataclass(frozen=True)
class Kind:
    """What a parameter may be.

    Parameters
    ----------
    what : str
        As a sentence goes on after "must be".
    convert : callable
        From one value (text included) to the value itself; ValueError where it is impossible.
    words : tuple of str
        Words that are taken as they are, such as "sqrt" for a number of landmarks.
    many : bool
        Several values: a sequence, a text with commas, or one value. It becomes a tuple without
        repetitions.
    """

    what: str
    convert: object
    words: tuple = ()
    many: bool = False

    def __or__(self, word):
        return replace(self, words=(*self.words, word), what=f"{self.what} or {word!r}")

    def __call__(self, value):
        if not self.many:
            return self._one(value)
        if isinstance(value, str):
            whole = self.convert is _data_set and is_path(value) and Path(value).exists()
            values = [value] if whole else [part for part in value.split(",") if part.strip()]
        else:
            values = [value] if isinstance(value, Real | Path) else list(value)
        if not values:
            raise ImpossibleError("it is empty")
        return tuple(dict.fromkeys(map(self._one, values)))

    def _one(self, value):
        value = value.strip() if isinstance(value, str) else value
        return value if isinstance(value, str) and value in self.words else self.convert(value)


def _number(least=-math.inf, most=math.inf, *, above=-math.inf, whole=False):
    """What converts to a number within limits."""

    def convert(value):
        if isinstance(value, bool) or not isinstance(value, str | Real):
            raise ValueError
        number = int(value) if isinstance(value, Integral) else float(value)
        if not (least <= number <= most and above < number) or (whole and number != int(number)):
            raise ValueError
        return int(number) if whole else float(number)

    return convert


def _data_set(value):
    """The registered name of a data set, or the absolute path of a file."""
    if is_path(value):
        path = Path(value).expanduser().resolve()
        if not path.is_file():
            raise ImpossibleError(f"there is no file {value}")
        return str(path)
    try:
        return get_entry(value).name
    except DataError as error:
        raise ImpossibleError(str(error)) from None


def one_of(*words):
    """One of some words."""
    return Kind("one of " + ", ".join(map(repr, words)), dict.fromkeys(words).__getitem__, words)


def several(kind):
    """Several values of a kind."""
    return replace(kind, what=f"{kind.what}, or several", many=True)


Number = Kind("a number", _number(-sys.float_info.max, sys.float_info.max))
Positive = Kind("a positive number", _number(above=0, most=sys.float_info.max))
Share = Kind("a number from 0 to 1", _number(0, 1))
Count = Kind("a positive whole number", _number(1, sys.maxsize, whole=True))
Whole = Kind("a whole number, 0 or more", _number(0, sys.maxsize, whole=True))
DataSetName = Kind("the name of a data set or the path of a file", _data_set)
Gamma = Positive | "scale" | "variance" | "median"

_ONE = {
    DataSetName: ("dataset",),
    Positive: ("C", "sigma", "h", "tol", "beta"),
    Gamma: ("gamma",),
    Count: ("leaf_size", "steps", "degree", "rows", "repeats"),
    Count | "sqrt": ("n_landmarks",),
    Share: ("noise",),
    Whole: ("seed",),
}
_SEVERAL = {
    DataSetName: ("datasets",),
    Positive: ("costs", "sigmas", "widths", "tolerances", "alphas", "betas"),
    Gamma: ("gammas",),
    Count: ("landmarks", "ranks", "degrees", "exponents", "centres", "sizes"),
    Share: ("noises",),
}
KNOWN = {name: kind for kind, names in _ONE.items() for name in names}
KNOWN |= {name: several(kind) for kind, names in _SEVERAL.items() for name in names}
"""What parameters of these names are, unless a study annotates one with a kind of its own."""


PROFILE = "profile"  # a study function that has it is given the name of the profile


@dataclass(frozen=True)
class Choice:
    """What None stands for under each profile: as the default of a study's parameter.

    What is not said of the profile "paper" is as under "standard", and that as under "quick".
    """

    quick: object
    standard: object = None
    paper: object = None

    def of(self, profile):
        standard = self.quick if self.standard is None else self.standard
        paper = standard if self.paper is None else self.paper
        return {"quick": self.quick, "standard": standard, "paper": paper}[profile]


def kinds_of(function):
    """The kind of each parameter of a study function, by name, and the defaults."""
    kinds, defaults = {}, {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name == PROFILE:
            continue
        annotated = parameter.annotation
        kinds[name] = annotated if isinstance(annotated, Kind) else KNOWN.get(name)
        if kinds[name] is None or parameter.default is parameter.empty:
            raise TypeError(
                f"{function.__qualname__}({name}): a study's parameter has a default, and is "
                "annotated with its kind where its name alone does not tell it"
            )
        defaults[name] = parameter.default
    return kinds, defaults


def checked(given, kinds, of):
    """The given parameters converted; a sentence for one that is unknown or impossible.

    Parameters
    ----------
    given : mapping
        Values by name; None stands for the default, as the profile or the study has it.
    kinds : mapping
        From `kinds_of`.
    of : str
        Whose parameters, for the sentence.
    """
    values = {}
    for name, value in given.items():
        if name not in kinds:
            raise ParameterError(unknown_parameter(name, kinds, of))
        if value is None:
            continue
        try:
            values[name] = kinds[name](value)
        except (ValueError, TypeError, KeyError) as error:
            why = f": {error}" if isinstance(error, ImpossibleError) else ""
            text = f"{of}: {name} must be {kinds[name].what}, not {value!r}{why}"
            raise ParameterError(text) from None
    return values


def unknown_parameter(name, known, of):
    """The sentence about a parameter that is not known, with the nearest that is."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    near = near or [other for other in known if other.lower() == name.lower()]
    hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(known) or 'none'}."
    return f"{of} has no parameter {name!r}; {hint}"


def parse_parameters(texts):
    """Parameters from texts such as "landmarks=10,20,50", as a command line gives them."""
    given = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise ParameterError(f"{text!r} is not a parameter: write NAME=VALUE or NAME=A,B,C")
        given[name.strip()] = value.strip()
    return given
