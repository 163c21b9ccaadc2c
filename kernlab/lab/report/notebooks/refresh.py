"""The committed notebooks: a new one to begin with, and all renewed, free of machine and moment."""

import json
import tempfile
from pathlib import Path

import nbformat
from nbconvert.preprocessors.coalescestreams import CoalesceStreamsPreprocessor
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from tqdm import tqdm

from kernlab.lab.catalogue import FIGURES, FUNCTIONS, get_study
from kernlab.lab.engine import StudyError
from kernlab.lab.published import published_ids
from kernlab.lab.report.notebooks.files import WIDGET_VIEW, find_notebook, notebook_paths
from kernlab.lab.report.notebooks.run import execute_notebook
from kernlab.paths import notebooks_dir
from kernlab.runtime import bar_options, write_whole

_KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
_KEPT_METADATA = ("kernlab",)
_KEPT_CELL_METADATA = ("tags", "jupyter", "slideshow")
PROFILE = 'PROFILE: str = "quick"  # quick, standard or paper'


def refresh_notebooks(names=(), *, progress=True):
    """Execute notebooks as they stand and write them back with today's outputs, normalised.

    A notebook that fails is left as it was.

    Returns
    -------
    dict
        Path of the notebook -> whether it changed.
    """
    paths = [find_notebook(name) for name in names] or list(notebook_paths().values())
    changed = {}
    for path in tqdm(paths, desc="notebooks", **bar_options(progress)):
        changed[path] = refresh_notebook(path)
    return changed


def refresh_notebook(path):
    """Renew one notebook in its place; whether it changed."""
    with tempfile.TemporaryDirectory() as folder:
        executed = execute_notebook(path, Path(folder) / path.name)
    before = path.read_text(encoding="utf-8")
    own_ids = {cell.get("id") for cell in json.loads(before)["cells"]}
    text = nbformat.writes(normalise(executed, own_ids)).rstrip("\n") + "\n"
    if text == before:
        return False
    write_whole(path, text)
    return True


def normalise(nb, own_ids):
    """The notebook without what differs from machine to machine and from run to run.

    `own_ids` are the ids that its cells have in their file: others were drawn at random when an old
    file was read, and are replaced by the cell's place.
    """
    kept = {name: nb.metadata[name] for name in _KEPT_METADATA if name in nb.metadata}
    nb.metadata = nbformat.from_dict(
        {**kept, "kernelspec": _KERNEL, "language_info": {"name": "python"}}
    )
    nb.nbformat, nb.nbformat_minor = 4, 5
    free_ids, count = set(own_ids), 0
    for position, cell in enumerate(nb.cells):
        cell.metadata = nbformat.from_dict(
            {name: cell.metadata[name] for name in _KEPT_CELL_METADATA if cell.metadata.get(name)}
        )
        if cell.get("id") not in free_ids:
            cell.id = f"cell-{position + 1:02d}"
        free_ids.discard(cell.id)
        if cell.cell_type == "code":
            # nbval compares only cells with a number; one without source has nothing to compare.
            count += bool(cell.source.strip())
            cell.execution_count = count if cell.source.strip() else None
            # How a kernel cuts what is printed into pieces is chance.
            CoalesceStreamsPreprocessor().preprocess_cell(cell, {}, position)
            for output in cell.outputs:
                output.pop("transient", None)
                output.get("data", {}).pop(WIDGET_VIEW, None)
                if output.output_type == "execute_result":
                    output.execution_count = count
    return nb


# ------------------------------------------------------------------------------ a new one
def write_skeleton(name, ids):
    """Write notebooks/NAME.ipynb with the outputs of the quick profile; its path.

    Parameters
    ----------
    name : str
        Of the notebook, such as "23_my_sweep"; one that exists is not overwritten.
    ids : sequence of str
        Of the studies that it runs.
    """
    path = notebooks_dir() / f"{name}.ipynb"
    if path.exists():
        raise StudyError(f"There is a notebook {path.name} already: give this one another name.")
    nb = new_notebook()
    studies = [get_study(id) for id in ids]
    figures = [spec.stem for study in studies for spec in FIGURES.get(study.id, ())]
    nb.metadata.kernlab = {"studies": list(ids), "figures": figures}
    parameters = new_code_cell("\n".join([PROFILE, *_parameters(ids)]))
    parameters.metadata.tags = ["parameters"]
    nb.cells = [
        new_markdown_cell(f"# {studies[0].title}\n\nWhat is asked, and how the paper answers it."),
        new_markdown_cell("What you may turn; `None` is the choice of the profile."),
        parameters,
        new_markdown_cell("The notebook's helpers run studies and draw their figures."),
        new_code_cell(
            f'from kernlab.lab import notebook as nb\nfrom kernlab.lab import study\n\n'
            f'nb.begin(PROFILE, "{name}")'
        ),
    ]  # fmt: skip
    for study in studies:
        nb.cells.append(new_markdown_cell(f"## {study.title}\n\n{study.question}"))
        nb.cells.append(new_code_cell(_calls(study)))
    nb.cells.append(new_markdown_cell("The last cell says how much of what was declared is there."))
    nb.cells.append(new_code_cell("nb.finish()"))
    nbformat.write(nb, path)
    refresh_notebook(path)
    return path


def _parameters(ids):
    """Lines of the parameters cell: every parameter of the studies once."""
    found = {}
    for id in ids:
        for name, (kind, default) in FUNCTIONS[id].choices(id).items() if id in FUNCTIONS else ():
            kinds = "int" if default is None else type(default).__name__
            kinds = "list | None" if kind.many else kinds + " | None" * (default is None)
            found.setdefault(name, f"{name.upper()}: {kinds} = {default!r}  # {kind.what}")
    return found.values()


def _calls(study):
    names = FUNCTIONS[study.id].choices(study.id) if study.id in FUNCTIONS else ()
    given = "".join(f", {name}={name.upper()}" for name in names)
    lines = [f'ours = study("{study.id}"{given})', "table = nb.run(ours)"]
    lines += [f'nb.show(ours, "{spec.name}", table)' for spec in FIGURES.get(study.id, ())]
    lines += [f'nb.key_figures("{study.id}", table)']
    return "\n".join(lines + ["nb.compare(ours, table)"] * (study.id in published_ids()))
