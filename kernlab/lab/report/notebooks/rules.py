"""The house rules of notebooks: each function yields what breaks some of them, and the remedy.

A notebook tells a story and its cells call the package; what is committed holds the outputs of the
quick profile and nothing that belongs to one machine or one moment.
"""

import ast
import getpass
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kernlab.lab.report.notebooks import files
from kernlab.lab.report.notebooks.files import NotebookError
from kernlab.paths import project_root

MAX_LINES = 15
REFRESH = "run: kernlab notebooks refresh"
_IGNORED = {"nbval-ignore-output", "nbval-skip"}
_PATH = re.compile(
    r"(?<![\w.:/-])/(?:home|Users|root|tmp|usr|opt|mnt|var|srv|private)/[\w.-]+"
    r"|\b[A-Z]:\\\\?\w"
    r"|site-packages"
)
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b")
_TIMING = re.compile(
    r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?[ \u00a0]?(?:s|ms|µs|us|sec|seconds?|minutes?)\b",
    re.IGNORECASE,
)
# Names of users that are words as well, or the same on many machines.
_COMMON_USERS = {"root", "user", "runner", "jovyan", "admin", "test", "builder", "ubuntu", ""}


@dataclass(frozen=True)
class Violation:
    """One breach of one rule; `cell` is counted from 1, None for the notebook as a whole."""

    notebook: str
    cell: int | None
    what: str
    remedy: str

    def __str__(self):
        place = self.notebook if self.cell is None else f"{self.notebook}, cell {self.cell}"
        return f"{place}: {self.what}; {self.remedy}"


def check_notebooks(names=()):
    """All violations in some notebooks (names or paths), or in all that come with kernlab."""
    paths = [files.find_notebook(name) for name in names] or list(files.notebook_paths().values())
    return [violation for path in paths for violation in check_notebook(path)]


def check_notebook(path):
    """The violations in one notebook, in the order of its cells."""
    name = Path(path).stem
    try:
        nb = files.read_notebook(path)
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


def tells_a_story(nb):
    """It begins with a title, has as much prose as code, and ends with finish()."""
    first = nb.cells[0] if nb.cells else None
    if first is None or first.cell_type != "markdown" or not first.source.startswith("# "):
        remedy = "begin with a prose cell whose first line is '# ...'"
        yield 1, "does not begin with a title", remedy
    if nb.metadata.get("kernelspec", {}).get("name") != "python3":
        yield None, "does not name the kernel python3, which papermill asks for", REFRESH
    prose = sum(cell.cell_type == "markdown" and bool(cell.source.strip()) for cell in nb.cells)
    code = list(_code_cells(nb))
    if prose < len(code):
        what = f"has {prose} prose cells for {len(code)} code cells"
        yield None, what, "tell more or merge code cells"
    number, _, tree = code[-1] if code else (None, None, None)
    if tree is None or not any(_calls(tree, "finish")):
        yield number, "the last code cell does not call finish()", "end with nb.finish()"


def has_a_parameters_cell(nb):
    """One cell sets PROFILE and what else a reader may turn, typed and with a comment."""
    positions = files.tagged(nb, "parameters")
    if len(positions) != 1:
        count = len(positions) or "no"
        yield None, f"has {count} cells tagged 'parameters'", "tag the one cell that sets PROFILE"
        return
    number, cell = positions[0] + 1, nb.cells[positions[0]]
    tree, names = _parse(cell.source) or ast.Module([], []), set()
    for node in tree.body:
        ok = isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        if not ok or node.value is None:
            yield number, f"line {node.lineno} is no typed assignment", "write NAME: type = value"
            continue
        name = node.target.id
        names.add(name)
        if not re.fullmatch(r"[A-Z][A-Z0-9_]*", name):
            yield number, f"{name} is not in upper case", "parameters are UPPER_CASE"
        if "#" not in cell.source.splitlines()[node.end_lineno - 1]:
            remedy = "say what it means behind its value: papermill shows it as help"
            yield number, f"{name} has no comment", remedy
    if "PROFILE" not in names:
        yield number, "does not set PROFILE", 'add PROFILE: str = "quick"  # quick, standard, paper'
    elif not re.search(r"^PROFILE\s*:\s*str\s*=\s*[\"']quick[\"']", cell.source, re.MULTILINE):
        yield number, "PROFILE is not a str that is 'quick'", "commit the quick profile"


