"""The house rules of notebooks: one function per rule, each yielding what breaks it and the cure.

A notebook tells a story and its cells call the package; what is committed holds the outputs of the
quick profile and nothing that belongs to one machine or one moment.
"""

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kernlab.lab.report.notebooks.files import (
    WIDGET_VIEW,
    NotebookError,
    declared_figures,
    declared_studies,
    find_notebook,
    notebook_paths,
    read_notebook,
    shown_figures,
    tagged,
)
from kernlab.lab.report.traces import find_address, find_machine, find_timing

MAX_LINES = 15
_IGNORED = {"nbval-ignore-output", "nbval-skip"}
REFRESH = "run: kernlab notebooks refresh"


@dataclass(frozen=True)
class Violation:
    """One breach of one rule; `cell` is counted from 1, None for the notebook as a whole."""

    notebook: str
    cell: int | None
    what: str
    cure: str

    def __str__(self):
        place = self.notebook if self.cell is None else f"{self.notebook}, cell {self.cell}"
        return f"{place}: {self.what}; {self.cure}"


def check_notebooks(names=()):
    """All violations in some notebooks (names or paths), or in all that come with kernlab."""
    paths = [find_notebook(name) for name in names] or list(notebook_paths().values())
    return [violation for path in paths for violation in check_notebook(path)]


def check_notebook(path):
    """The violations in one notebook, in the order of its cells."""
    name = Path(path).stem
    try:
        nb = read_notebook(path)
    except NotebookError as error:
        return [Violation(name, None, str(error), "restore it")]
    found = [Violation(name, *breach) for rule in RULES for breach in rule(nb)]
    return sorted(found, key=lambda violation: violation.cell or 0)


def _code_cells(nb):
    """(number from 1, cell, syntax tree or None) of the code cells."""
    for number, cell in enumerate(nb.cells, start=1):
        if cell.cell_type == "code":
            yield number, cell, _parse(cell.source)


def _parse(source):
    try:
        return ast.parse(source)
    except SyntaxError:
        return None


def begins_with_a_title(nb):
    first = nb.cells[0] if nb.cells else None
    if first is None or first.cell_type != "markdown" or not first.source.startswith("# "):
        yield (
            1,
            "does not begin with a title",
            "begin with a prose cell whose first line is '# ...'",
        )


def names_its_kernel(nb):
    if nb.metadata.get("kernelspec", {}).get("name") != "python3":
        yield None, "does not name the kernel python3, which papermill asks for", REFRESH


def is_plain_python(nb):
    for number, _, tree in _code_cells(nb):
        if tree is None:
            yield number, "is not plain Python", "leave out magics and shell lines, mend the syntax"


def has_a_parameters_cell(nb):
    positions = tagged(nb, "parameters")
    if len(positions) != 1:
        count = len(positions) or "no"
        yield None, f"has {count} cells tagged 'parameters'", "tag the one cell that sets PROFILE"
        return
    number, cell = positions[0] + 1, nb.cells[positions[0]]
    tree = _parse(cell.source) or ast.Module([], [])
    names = set()
    for node in tree.body:
        ok = isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        if not ok or node.value is None:
            yield number, f"line {node.lineno} is no typed assignment", "write NAME: type = value"
            continue
        names.add(node.target.id)
        if not re.fullmatch(r"[A-Z][A-Z0-9_]*", node.target.id):
            yield number, f"{node.target.id} is not in upper case", "parameters are UPPER_CASE"
        if "#" not in cell.source.splitlines()[node.end_lineno - 1]:
            yield (
                number,
                f"{node.target.id} has no comment",
                "say what it means behind its value: papermill shows it as help",
            )
    if "PROFILE" not in names:
        yield number, "does not set PROFILE", 'add PROFILE: str = "quick"  # quick, standard, paper'
    elif not re.search(r"^PROFILE\s*:\s*str\s*=\s*[\"']quick[\"']", cell.source, re.MULTILINE):
        yield number, "PROFILE is not a str that is 'quick'", "commit the quick profile"


def has_short_cells(nb):
    for number, cell, _ in _code_cells(nb):
        lines = len(cell.source.rstrip().splitlines())
        if lines > MAX_LINES:
            yield (
                number,
                f"has {lines} lines, more than {MAX_LINES}",
                "move code into the package or split the cell",
            )


def defines_nothing(nb):
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    for number, _, tree in _code_cells(nb):
        for node in ast.walk(tree) if tree else ():
            if isinstance(node, kinds):
                yield number, f"defines {node.name}", "code lives in the package"


def has_as_much_prose_as_code(nb):
    prose = sum(cell.cell_type == "markdown" and bool(cell.source.strip()) for cell in nb.cells)
    code = sum(1 for _ in _code_cells(nb))
    if prose < code:
        yield (
            None,
            f"has {prose} prose cells for {code} code cells",
            "tell more or merge code cells",
        )


