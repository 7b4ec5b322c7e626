"""What a Grafana dashboard asks for, and which of it a /metrics page lacks."""

import json
import re
from pathlib import Path

KEYWORDS = {"and", "or", "unless", "bool", "offset", "group_left", "group_right"}
NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
SELECTION = re.compile(rf"({NAME})\s*\{{([^}}]*)\}}")
GROUPING = re.compile(r"\b(by|without|on|ignoring)\s*\(([^)]*)\)")
MATCHER = re.compile(rf'({NAME})\s*(=~|!~|!=|=)\s*"((?:\\.|[^"\\])*)"')
SAMPLE = re.compile(rf"^({NAME})(?:\{{(.*)\}})? \S+$")
# Prometheus adds these to whatever it scrapes.
ADDED_LABELS = {"instance", "job"}


def expressions(dashboard: Path):
    """Every PromQL expression of the dashboard, its variables' queries included."""

    def walk(node):
        if isinstance(node, dict):
            if isinstance(node.get("expr"), str):
                yield node["expr"]
            for value in node.values():
                yield from walk(value)
        elif isinstance(node, list):
            for value in node:
                yield from walk(value)

    content = json.loads(dashboard.read_text(encoding="utf-8"))
    yield from walk(content)
    for variable in content["templating"]["list"]:
        query = re.fullmatch(r"label_values\((.*),\s*\w+\)", variable["definition"])
        if query:
            yield query[1]


def selections(expression: str):
    """The metrics of a PromQL expression: name -> [(label, operator, value)]."""
    found = {name: MATCHER.findall(matchers) for name, matchers in SELECTION.findall(expression)}
    rest = SELECTION.sub("", expression)
    rest = GROUPING.sub("", rest)
    rest = re.sub(r'"(?:\\.|[^"\\])*"|\[[^\]]*\]', "", rest)
    for match in re.finditer(rf"(?<![\w.$]){NAME}\b(?!\s*\()", rest):
        if match[0] not in KEYWORDS:
            found.setdefault(match[0], [])
    return found


def groupings(expression: str):
    """The labels that the expression groups by."""
    return {
        label.strip() for _, labels in GROUPING.findall(expression) for label in labels.split(",")
    }


def series(page: str):
    """A /metrics page: name -> label -> values."""
    found = {}
    for line in page.splitlines():
        match = None if line.startswith("#") else SAMPLE.match(line)
        if match:
            labels = found.setdefault(match[1], {})
            for label, _, value in MATCHER.findall(match[2] or ""):
                labels.setdefault(label, set()).add(value)
    return found


def missing(expression: str, page: str):
    """What the expression asks for and the page does not have."""
    have = series(page)
    labels = set(ADDED_LABELS)
    for name, matchers in selections(expression).items():
        if name not in have:
            yield f"no metric {name}"
            continue
        labels |= set(have[name])
        for label, operator, value in matchers:
            if label in ADDED_LABELS:
                continue
            if label not in have[name]:
                yield f"{name} has no label {label}"
            elif operator in ("=", "!=") and value not in have[name][label]:
                yield f"{name} has no {label}={value!r}"
    for label in groupings(expression) - labels:
        yield f"grouped by {label}, which none of its metrics has"
