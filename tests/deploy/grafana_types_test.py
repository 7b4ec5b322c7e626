"""Compares the dashboards with the types that Grafana publishes (PyPI: grafana-foundation-sdk).

Usage: grafana_types_test.py DEPLOY_FOLDER [unittest's arguments]
"""

import enum
import json
import sys
import types
import typing
import unittest
from pathlib import Path

import dashboard

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

DEPLOY = Path(".")
# Grafana's Prometheus data source reads these fields of an annotation; the types do not have them.
UNDECLARED = {"titleFormat", "textFormat", "useValueForTime", "step"}


def dropped(ours, theirs, where=""):
    """What of `ours` is not in `theirs`, which Grafana's types wrote back."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key, value in ours.items():
            if key not in theirs:
                if value is not None and key not in UNDECLARED:
                    yield f"{where}.{key}: no such field"
            else:
                yield from dropped(value, theirs[key], f"{where}.{key}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, (value, other) in enumerate(zip(ours, theirs)):
            yield from dropped(value, other, f"{where}[{index}]")
    elif ours != theirs:
        yield f"{where}: {ours!r} became {theirs!r}"


def choices(hint):
    """The types of which the hint takes one."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return [kind for choice in typing.get_args(hint) for kind in choices(choice)]
    return [hint]


def mistyped(value, hint, where=""):
    """Where values differ from the types that Grafana's classes declare."""
    kinds = [kind for kind in choices(hint) if fits(value, kind)]
    if not kinds:
        yield f"{where}: {value!r} is no {hint}"
    elif isinstance(value, list):
        of = (typing.get_args(kinds[0]) or (object,))[0]
        for index, item in enumerate(value):
            yield from mistyped(item, of, f"{where}[{index}]")
    elif hasattr(value, "to_json"):
        hints = typing.get_type_hints(type(value))
        for name, member in vars(value).items():
            yield from mistyped(member, hints.get(name, object), f"{where}.{name}")


def fits(value, kind) -> bool:
    """Whether the value itself, not what it holds, is of this kind."""
    if kind in (object, typing.Any) or isinstance(kind, typing.TypeVar):
        return True
    if typing.get_origin(kind) is typing.Literal:
        return value in typing.get_args(kind)
    kind = typing.get_origin(kind) or kind
    if issubclass(kind, enum.Enum):
        return value in {member.value for member in kind}
    if kind in (int, float):
        return isinstance(value, (int, kind)) and not isinstance(value, bool)
    # A plain JSON object stands where a class has no reader of its own: `dropped` looks at it.
    return isinstance(value, kind) or isinstance(value, dict) and hasattr(kind, "to_json")


def findings(content):
    typed = Dashboard.from_json(content)
    written = json.loads(JSONEncoder(sort_keys=True).encode(typed))
    yield from dropped(content, written)
    yield from mistyped(typed, Dashboard)


class GrafanaTypes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        register_default_plugins()

    def test_dashboards_have_them(self):
        for file in sorted((DEPLOY / "grafana/dashboards").glob("*.json")):
            with self.subTest(dashboard=file.name):
                self.assertEqual([], list(findings(dashboard.load(file))))

    def test_a_wrong_field_and_a_wrong_type_are_found(self):
        for path, value in (
            (("titel",), "x"),
            (("refresh",), 5),
            (("graphTooltip",), "often"),
            (("panels", 1, "gridPos", "w"), "wide"),
            (("panels", 1, "targets", 0, "expression"), "up"),
            (("panels", 1, "options", "graphModes"), "none"),
        ):
            content = dashboard.load(DEPLOY / "grafana/dashboards/warpfold.json")
            *way, last = path
            place = content
            for step in way:
                place = place[step]
            place[last] = value
            with self.subTest(path=path):
                self.assertNotEqual([], list(findings(content)))


if __name__ == "__main__":
    DEPLOY = Path(sys.argv[1])
    del sys.argv[1]
    unittest.main()
