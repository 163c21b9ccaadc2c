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
from kernlab.lab.report.text import as_size
from kernlab.paths import output_dir

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
    found = {}
    for study_id, told in provenance.items():
        for run in told.get("runs", []):
            if not isinstance(run.get("machine"), dict):
                continue
            # What reads the same is the same machine: processes load libraries in varying order.
            entry = _entry(found, run["machine"], "live")
            entry["last"] = max(entry["last"], str(run.get("finished", "")))
            entry["ids"].add(study_id)
    known = provenance_on_record()
    for told in known["machines"].values():
        _entry(found, told, "recorded")["ids"].update(known["studies"])
    if not found:
        return [{**_described(machine()), "studies": 0, "last": "", "source": "live"}]
    entries = sorted(found.values(), key=lambda e: (e["source"] == "live", e["last"]), reverse=True)
    return [
        {**entry, "studies": len(entry["ids"]), "last": entry["last"][:16].replace("T", " ")}
        for entry in entries
    ]


def _entry(found, told, source):
    described = _described(told)
    new = {**described, "last": "", "ids": set(), "source": source}
    return found.setdefault(f"{source} {described}", new)


def _described(told):
    """What is told of a machine as labelled lines, and the versions of its libraries."""
    cores, logical = told.get("cores"), told.get("logical_cores")
    both = f"{cores}" if cores == logical else f"{cores} ({logical} logical)"
    memory = told.get("memory_bytes")
    lines = [
        ("Processor", told.get("processor")),
        ("Cores", both if cores else None),
        ("Memory", as_size(memory) if memory else None),
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
    told = _dictionary(file)
    png, svg = (file.with_name(f"{file.name.removesuffix('.json')}.{s}") for s in ("png", "svg"))
    if not png.exists() and not svg.exists():
        raise FileNotFoundError("neither PNG nor SVG lies beside it")
    return Picture(
        study=str(told["study"]),
        name=str(told["name"]),
        caption=str(told["caption"]),
        rows=told.get("rows"),
        finished=told.get("finished"),
        recorded=told.get("recorded"),
        png=png if png.exists() else None,
        svg=svg if svg.exists() else None,
    )


def _notebook(file):
    told = _dictionary(file)
    run = told.get("metadata", {}).get("papermill", {})
    return NotebookRun(
        name=file.stem,
        title=_first_heading(told["cells"]) or file.stem,
        studies=tuple(told.get("metadata", {}).get("kernlab", {}).get("studies", ())),
        has_html=file.with_suffix(".html").exists(),
        seconds=run.get("duration"),
        error=_error(told["cells"]),
    )


def _first_heading(cells):
    for cell in cells:
        if cell["cell_type"] == "markdown":
            for line in "".join(cell["source"]).splitlines():
                if line.startswith("# "):
                    return line[2:].strip()
    return ""


def _error(cells):
    for cell in cells:
        for output in cell.get("outputs", ()):
            if output.get("output_type") == "error":
                return f"{output.get('ename')}: {output.get('evalue')}"
    return ""
