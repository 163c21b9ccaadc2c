"""The house rules: each is broken once, and the breach is named with its cell and the remedy."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output
from tiny_notebooks import BODY, PARAMETERS, make_notebook

from kernlab.lab.report.notebooks import rules as notebook_rules
from kernlab.lab.report.notebooks.files import FIGURE_KEY, WIDGET_VIEW
from kernlab.lab.report.notebooks.rules import check_notebook, check_notebooks

pytestmark = pytest.mark.usefixtures("tiny_house")


def good_notebook(**parts):
    """As after an execution."""
    nb = make_notebook(**parts)
    code = [cell for cell in nb.cells if cell.cell_type == "code"]
    for count, cell in enumerate(code, start=1):
        cell.execution_count = count
    if len(code) > 2:
        figure = {"image/png": "", "text/plain": "<Figure tiny-t1-error>"}
        code[2].outputs = [
            new_output("display_data", figure, metadata={FIGURE_KEY: "tiny-t1-error"}),
            new_output("stream", name="stdout", text="accuracy  0.910\n"),
        ]
    return nb


@pytest.fixture
def breaches(tmp_path):
    def of(nb):
        nbformat.write(nb, tmp_path / "00_tiny.ipynb")
        return [str(violation) for violation in check_notebook(tmp_path / "00_tiny.ipynb")]

    return of


def code(source, *texts, tags=(), kind="stdout", **data):
    outputs = [new_output("stream", name=kind, text=text) for text in texts]
    outputs += [
        new_output("display_data", {k.replace("_", "/"): v for k, v in data.items()})
    ] * bool(data)
    cell = new_code_cell(source, execution_count=9, outputs=outputs)
    cell.metadata.tags = list(tags)
    return cell


def with_cell(cell):
    nb = good_notebook()
    nb.cells[2:2] = [new_markdown_cell("Prose."), cell]
    return nb


def test_a_good_notebook_breaks_no_rule(breaches):
    assert breaches(good_notebook()) == []


def changed(edit):
    nb = good_notebook()
    edit(nb)
    return nb


ERROR = new_output("error", ename="ValueError", evalue="no", traceback=[])
VIEW = new_output("display_data", {WIDGET_VIEW: {"model_id": "1"}, "text/plain": "interactive()"})
LONG = "\n".join(f"x{i} = {i}" for i in range(16))


@pytest.mark.parametrize(
    ("nb", "breach"),
    [
        (changed(lambda nb: nb.cells.pop(0)), "cell 1: does not begin with a title"),
        (changed(lambda nb: nb.metadata.pop("kernelspec")), "does not name the kernel python3"),
        (with_cell(code("%matplotlib inline")), "cell 4: is not plain Python"),
        (good_notebook(parameters=None), "has no cells tagged 'parameters'"),
        (
            changed(lambda nb: nb.cells.append(nbformat.from_dict({**nb.cells[1], "id": "again"}))),
            "has 2 cells tagged 'parameters'",
        ),
        (
            good_notebook(parameters="PROFILE = 'quick'  # x"),
            "cell 2: line 1 is no typed assignment",
        ),
        (good_notebook(parameters=PARAMETERS + "\nk: int = 3  # x"), "k is not in upper case"),
        (good_notebook(parameters=PARAMETERS + "\nK: int = 3"), "cell 2: K has no comment"),
        (good_notebook(parameters="K: int = 3  # x"), "does not set PROFILE"),
        (
            good_notebook(parameters=PARAMETERS.replace("quick", "paper")),
            "PROFILE is not a str that is 'quick'",
        ),
        (with_cell(code(LONG)), "cell 4: has 16 lines, more than 15; move code into the package"),
        (with_cell(code("def f():\n    pass")), "cell 4: defines f"),
        (with_cell(code("if 1:\n    class A:\n        pass")), "cell 4: defines A"),
        (changed(lambda nb: nb.cells.pop(2)), "has 4 prose cells for 5 code cells"),
        (with_cell(new_code_cell("1")), "cell 4: was not executed; run: kernlab notebooks refresh"),
        (changed(lambda nb: nb.cells[5].outputs.pop(0)), "does not show its figure tiny-t1-error"),
        (
            changed(lambda nb: nb.cells[3].outputs.append(ERROR)),
            "cell 4: ended with ValueError: no",
        ),
        (with_cell(code("1", "careful", kind="stderr")), "cell 4: wrote to stderr: 'careful'"),
        (changed(lambda nb: nb.metadata.update(widgets={})), "holds widget state"),
        (changed(lambda nb: nb.cells[3].outputs.append(VIEW)), "holds the view of a widget"),
        (
            with_cell(code("1", "saved /home/eva/x.csv")),
            "names something of one machine: '/home/eva",
        ),
        (with_cell(code("open('/tmp/x')")), "its source names something of one machine: '/tmp/x'"),
        (with_cell(code("1", text_plain=r"WindowsPath('C:\\Users')")), "something of one machine"),
        (with_cell(code("1", "<Fit at 0x7f00aa12>")), "cell 4: its stdout holds an address"),
        (with_cell(code("1", "fitted in 3.2 s")), "holds a time that is compared: '3.2 s'"),
        (with_cell(code("1", text_html="<td>12ms</td>")), "its text/html holds a time"),
        (good_notebook(studies=("tiny-t1", "none")), "declares the study none, which is not in"),
        (
            good_notebook(figures=("tiny-t1-eror",)),
            "declares the figure tiny-t1-eror, which nothing",
        ),
        (good_notebook(studies=(), figures=()), "declares neither studies nor figures"),
        (good_notebook(cells=[*BODY[:2], BODY[3]]), "prints no key figures of tiny-t1"),
        (
            changed(lambda nb: nb.cells[7].metadata.update(tags=["nbval-skip"])),
            "prints no key figures",
        ),
        (good_notebook(cells=BODY[:-1]), "the last code cell does not call finish()"),
    ],
)
def test_every_rule_is_enforced(breaches, nb, breach):
    found = breaches(nb)
    assert any(breach in text for text in found), found
    assert all(text.startswith("00_tiny") and "; " in text for text in found)


def test_what_is_not_compared_may_tell_times(breaches):
    cell = code("1", "fitted in 3.2 s", tags=["nbval-ignore-output"])
    assert breaches(with_cell(cell)) == []


@pytest.mark.parametrize("text", ["0.3 seconds", "12 ms", "1e-3 s", "5min 2 s", "took 7s."])
def test_times_are_found(text):
    assert notebook_rules.find_timing(text)


def test_user_names_are_found(monkeypatch):
    monkeypatch.setattr(notebook_rules.getpass, "getuser", lambda: "eva.k")
    notebook_rules._names_of_this_machine.cache_clear()
    try:
        assert notebook_rules.find_machine("made by eva.k today") == "eva.k"
        assert notebook_rules.find_machine("evaXk") is None
    finally:
        notebook_rules._names_of_this_machine.cache_clear()


def test_damaged_file_is_a_violation(tmp_path):
    (tmp_path / "bad.ipynb").write_text("{not json")
    (violation,) = check_notebooks([str(tmp_path / "bad.ipynb")])
    assert "bad: bad.ipynb is not a notebook that can be read" in str(violation)


def test_every_rule_has_a_breach_here():
    """A rule without a test above would show up here."""
    breakers = test_every_rule_is_enforced.pytestmark[0].args[1]
    silent = [
        rule.__name__
        for rule in notebook_rules.RULES
        if not any(list(rule(nb)) for nb, _ in breakers)
    ]
    assert silent == []