def calls_the_package(nb):
    """Its cells are short, plain Python, and define nothing."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    for number, cell, tree in _code_cells(nb):
        lines = len(cell.source.rstrip().splitlines())
        if lines > MAX_LINES:
            what = f"has {lines} lines, more than {MAX_LINES}"
            yield number, what, "move code into the package or split the cell"
        if tree is None:
            yield number, "is not plain Python", "leave out magics and shell lines, mend the syntax"
        for node in ast.walk(tree) if tree else ():
            if isinstance(node, kinds):
                yield number, f"defines {node.name}", "code lives in the package"


def holds_its_outputs(nb):
    """It was executed without errors, and shows its figures."""
    if "widgets" in nb.metadata:
        yield None, "holds widget state", REFRESH
    for number, cell, _ in _code_cells(nb):
        if cell.source.strip() and cell.execution_count is None:
            yield number, "was not executed", REFRESH
        for output in cell.outputs:
            if output.output_type == "error":
                yield number, f"ended with {output.ename}: {output.evalue[:80]}", REFRESH
            elif output.output_type == "stream" and output.name == "stderr":
                yield number, f"wrote to stderr: {output.text[:80]!r}", "remove the cause"
            if files.WIDGET_VIEW in output.get("data", {}):
                yield number, "holds the view of a widget that nobody else has", REFRESH
    for name in sorted(set(files.declared_figures(nb)).difference(files.shown_figures(nb))):
        yield None, f"does not show its figure {name}", f"call show() for it and {REFRESH}"


def belongs_to_no_machine_and_no_moment(nb):
    """Neither sources nor outputs name a machine; what is compared holds no times."""
    for number, cell in enumerate(nb.cells, start=1):
        for kind, text in [("source", cell.source), *_texts(cell)]:
            if trace := find_machine(text):
                what = f"its {kind} names something of one machine: {trace!r}"
                yield number, what, "print names, not paths"
        if _is_ignored(cell):
            continue
        for kind, text in _texts(cell):
            if trace := _ADDRESS.search(text):
                what = f"its {kind} holds an address in memory: {trace[0]}"
                yield number, what, "print something else"
            # What `compare` shows of times comes from the record: everywhere the same.
            timeless = kind == "text/markdown" or ("compare(" in cell.source and kind != "stdout")
            if not timeless and (trace := find_timing(text)):
                what = f"its {kind} holds a time that is compared: {trace!r}"
                yield number, what, "show times in figures, or tag the cell nbval-ignore-output"


def declares_what_it_runs(nb):
    """Its studies and figures exist, and a compared cell prints each study's key figures."""
    from kernlab.lab.catalogue import FIGURES, STUDIES

    if not files.declared_studies(nb) and not files.declared_figures(nb):
        remedy = 'add metadata.kernlab = {"studies": [...], "figures": [...]}'
        yield None, "declares neither studies nor figures", remedy
    printed = {
        call.args[0].value
        for _, cell, tree in _code_cells(nb)
        if tree is not None and not _is_ignored(cell)
        for call in _calls(tree, "key_figures")
        if call.args and isinstance(call.args[0], ast.Constant)
    }
    for name in files.declared_studies(nb):
        if name not in STUDIES:
            yield None, f"declares the study {name}, which is not in the registry", "mend the name"
        if name not in printed:
            what = f"prints no key figures of {name} in a compared cell"
            yield None, what, f'add nb.key_figures("{name}", table)'
    figures = {spec.stem for specs in FIGURES.values() for spec in specs}
    for name in sorted(set(files.declared_figures(nb)) - figures):
        yield None, f"declares the figure {name}, which nothing draws", "mend the name"


RULES = (
    tells_a_story,
    has_a_parameters_cell,
    calls_the_package,
    holds_its_outputs,
    belongs_to_no_machine_and_no_moment,
    declares_what_it_runs,
)


def _is_ignored(cell):
    return bool(_IGNORED & set(cell.metadata.get("tags", ())))


def _texts(cell):
    """(kind, text) of all that a code cell's outputs say in words."""
    for output in cell.get("outputs", ()):
        if output.output_type == "stream":
            yield output.name, output.text
        for kind, content in output.get("data", {}).items():
            if kind.startswith("text/") or kind == "image/svg+xml":
                yield kind, "".join(content)
        if output.output_type == "error":
            yield "error", "\n".join([output.evalue, *output.traceback])


def _calls(tree, name):
    """Calls of a function or method of this name."""
    for node in ast.walk(tree):
        called = getattr(node, "func", None)
        if name in (getattr(called, "attr", None), getattr(called, "id", None)):
            yield node


def find_timing(text):
    """The first number of seconds or the like, or None."""
    hit = _TIMING.search(text)
    return hit and hit[0]


def find_machine(text):
    """The first path or user name in a text, or None."""
    hits = (pattern.search(text) for pattern in (_PATH, *_names_of_this_machine()))
    return next((hit[0] for hit in hits if hit), None)


@cache
def _names_of_this_machine():
    """The user, and the home folder and the checkout, unless so short that they mean nothing."""
    folders = [folder for folder in (Path.home(), project_root()) if folder]
    names = [re.escape(str(folder)) for folder in folders if len(folder.parts) > 2]
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container may run under a number without a name
        user = ""
    names += [rf"\b{re.escape(user)}\b"] if user not in _COMMON_USERS else []
    return tuple(map(re.compile, names))
