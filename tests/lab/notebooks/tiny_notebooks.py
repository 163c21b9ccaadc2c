"""Notebooks made for a test."""

from pathlib import Path

from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

HERE = Path(__file__).parent
PARAMETERS = 'PROFILE: str = "quick"  # quick, standard or paper'
BODY = [
    'import tiny_house\nfrom kernlab.lab import notebook as nb\nnb.begin(PROFILE, "00_tiny")',
    'table = nb.run("tiny-t1")\nnb.show("tiny-t1", "error", table)',
    'nb.key_figures("tiny-t1", table)',
    "nb.finish()",
]


def make_notebook(
    cells=BODY, parameters=PARAMETERS, studies=("tiny-t1",), figures=("tiny-t1-error",)
):
    """A notebook with prose before every code cell."""
    nb = new_notebook()
    nb.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nb.metadata.kernlab = {"studies": list(studies), "figures": list(figures)}
    nb.cells = [new_markdown_cell("# A tiny notebook\n\nIt begins.", id="title")]
    if parameters is not None:
        cell = new_code_cell(parameters, id="parameters")
        cell.metadata.tags = ["parameters"]
        nb.cells.append(cell)
    for number, source in enumerate(cells):
        nb.cells.append(new_markdown_cell(f"Part {number} & its story.", id=f"prose-{number}"))
        nb.cells.append(new_code_cell(source, id=f"code-{number}"))
    return nb
