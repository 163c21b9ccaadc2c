"""Which code a row was computed by, so that rows of other code are never taken for its own.

A study's fingerprint covers the definitions that its `measure` reaches inside kernlab/studies;
the library's covers all numerical code of kernlab. Both are taken from the syntax tree without
docstrings: a comment, a docstring or a line break changes nothing, a constant does.
"""

import ast
import functools
import hashlib
import importlib.util
import inspect
import sys
from pathlib import Path
from types import CodeType

import kernlab

# What does not compute numbers, or (the studies) has a finer fingerprint of its own.
_NOT_NUMERICAL = {"studies", "plots", "explorers", "report", "published", "cli", "doctor"}
_PLAIN = (str, bytes, int, float, bool, tuple, type(None))


def study_fingerprint(study):
    """A short hash of the code that computes a row of this study, and of its version number."""
    function, settings = study.measure, [f"version {study.version}"]
    while isinstance(function, functools.partial):
        settings.append(repr((function.args, sorted(function.keywords.items()))))
        function = function.func
    function = inspect.unwrap(function)
    closure = (cell.cell_contents for cell in function.__closure__ or ())
    settings += [repr(value) for value in closure if isinstance(value, _PLAIN)]

    definition = function.__qualname__.split(".")[0]
    start = [(function.__module__, definition)]
    if definition not in _contents(function.__module__)[0]:  # a lambda, or typed at a console
        settings += _code_texts(function.__code__)
        start = [(function.__module__, name) for name in function.__code__.co_names]
    return _digest(settings + sorted(_reachable(start)))


@functools.cache
def library_fingerprint():
    """A short hash of all of kernlab's code that takes part in computing numbers."""
    package = Path(kernlab.__file__).parent
    names = sorted(path.relative_to(package) for path in package.rglob("*.py"))
    return _digest(
        f"{name.as_posix()}:{_without_words(ast.parse((package / name).read_bytes()))}"
        for name in names
        if name.parts[0].removesuffix(".py") not in _NOT_NUMERICAL
    )


def _digest(texts):
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode())
        digest.update(b"\0")
    return digest.hexdigest()[:16]


def _without_words(tree):
    """The syntax tree as text, without docstrings and positions. The tree is changed."""
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
    return ast.dump(tree)


def _code_texts(code):
    """What a compiled function computes, as texts that hold no addresses and no paths."""
    texts = [repr((code.co_code, code.co_names))]
    for constant in code.co_consts:
        texts += _code_texts(constant) if isinstance(constant, CodeType) else [repr(constant)]
    return texts


def _reachable(places):
    """The texts of some top-level definitions and of all that they use from studies."""
    found, waiting = {}, list(places)
    while waiting:
        module, name = place = waiting.pop()
        if place in found:
            continue
        definitions, imports, whole = _contents(module)
        found[place] = ""
        if name == "*":
            found[place] = whole
            waiting += imports.values()
        elif name in definitions:
            found[place], names = definitions[name]
            waiting += [(module, used) for used in names]
        elif name in imports:
            waiting.append(imports[name])
    return [f"{name}:{text}" for (_, name), text in found.items() if text]


@functools.cache
def _contents(module_name):
    """A module's top-level definitions (text, names used), its imports from studies, its text."""
    try:
        module = sys.modules[module_name]
        tree = ast.parse(inspect.getsource(module))
    except (KeyError, OSError, TypeError):
        return {}, {}, ""
    definitions, imports = {}, {}
    for node in tree.body:
        used = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
        for inner in ast.walk(node):
            if isinstance(inner, ast.Import | ast.ImportFrom):
                found = _imports_from_studies(inner, module.__package__)
                imports.update(found)
                used.update(found)
        text = _without_words(node)
        for name in _bound_names(node):
            # A name bound in several places, as under an if, is all of them.
            text_before, used_before = definitions.get(name, ("", set()))
            definitions[name] = (text_before + text, used_before | used)
    return definitions, imports, _without_words(tree)


def _bound_names(node):
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    return {
        inner.id
        for inner in ast.walk(node)
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
    }


def _imports_from_studies(node, package):
    """Where names imported from kernlab.lab.papers come from: name -> (module, definition or *)."""
    places = {}
    source = "" if isinstance(node, ast.Import) else "." * node.level + (node.module or "")
    if source.startswith("."):
        source = importlib.util.resolve_name(source, package)
    for alias in node.names:
        if not source:
            module, name, bound = alias.name, "*", alias.asname or alias.name.split(".")[0]
        elif f"{source}.{alias.name}" in sys.modules:
            module, name, bound = f"{source}.{alias.name}", "*", alias.asname or alias.name
        else:
            module, name, bound = source, alias.name, alias.asname or alias.name
        if module.startswith("kernlab.lab.papers"):
            places[bound] = (module, name)
    return places
