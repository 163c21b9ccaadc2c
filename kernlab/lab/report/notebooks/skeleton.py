"""A notebook to begin with: the parameters of some studies, their runs, figures and comparisons."""

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from kernlab.lab.catalogue import FIGURES, FUNCTIONS, get_study
from kernlab.lab.engine import StudyError
from kernlab.lab.published import published_ids
from kernlab.lab.report.notebooks.refresh import refresh_notebook
from kernlab.paths import notebooks_dir

PROFILE = 'PROFILE: str = "quick"  # quick, standard or paper'


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
