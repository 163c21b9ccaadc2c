"""The walls of the house: the library does not know the workbench, and imports point one way."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import kernlab
from kernlab import paths

PACKAGE = Path(kernlab.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))
HEAVY = ("matplotlib", "IPython", "ipywidgets", "papermill", "jinja2", "requests")


# Where a user's input is told apart and checked, or what a machine has: places that must ask.
EDGES = (
    "rows",
    "features.as_features",
    "kernels.make_kernel",
    "runtime.thread_count",
    "approximations.compact.approximation._make_kernel",
    "approximations.compact.cholmod.is_04",
    "solvers.problems.parameters_of",
    "solvers.dual_admm.solve_dual_admm",
    "solvers.linear.liblinear._check",
    "estimators.machine.fit_together",
    "estimators.sweep.sweep",
    "estimators.sweep._values",
)


def module_of(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in SOURCES}


def imports_of(path, everywhere=True):
    """(module, name or None) of every import of kernlab; inside functions too if `everywhere`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree) if everywhere else tree.body:
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide what is imported"
            yield from ((node.module, alias.name) for alias in node.names)


def modules_imported(path, everywhere=True):
    """The modules of kernlab that a file imports, packages as far as the name says."""
    for module, name in imports_of(path, everywhere):
        if f"{module}.{name}" in MODULES:
            yield f"{module}.{name}"
        elif module in MODULES:
            yield module


def test_the_library_does_not_know_the_workbench():
    library = [path for name, path in MODULES.items() if not name.startswith("kernlab.lab")]
    for path in library:
        assert not [m for m in modules_imported(path) if m.startswith("kernlab.lab")], path


def test_no_private_name_of_another_module_is_imported():
    for path in SOURCES:
        ours = [(m, n) for m, n in imports_of(path) if m.startswith("kernlab") and n]
        assert not [f"{m}.{n}" for m, n in ours if n[0] == "_" and n != "__version__"], path


def test_imports_have_no_cycle():
    """Wherever in a file an import stands: one inside a function may hide a cycle."""
    graph = {name: set(modules_imported(path)) - {name} for name, path in MODULES.items()}
    while leaves := [name for name, needs in graph.items() if not needs & graph.keys()]:
        for name in leaves:
            del graph[name]
    assert not graph, f"these modules import each other: {', '.join(sorted(graph))}"


def test_no_family_of_files_stands_for_a_package():
    """Three files of one folder that share the first word of their names are a package unmade."""
    families = {}
    for path in SOURCES:
        first, _, rest = path.stem.partition("_")
        if first and rest:
            families.setdefault((path.parent, first), []).append(path.name)
    assert not {k: v for k, v in families.items() if len(v) > 2}


def special_cases(tree, classes):
    """(function, line) of every question after what a thing is: after a class of ours, an attribute
    or a signature, or after the name of a kernel, an approximation or a solver."""
    inside = {}
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):  # inner functions come later, and count
            inside |= dict.fromkeys(ast.walk(function), function.name)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func).rpartition(".")[2]
            of_ours = called == "isinstance" and classes & set(ast.unparse(node.args[1]).split())
            asks = of_ours or called in ("hasattr", "signature")
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq | ast.NotEq):
            named = ast.unparse(node.left).rpartition(".")[2]
            asks = named in ("kernel", "approximation", "solver")
        else:
            continue
        if asks:
            yield inside.get(node, ""), node.lineno


def test_the_library_seldom_asks_what_a_thing_is():
    """A method of the thing answers: but for the edges, at most two places ask."""
    names = [name for name in MODULES if not name.startswith("kernlab.lab")]
    trees = {name: ast.parse(MODULES[name].read_text(encoding="utf-8")) for name in names}
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    classes = {node.name for node in nodes if isinstance(node, ast.ClassDef)}
    found = [
        f"{name.removeprefix('kernlab.')}.{function}, line {line}"
        for name, tree in trees.items()
        for function, line in special_cases(tree, classes)
    ]
    inside = [one for one in found if not one.startswith(tuple(EDGES))]
    assert len(inside) <= 2, inside


def test_importing_the_library_loads_nothing_of_the_workbench():
    code = (
        "import sys, json, kernlab; [getattr(kernlab, n) for n in kernlab.__all__];"
        "print(json.dumps(sorted(sys.modules)))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    loaded = set(json.loads(printed.stdout))
    assert not loaded & {*HEAVY, "kernlab.lab"}


def test_the_top_level_holds_what_it_should():
    root = paths.project_root()
    if root is None:
        pytest.skip("kernlab runs from an installation without its checkout")
    expected = {"notebooks", "kernlab", "data", "figures", "tests", "environment.yml", "README.md"}
    files = {"LICENSE", "Makefile", "SECURITY.md", "pyproject.toml", "requirements.lock"}
    present = {path.name for path in root.iterdir() if not path.name.startswith(".")}
    assert expected | files <= present
    extra = present - expected - files - {"requirements-cholmod.lock", "build", "dist"}
    assert not extra, f"the top level also holds {', '.join(sorted(extra))}"
