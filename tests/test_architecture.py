"""The walls of the house: which part may import which, and how large a room may be."""

import ast
from pathlib import Path

import pytest

import kernlab
from kernlab import paths

PACKAGE = Path(kernlab.__file__).parent
FOUNDATION = {
    "bandwidth",
    "compiled",
    "memory",
    "parallel",
    "paths",
    "rowinput",
    "rowproducts",
    "watching",
}
MATHEMATICS = {"kernels", "wendland", "approximations", "solvers", "estimators", "baselines"}
KNOWLEDGE = {"datasets", "published"}
STUDIES = {"studies"}
# Each part may import the foundation, itself, and what is listed here.
ALLOWED = {
    **{part: set() for part in FOUNDATION},
    "kernels": set(),
    "wendland": {"kernels"},
    "solvers": set(),
    "approximations": {"kernels", "wendland"},
    "datasets": set(),
    "published": set(),
    "baselines": {"kernels", "wendland", "approximations", "solvers"},
    "estimators": {"kernels", "wendland", "approximations", "solvers"},
    "studies": MATHEMATICS | KNOWLEDGE,
    "plots": MATHEMATICS | KNOWLEDGE | STUDIES,
    "explorers": MATHEMATICS | KNOWLEDGE | STUDIES | {"plots"},
    "report": MATHEMATICS | KNOWLEDGE | STUDIES | {"plots", "explorers"},
    "doctor": KNOWLEDGE,
    "cli": MATHEMATICS | KNOWLEDGE | STUDIES | {"plots", "report", "doctor", "explorers"},
}
LONGEST = 320
SOURCES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))


def part_of(path):
    return path.parts[0].removesuffix(".py")


def imported_parts(source):
    """The parts of kernlab that a file imports, wherever in the file it does."""
    parts = set()
    for node in ast.walk(ast.parse(source)):
        modules = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide what is imported"
            modules = [node.module]
            if node.module == "kernlab":
                modules = [f"kernlab.{alias.name}" for alias in node.names]
        for module in modules:
            names = module.split(".")
            if names[0] == "kernlab" and len(names) > 1:
                parts.add(names[1])
    return parts - {"__version__"}


@pytest.mark.parametrize("path", SOURCES, ids=str)
def test_imports_point_one_way(path):
    part = part_of(path)
    if part == "__init__":
        return
    allowed = ALLOWED[part] | FOUNDATION | {part}
    wrong = imported_parts((PACKAGE / path).read_text(encoding="utf-8")) - allowed
    assert not wrong, f"{path} imports {', '.join(sorted(wrong))}"


def test_imports_are_seen_wherever_they_stand():
    inside = "def f():\n    from kernlab.plots import x\n    import kernlab.cli\n"
    source = inside + "from kernlab import paths"
    assert imported_parts(source) == {"plots", "cli", "paths"}


@pytest.mark.parametrize("path", SOURCES, ids=str)
def test_no_file_outgrows_one_idea(path):
    lines = (PACKAGE / path).read_text(encoding="utf-8").count("\n")
    assert lines <= LONGEST, f"{path} has {lines} lines: split it"


@pytest.mark.parametrize("path", SOURCES, ids=str)
def test_every_module_says_what_it_is_for(path):
    assert ast.get_docstring(ast.parse((PACKAGE / path).read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", kernlab.__all__)
def test_public_names_are_there(name):
    assert getattr(kernlab, name) is not None


def test_the_top_level_holds_what_it_should():
    root = paths.project_root()
    if root is None:
        pytest.skip("kernlab runs from an installation without its checkout")
    expected = {"notebooks", "kernlab", "data", "figures", "tests", "environment.yml", "README.md"}
    files = {"LICENSE", "Makefile", "pyproject.toml", "requirements.lock"}
    present = {path.name for path in root.iterdir() if not path.name.startswith(".")}
    assert expected | files <= present
    extra = present - expected - files - {"requirements-cholmod.lock", "build", "dist"}
    assert not extra, f"the top level also holds {', '.join(sorted(extra))}"