def holds_its_outputs(nb):
    for number, cell, _ in _code_cells(nb):
        if cell.source.strip() and cell.execution_count is None:
            yield number, "was not executed", REFRESH
    missing = [name for name in declared_figures(nb) if name not in shown_figures(nb)]
    for name in missing:
        yield None, f"does not show its figure {name}", f"call show() for it and {REFRESH}"


def holds_no_errors(nb):
    for number, cell, _ in _code_cells(nb):
        for output in cell.outputs:
            if output.output_type == "error":
                yield number, f"ended with {output.ename}: {output.evalue[:80]}", REFRESH
            elif output.output_type == "stream" and output.name == "stderr":
                yield number, f"wrote to stderr: {output.text[:80]!r}", "remove the cause"


def holds_no_widget_state(nb):
    if "widgets" in nb.metadata:
        yield None, "holds widget state", REFRESH
    for number, cell, _ in _code_cells(nb):
        if any(WIDGET_VIEW in output.get("data", {}) for output in cell.outputs):
            yield number, "holds the view of a widget that nobody else has", REFRESH


def names_no_machine(nb):
    for number, cell in enumerate(nb.cells, start=1):
        for kind, text in [("source", cell.source), *_texts(cell)]:
            if trace := find_machine(text):
                what = f"its {kind} names something of one machine: {trace!r}"
                yield number, what, "print names, not paths"


def compares_nothing_that_changes(nb):
    for number, cell, _ in _code_cells(nb):
        if _IGNORED & set(cell.metadata.get("tags", ())):
            continue
        for kind, text in _texts(cell):
            if trace := find_address(text):
                what = f"its {kind} holds an address in memory: {trace}"
                yield number, what, "print something else"
            # What `compare` shows of times comes from the record: everywhere the same.
            timeless = kind == "text/markdown" or ("compare(" in cell.source and kind != "stdout")
            if not timeless and (trace := find_timing(text)):
                what = f"its {kind} holds a time that is compared: {trace!r}"
                yield number, what, "show times in figures, or tag the cell nbval-ignore-output"


def declares_what_exists(nb):
    from kernlab.lab.catalogue import FIGURES, STUDIES

    if not declared_studies(nb) and not declared_figures(nb):
        yield (
            None,
            "declares neither studies nor figures",
            'add metadata.kernlab = {"studies": [...], "figures": [...]}',
        )
    figures = {spec.stem for specs in FIGURES.values() for spec in specs}
    for name in declared_studies(nb):
        if name not in STUDIES:
            yield None, f"declares the study {name}, which is not in the registry", "mend the name"
    for name in declared_figures(nb):
        if name not in figures:
            yield None, f"declares the figure {name}, which nothing draws", "mend the name"


def prints_key_figures(nb):
    printed = set()
    for _, cell, tree in _code_cells(nb):
        if tree is not None and not _IGNORED & set(cell.metadata.get("tags", ())):
            printed |= {call.args[0].value for call in _calls(tree, "key_figures")}
    for name in declared_studies(nb):
        if name not in printed:
            yield (
                None,
                f"prints no key figures of {name} in a compared cell",
                f'add nb.key_figures("{name}", table)',
            )


def ends_with_finish(nb):
    cells = list(_code_cells(nb))
    number, _, tree = cells[-1] if cells else (None, None, None)
    called = tree is not None and any(
        isinstance(node, ast.Call) and _name(node.func) == "finish" for node in ast.walk(tree)
    )
    if not called:
        yield number, "the last code cell does not call finish()", "end with nb.finish()"


RULES: tuple[Callable, ...] = (
    begins_with_a_title,
    names_its_kernel,
    is_plain_python,
    has_a_parameters_cell,
    has_short_cells,
    defines_nothing,
    has_as_much_prose_as_code,
    holds_its_outputs,
    holds_no_errors,
    holds_no_widget_state,
    names_no_machine,
    compares_nothing_that_changes,
    declares_what_exists,
    prints_key_figures,
    ends_with_finish,
)


def _texts(cell):
    """(kind, text) of all that a cell's outputs say in words."""
    for output in cell.get("outputs", ()):
        if output.output_type == "stream":
            yield output.name, output.text
        for kind, content in output.get("data", {}).items():
            if kind.startswith("text/") or kind == "image/svg+xml":
                yield kind, "".join(content)
        if output.output_type == "error":
            yield "error", "\n".join([output.evalue, *output.traceback])


def _calls(tree, name):
    """Calls of a function or method whose first argument is a text in quotes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) == name and node.args:
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield node


def _name(function):
    return getattr(function, "attr", getattr(function, "id", ""))
