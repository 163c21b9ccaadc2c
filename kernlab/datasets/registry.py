"""What is known of every data set: registry.toml, read once into small frozen objects."""

import difflib
import re
import tomllib
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

from kernlab.rows.text import DataError

REGISTRY_FILE = Path(__file__).with_name("registry.toml")
ENDINGS = ("", ".xz", ".bz2", ".gz")


@dataclass(frozen=True)
class Layout:
    """How the text of a file is read."""

    format: str = "svmlight"
    header: int = 0
    target: int = -1
    drop: tuple[int, ...] = ()
    missing: str = ""
    separator: str = ","


@dataclass(frozen=True)
class DataFile:
    """One file of a data set: its names, where it comes from, and how to recognise it."""

    name: str
    also: tuple[str, ...] = ()
    rows: int | None = None
    sha256: str = ""
    copies: tuple[str, ...] = ()
    url: str = ""
    member: str = ""
    labels: "DataFile | None" = None
    part_of: str = ""
    rest: bool = False

    @property
    def names(self):
        return (self.name, *self.also)

    def limit(self, features):
        """Bytes that its text may have at most: what is larger is not this file."""
        longest_row = 40 * min(features, 4096) + 200  # of sparse rows with more features, too
        return (self.rows or 10**6) * longest_row + 2**20


@dataclass(frozen=True)
class Copy:
    """Files that together hold a data set, and how they are read."""

    train: tuple[DataFile, ...]
    test: tuple[DataFile, ...] = ()
    layout: Layout = Layout()
    classes: tuple = ()
    scaling: str = ""

    def files(self, parts=("train", "test")):
        """The files in order, each file of labels behind its file of images."""
        found = []
        for part in parts:
            for file in getattr(self, part):
                found += [file, file.labels] if file.labels else [file]
        return found


@dataclass(frozen=True)
class DataSet:
    """A data set's entry in the registry."""

    name: str
    title: str
    features: int
    classes: tuple
    page: str = ""
    licence: str = ""
    citation: str = ""
    aliases: tuple[str, ...] = ()
    positive: object = None
    sparse: bool = False
    row_order: str = "file"
    notes: tuple[str, ...] = ()
    copies: tuple[Copy, ...] = ()
    test_optional: str = ""
    generator: str = ""
    params: dict = field(default_factory=dict)
    clean_test: bool = False
    sklearn: str = ""
    rows: int | None = None
    train_rows: int | None = None
    test_rows: int | None = None
    base: str = ""
    binarise: tuple = ()
    positive_rows: int | None = None

    @property
    def kind(self):
        return "generated" if self.generator else "scikit-learn" if self.sklearn else "files"

    @property
    def total_rows(self):
        """Rows of all its files; None where the registry does not know them."""
        if self.generator:
            return self.train_rows + self.test_rows
        if self.sklearn:
            return self.rows
        counts = [file.rows for file in self.copies[0].train + self.copies[0].test]
        return None if None in counts else sum(counts)


@dataclass(frozen=True)
class Protocol:
    """How a paper splits and scales one data set."""

    paper: str | None = None
    row: str = ""
    split: str = "site"
    train: float = 0.75
    valid: float = 0.0
    train_rows: int | None = None
    valid_rows: int | None = None
    test_rows: int | None = None
    hold_out: float = 0.0
    site_without_test: str = ""
    scaling: str | None = None
    columns: int | None = None
    positive: object = None


class Registry(NamedTuple):
    """Data sets by name, names by alias (in `_plain` spelling), papers' tables by id."""

    sets: dict
    aliases: dict
    papers: dict


@cache
def registry():
    """The whole registry."""
    with REGISTRY_FILE.open("rb") as file:
        return parse_registry(tomllib.load(file))


def parse_registry(raw):
    """Registry objects from the tables of a TOML file; an unknown key is an error."""
    entries, sets = raw["sets"], {}
    for name, entry in sorted(entries.items(), key=lambda item: "base" in item[1]):
        sets[name] = _data_set(name, entry, raw["origins"], sets.get(entry.get("base")))
    sets = {name: sets[name] for name in entries}
    aliases = {_plain(alias): name for name, one in sets.items() for alias in one.aliases}
    return Registry(sets, aliases | {_plain(name): name for name in sets}, raw["papers"])


