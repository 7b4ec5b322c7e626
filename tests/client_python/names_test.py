"""`__all__`: each module says which of its names are for others."""

import ast
import importlib
from pathlib import Path

import pytest

import warpfold
import warpfold.aio

FOLDER = Path(warpfold.__file__).parent
MODULES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")
TREES = {name: ast.parse((FOLDER / f"{name}.py").read_text("utf-8")) for name in MODULES}


def imported_from(module):
    """The names that the package's modules import from one of them."""
    nodes = [n for tree in TREES.values() for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    names = {a.name for node in nodes if node.module == module and node.level for a in node.names}
    return names - {"*"}  # which takes what the module names


def named_by(name):
    """A module's `__all__`, which it may have of another module, with the names."""
    (value,) = [
        node.value
        for node in TREES[name].body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    other, _, attribute = ast.unparse(value).partition(".")
    if attribute == "__all__" and f"from .{other} import *" in map(ast.unparse, TREES[name].body):
        return named_by(other)
    return ast.literal_eval(value)


@pytest.mark.parametrize("name", MODULES)
def test_a_module_names_what_is_for_others(name):
    named = named_by(name)
    assert named == sorted(set(named))
    defined = {
        node.name
        for node in TREES[name].body
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        and not node.name.startswith("_")
    }
    assert (defined | imported_from(name)) <= set(named)
    if "dask" not in name:  # which is not in every environment
        assert set(named) <= set(vars(importlib.import_module(f"warpfold.{name}")))


def test_what_users_import_lists_nothing_else():  # tests/dask has the same of warpfold.dask
    assert [n for n in dir(warpfold.aio) if not n.startswith("_")] == warpfold.aio.__all__


def test_the_package_does_too():
    assert warpfold.__all__ == sorted(set(warpfold.__all__))
    tree = ast.parse((FOLDER / "__init__.py").read_text("utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    assert sorted(a.name for node in imports for a in node.names) == warpfold.__all__
