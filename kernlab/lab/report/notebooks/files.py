"""The notebooks that come with kernlab: where they are, and what they say about themselves."""

import hashlib
import json
import re
from pathlib import Path

from kernlab.lab.engine import StudyError
from kernlab.lab.engine.errors import unknown
from kernlab.paths import notebooks_dir, output_dir
from kernlab.runtime import write_whole

FIGURE_KEY = "kernlab_figure"  # in an output's metadata: which declared figure it shows
NOTEBOOK_VARIABLE = "KERNLAB_NOTEBOOK"  # where a runner found the notebook that it executes
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


class NotebookError(StudyError):
    """A notebook is not as it should be, or did not run; the text says which, where and why."""


def notebook_paths():
    """All notebooks by name, in the order of their names."""
    return {path.stem: path for path in sorted(notebooks_dir().glob("*.ipynb"))}


def find_notebook(name):
    """The file of a notebook given by its name or by a path."""
    path = Path(name)
    if path.suffix == ".ipynb" and path.is_file():
        return path.resolve()
    known = notebook_paths()
    try:
        return known[path.name.removesuffix(".ipynb")]
    except KeyError:
        raise unknown("notebook", str(name), known) from None


def working_copy():
    """A folder with a copy of every notebook, and the names of copies older than their originals.

    A copy that nobody has changed follows the original.
    """
    folder = output_dir("lab")
    folder.mkdir(parents=True, exist_ok=True)
    known, kept = folder / ".copied.json", []
    copied = json.loads(known.read_text(encoding="utf-8")) if known.is_file() else {}
    for path in notebook_paths().values():
        target, text = folder / path.name, path.read_text(encoding="utf-8")
        digest = hashlib.sha256(text.encode()).hexdigest()
        if copied.get(path.name) == digest and target.is_file():
            continue
        mine = target.read_bytes() if target.is_file() else None
        if mine is not None and hashlib.sha256(mine).hexdigest() != copied.get(path.name):
            kept.append(path.name)
            continue
        write_whole(target, text)
        copied[path.name] = digest
    write_whole(known, json.dumps(copied, indent=1))
    return folder, kept


def read_notebook(path):
    """The notebook in the format of today; a damaged file is named."""
    import nbformat  # a second, which the kernel of every notebook would wait for

    try:
        return nbformat.read(path, as_version=4)
    except OSError:
        raise
    except Exception as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise NotebookError(
            f"{Path(path).name} is not a notebook that can be read: {first}"
        ) from None


def tagged(nb, tag):
    """The positions of the cells that carry a tag."""
    return [i for i, cell in enumerate(nb.cells) if tag in cell.metadata.get("tags", ())]


def parameter_names(nb):
    """The names that the parameters cell assigns, in order; none where there is no such cell."""
    source = "\n".join(nb.cells[i].source for i in tagged(nb, "parameters"))
    return re.findall(r"^([A-Za-z_]\w*)\s*(?::[^=\n]*)?=(?!=)", source, flags=re.MULTILINE)


def declared_studies(nb):
    return list(nb.metadata.get("kernlab", {}).get("studies", ()))


def declared_figures(nb):
    return list(nb.metadata.get("kernlab", {}).get("figures", ()))


def shown_figures(nb):
    """The names of the figures that the notebook's outputs show."""
    outputs = (output for cell in nb.cells for output in cell.get("outputs", ()))
    names = (output.get("metadata", {}).get(FIGURE_KEY) for output in outputs)
    return list(dict.fromkeys(name for name in names if name))
