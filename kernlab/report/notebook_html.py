"""An executed notebook as an HTML page that anyone can read, with or without Jupyter."""

import copy

from kernlab.report.notebook_files import WIDGET_VIEW
from kernlab.studies.table import write_atomically

_INSTEAD = "*A control to play with: it is live when the notebook is open in JupyterLab.*"


def write_html(nb, path):
    """Write the page; controls, which would be dead on it, are replaced by a word about them."""
    from nbconvert import HTMLExporter

    page, _ = HTMLExporter(template_name="lab").from_notebook_node(
        without_controls(nb), resources={"metadata": {"name": _title(nb) or path.stem}}
    )
    write_atomically(path, page)


def without_controls(nb):
    """A copy of the notebook whose widgets are words."""
    nb = copy.deepcopy(nb)
    for cell in nb.cells:
        for output in cell.get("outputs", ()):
            if WIDGET_VIEW in output.get("data", {}):
                output.data = {"text/markdown": _INSTEAD}
    return nb


def _title(nb):
    """The first heading."""
    for cell in nb.cells:
        for line in cell.source.splitlines():
            if cell.cell_type == "markdown" and line.startswith("# "):
                return line.removeprefix("# ").strip()
    return ""
