"""What a run has left in its folder: tables, provenance, figures, executed notebooks.

Everything may be missing or damaged; what cannot be read is reported and not fatal, since a report
is wanted most after a run that went wrong.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from kernlab.lab.catalogue import STUDIES
from kernlab.lab.engine.provenance import machine
from kernlab.lab.engine.record import merged, provenance_on_record
from kernlab.lab.engine.rows import read_table, tables_dir
from kernlab.paths import output_dir
from kernlab.runtime import format_bytes

_BROAD_PIXELS = 1100  # about 7 inches at the resolution that figures are saved with


@dataclass(frozen=True)
class Picture:
    """A drawn figure: its caption and its files."""

    study: str
    name: str
    caption: str
    rows: int | None
    finished: int | None
    recorded: int | None
    png: Path | None
    svg: Path | None

    @property
    def is_broad(self):
        """Whether its panels stand side by side, so that it needs more than one column."""
        if self.png is None:
            return False
        with Image.open(self.png) as image:
            return image.width >= _BROAD_PIXELS

    @property
    def stem(self):
        return f"{self.study}-{self.name}"


@dataclass(frozen=True)
class NotebookRun:
    """An executed notebook: its files, how long it took, and the error that ended it."""

    name: str
    title: str
    studies: tuple[str, ...]
    has_html: bool
    seconds: float | None
    error: str


def read_tables(profile, out=None, problems=None):
    """The tables of a profile by study id, completed from the record; see `record.results`.

    Damaged files are left out and named in `problems`.
    """
    live = _read_each(tables_dir(profile, out), "*.csv", read_table, problems)
    both = {id: merged(study, live.pop(id, None), profile) for id, study in STUDIES.items()}
    live = {id: table for id, table in live.items() if "@" not in id}  # other parameters
    return live | {id: table for id, table in both.items() if table is not None}


def read_provenance(profile, out=None, problems=None):
    """The content of each study's provenance file, by study id."""
    found = _read_each(tables_dir(profile, out), "*.provenance.json", _dictionary, problems)
    return {stem.removesuffix(".provenance"): told for stem, told in found.items()}


def machines(provenance):
    """The machines behind the tables, live ones first, the latest first, as labelled lines of text.

    Where no study has left a provenance, it is the machine that builds the page.

    Parameters
    ----------
    provenance : mapping
        From study id to the content of its provenance file.
    """
    runs = [
        (run["machine"], "live", str(run.get("finished", "")), {id})
        for id, told in provenance.items()
        for run in told.get("runs", [])
        if isinstance(run.get("machine"), dict)
    ] or [(machine(), "live", "", set())]
    known = provenance_on_record()
    runs += [(told, "recorded", "", set(known["studies"])) for told in known["machines"].values()]
    found = {}
    for told, source, last, ids in runs:
        # What reads the same is the same machine: processes load libraries in varying order.
        described = _described(told)
        entry = found.setdefault(f"{source} {described}", described | {"last": "", "ids": set()})
        entry |= {"source": source, "last": max(entry["last"], last), "ids": entry["ids"] | ids}
    entries = sorted(found.values(), key=lambda e: (e["source"] == "live", e["last"]), reverse=True)
    return [
        {**entry, "studies": len(entry["ids"]), "last": entry["last"][:16].replace("T", " ")}
        for entry in entries
    ]


def _described(told):
    """What is told of a machine as labelled lines, and the versions of its libraries."""
    cores, logical = told.get("cores"), told.get("logical_cores")
    both = f"{cores}" if cores == logical else f"{cores} ({logical} logical)"
    memory = told.get("memory_bytes")
    lines = [
        ("Processor", told.get("processor")),
        ("Cores", both if cores else None),
        ("Memory", format_bytes(memory) if memory else None),
        ("BLAS", _blas(told)),
        ("Python", told.get("python")),
        ("System", told.get("system")),
    ]
    lines = [(label, str(value)) for label, value in lines if value]
    return {"lines": lines, "versions": sorted(told.get("versions", {}).items())}


def _blas(told):
    """The linear algebra libraries, each once and in a fixed order, and their kernels' processor.

    OpenBLAS chooses kernels by the processor, unless OPENBLAS_CORETYPE says which.
    """
    named = {
        " ".join(str(pool[key]) for key in ("internal_api", "version") if pool.get(key))
        + (f" (kernels for {pool['architecture']})" if pool.get("architecture") else "")
        for pool in told.get("blas", [])
        if pool.get("user_api") == "blas"
    }
    asked = told.get("blas_core_type_asked_for")
    return ", ".join(sorted(named) + ([f"OPENBLAS_CORETYPE={asked}"] if asked else []))


def read_pictures(profile, out=None, problems=None):
    """The figures of a profile in the order of their names."""
    folder = output_dir(profile, out) / "figures"
    return list(_read_each(folder, "*.json", _picture, problems).values())


def read_notebooks(profile, out=None, problems=None):
    """The executed notebooks of a profile in the order of their names."""
    folder = output_dir(profile, out) / "notebooks"
    return list(_read_each(folder, "*.ipynb", _notebook, problems).values())


def _read_each(folder, pattern, read, problems):
    problems = [] if problems is None else problems
    found = {}
    for file in sorted(folder.glob(pattern)):
        if file.name.startswith("."):
            continue
        try:
            found[file.stem] = read(file)
        except Exception as error:
            reason = str(error).splitlines()[0] if str(error) else ""
            problems.append(f"{file.name} cannot be read ({type(error).__name__}: {reason})")
    return found


def _dictionary(file):
    content = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(content, dict):
        raise TypeError("not a JSON object")
    return content


def _picture(file):
    told, stem = _dictionary(file), file.name.removesuffix(".json")
    png, svg = (path if (path := file.with_name(f"{stem}.{s}")).exists() else None
                for s in ("png", "svg"))  # fmt: skip
    if png is None and svg is None:
        raise FileNotFoundError("neither PNG nor SVG lies beside it")
    texts = {name: str(told[name]) for name in ("study", "name", "caption")}
    counts = {name: told.get(name) for name in ("rows", "finished", "recorded")}
    return Picture(**texts, **counts, png=png, svg=svg)


def _notebook(file):
    told = _dictionary(file)
    metadata, cells = told.get("metadata", {}), told["cells"]
    outputs = (output for cell in cells for output in cell.get("outputs", ()))
    errors = (o for o in outputs if o.get("output_type") == "error")
    return NotebookRun(
        name=file.stem,
        title=first_heading(cells) or file.stem,
        studies=tuple(metadata.get("kernlab", {}).get("studies", ())),
        has_html=file.with_suffix(".html").exists(),
        seconds=metadata.get("papermill", {}).get("duration"),
        error=next((f"{o.get('ename')}: {o.get('evalue')}" for o in errors), ""),
    )


def first_heading(cells):
    """The first heading among the prose cells of a notebook; "" where there is none."""
    prose = ("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    lines = (line for text in prose for line in text.splitlines() if line.startswith("# "))
    return next(lines, "# ")[2:].strip()
