"""The package's modules import each other in one direction, as its docstring says."""

import ast
import re
from pathlib import Path

import pytest

import warpfold

FOLDER = Path(warpfold.__file__).parent


def imports_of(source):
    """The modules of the package that a module imports: anywhere, also for types alone."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            names = [node.module] if node.module else [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            package, _, name = (node.module or "").partition(".")
            names = [name] if package == "warpfold" and name else []
        elif isinstance(node, ast.Import):
            names = [a.name.partition(".")[2] for a in node.names if a.name.startswith("warpfold.")]
        else:
            continue
        found.update(name.partition(".")[0] for name in names)
    return found


def circle_in(graph):
    """Modules that import each other in a circle, or None."""
    ended = set()

    def from_here(module, path):
        if module in path:
            return path[path.index(module) :]
        if module in ended:
            return None
        for imported in sorted(graph.get(module, ())):
            circle = from_here(imported, [*path, module])
            if circle:
                return circle
        ended.add(module)
        return None

    return next(filter(None, (from_here(module, []) for module in sorted(graph))), None)


def layers_of(docstring):
    """The layers from the lowest, each a list of modules."""
    lines = re.findall(r"^\* [^:]+: (.*)$", docstring, re.MULTILINE)
    return [line.split(", ") for line in reversed(lines)]


@pytest.fixture(scope="module")
def graph():
    modules = {path.stem: path for path in FOLDER.glob("*.py") if path.stem != "__init__"}
    found = {name: imports_of(path.read_text("utf-8")) for name, path in modules.items()}
    return {name: imports & modules.keys() for name, imports in found.items()}


def test_no_modules_import_each_other_in_a_circle(graph):
    assert circle_in(graph) is None


def test_every_module_imports_from_its_own_layer_and_those_below(graph):
    layers = layers_of(warpfold.__doc__)
    assert sorted(sum(layers, [])) == sorted(graph)
    height = {module: i for i, layer in enumerate(layers) for module in layer}
    upwards = [(a, b) for a in graph for b in graph[a] if height[a] < height[b]]
    assert upwards == []


@pytest.mark.parametrize(
    "source",
    [
        "from ._flows import Flows",
        "from . import _flows",
        "from warpfold._flows import Flows",
        "import warpfold._flows",
        "if TYPE_CHECKING:\n    from ._flows import Flows",
        "def later():\n    from ._flows import Flows",
    ],
)
def test_every_kind_of_import_is_seen(source):
    assert imports_of(source) == {"_flows"}
    assert circle_in({"_flows": {"_rpcs"}, "_rpcs": imports_of(source)}) == ["_flows", "_rpcs"]
