"""An executed notebook as an HTML page that anyone can read, with or without Jupyter or network."""

import copy
import re
from pathlib import Path

from kernlab.lab.explorers.base import FRAMES_KEY
from kernlab.lab.report.notebooks.files import WIDGET_VIEW
from kernlab.lab.report.outputs import first_heading
from kernlab.runtime import write_whole

_NOTE = (
    "*A picture of controls to play with: they are live when the notebook is open in JupyterLab.*"
)
_CODE_OR_MATH = re.compile(
    r"(?P<code>```.*?```|`[^`\n]+`)|\$\$(?P<block>.+?)\$\$|\$(?P<inline>[^$\s](?:[^$\n]*[^$\s])?)\$",
    re.DOTALL,
)


def write_html(nb, path):
    """Write the page: equations as MathML, pictures inside it, nothing fetched from elsewhere.

    On a dark screen it takes the colours of JupyterLab's dark theme.
    """
    from nbconvert import HTMLExporter

    exporter = HTMLExporter(template_name="lab", mathjax_url="", require_js_url="", jquery_url="")
    page, _ = exporter.from_notebook_node(
        readable_anywhere(nb),
        resources={"metadata": {"name": first_heading(nb.cells) or path.stem}},
    )
    write_whole(path, page.replace("</head>", f"{_dark_style(exporter)}</head>", 1))


def _dark_style(exporter):
    """The dark theme that comes with nbconvert, for dark screens only: what is printed is light."""
    files = (Path(folder) / "static" / "theme-dark.css" for folder in exporter.template_paths)
    theme = next(file for file in files if file.is_file()).read_text(encoding="utf-8")
    images = ".jp-OutputArea-output img { background: white; }"
    return f"<style>@media screen and (prefers-color-scheme: dark) {{ {theme} {images} }}</style>"


def readable_anywhere(nb):
    """A copy of the notebook that needs no kernel and fetches no scripts."""
    nb = copy.deepcopy(nb)
    for cell in nb.cells:
        if cell.cell_type == "markdown":
            cell.source = with_mathml(cell.source)
            continue
        cell.outputs = [shown for output in cell.get("outputs", ()) for shown in _still(output)]
        for output in cell.outputs:
            if "text/markdown" in output.get("data", {}):
                output.data["text/markdown"] = with_mathml(output.data["text/markdown"])
    return nb


def with_mathml(markdown):
    """The equations between dollar signs as MathML, which browsers draw by themselves."""
    from latex2mathml.converter import convert

    def replace(match):
        if match["code"]:
            return match["code"]
        display = "block" if match["block"] else "inline"
        return convert((match["block"] or match["inline"]).strip(), display=display)

    return _CODE_OR_MATH.sub(replace, markdown)


def _still(output):
    """A live control as its own frames, or as the picture of its default state with a word."""
    data = output.get("data", {})
    if page := output.get("metadata", {}).get(FRAMES_KEY):
        output.data = {"text/html": page}
        return [output]
    if WIDGET_VIEW not in data:
        return [output]
    picture = {kind: value for kind, value in data.items() if kind == "image/png"}
    note = copy.deepcopy(output)
    note.data = {"text/markdown": _NOTE}
    if not picture:
        return [note]
    output.data = picture
    return [output, note]