def _name_of(name):
    """The registry's name for a name or an alias, or None."""
    return name if name in registry().sets else registry().aliases.get(_plain(str(name)))


def knows(name):
    """Whether there is a data set of this name or alias."""
    return _name_of(name) is not None


def get_entry(name):
    """The entry of a data set, found by its name or an alias; near names are suggested."""
    known, found = registry(), _name_of(name)
    if found is None:
        near = difflib.get_close_matches(_plain(str(name)), known.aliases, n=6, cutoff=0.5)
        near = list(dict.fromkeys(known.aliases[alias] for alias in near))
        hint = f"near names: {', '.join(near)}" if near else "no name is near it"
        raise DataError(
            f"there is no data set {name!r}; {hint}. `kernlab data list` shows all of them."
        )
    return known.sets[found]


def get_protocol(paper, entry):
    """How `paper` (or None) treats a data set, with the paper's general habits filled in."""
    if paper is None:
        return Protocol()
    papers = registry().papers
    if paper not in papers:
        raise DataError(f"there is no paper {paper!r}; choose from {', '.join(papers)}")
    inherited = papers[paper].get("inherits")
    keys = _protocol_keys(inherited, entry.name) if inherited else {}
    return Protocol(paper=paper, **keys | _protocol_keys(paper, entry.name))


def protocol_rows(table):
    """The sets in the data table of a paper or of a study id ("lasn" and "lasn-t2" are the same):
    (name of the set, label of its row)."""
    papers = registry().papers
    by_table = {habits["table"]: paper for paper, habits in papers.items()}
    paper = by_table.get(table, table)
    if paper not in papers:
        raise DataError(
            f"there is no data table {table!r}; choose from {', '.join([*by_table, *papers])}"
        )
    sets = papers[paper]["sets"]
    return paper, [(name, keys["row"]) for name, keys in sets.items() if "row" in keys]


def row_labels(table):
    """What a paper calls its data sets, by our names, from its id or that of any of its tables."""
    paper = table.partition("-")[0]
    return dict(protocol_rows(paper)[1]) if paper in registry().papers else {}


def _protocol_keys(paper, name):
    habits = registry().papers[paper]
    general = {k: v for k, v in habits.items() if k not in ("table", "sets", "inherits")}
    return general | habits["sets"].get(name, {})


def _data_set(name, entry, origins, base):
    """An entry; one with a base is the same rows with the listed classes as +1."""
    own = {"train", "test", "layout", "origin", "alternatives"}
    plain = {key: _frozen(value) for key, value in entry.items() if key not in own}
    copies = [{**entry, "classes": (), "scaling": ""}] if "train" in entry else []
    copies = [_copy(copy, origins) for copy in copies + entry.get("alternatives", [])]
    if base is None:
        page = origins.get(entry.get("origin", ""), {}).get("page", "")
        return DataSet(name=name, copies=tuple(copies), **{"page": page} | plain)
    copies = (*(replace(c, classes=c.classes or base.classes) for c in base.copies), *copies)
    binary = {"name": name, "aliases": (), "classes": (-1, 1), "positive": 1, "copies": copies}
    return replace(base, **binary | plain)


def _copy(entry, origins):
    origin = origins.get(entry.get("origin", ""), {})
    layout = Layout(**{key: _frozen(value) for key, value in entry.get("layout", {}).items()})
    train, test = (
        tuple(_data_file(file, origin) for file in entry.get(part, ()))
        for part in ("train", "test")
    )
    return Copy(train, test, layout, tuple(entry.get("classes", ())), entry.get("scaling", ""))


def _data_file(entry, origin):
    entry = dict(entry)
    packed = entry.pop("packed", "")
    if "url" not in entry and origin.get("url"):
        entry["url"] = f"{origin['url']}{entry['name']}{'.' if packed else ''}{packed}"
    if "labels" in entry:
        entry["labels"] = _data_file(entry["labels"], origin)
    return DataFile(**{key: _frozen(value) for key, value in entry.items()})


def _frozen(value):
    return tuple(value) if isinstance(value, list) else value


def _plain(name):
    """Spelling that does not matter: case, and whether words are joined by -, _, . or a space."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
