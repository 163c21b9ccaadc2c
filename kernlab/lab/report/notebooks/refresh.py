"""Renewing the committed notebooks: executed with the quick profile, free of machine and moment."""

import json
import tempfile
from pathlib import Path

import nbformat
from tqdm import tqdm

from kernlab.lab.report.notebooks.files import WIDGET_VIEW, find_notebook, notebook_paths
from kernlab.lab.report.notebooks.run import execute_notebook
from kernlab.runtime import bar_options, write_whole

_KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
_KEPT_METADATA = ("kernlab",)
_KEPT_CELL_METADATA = ("tags", "jupyter", "slideshow")


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
            cell.outputs = [_without_moment(output, count) for output in _merged(cell.outputs)]
    return nb


def _merged(outputs):
    """Streams joined: how a kernel cuts what is printed into pieces is chance."""
    merged = []
    for output in outputs:
        last = merged[-1] if merged else None
        if (
            last is not None
            and output.output_type == last.output_type == "stream"
            and output.name == last.name
        ):
            last.text += output.text
        else:
            merged.append(output)
    return merged


def _without_moment(output, count):
    output.pop("transient", None)
    if output.output_type == "execute_result":
        output.execution_count = count
    output.get("data", {}).pop(WIDGET_VIEW, None)
    return output
