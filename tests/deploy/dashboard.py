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
# What is not on the server's page, by the start of its name, and who makes it.
OTHERS = {
    "up": "Prometheus",
    "ALERTS": "Prometheus",
    "DCGM_FI_": "dcgm-exporter",
}


def load(file: Path):
    return json.loads(file.read_text(encoding="utf-8"))


def panels(content):
    """Every panel that shows something, those inside collapsed rows too."""
    for panel in content["panels"]:
        yield from panels(panel) if panel["type"] == "row" else [panel]


def queries(content):
    """(where it stands, PromQL expression) of panels and annotations."""
    for panel in panels(content):
        for target in panel["targets"]:
            yield panel["title"], target["expr"]
    for annotation in content["annotations"]["list"]:
        yield annotation["name"], annotation["expr"]


def variables(content):
    """(name, metric, label) of each variable that lists the values of a label."""
    for variable in content["templating"]["list"]:
        if variable["type"] == "query":
            query = re.fullmatch(rf"label_values\(({NAME}), (\w+)\)", variable["query"]["query"])
            yield variable["name"], query[1], query[2]


def filled(expression: str, rate_interval: str, time_range: str = "1m") -> str:
    """The expression as Grafana sends it, every variable at "All"."""
    expression = expression.replace("$__rate_interval", rate_interval)
    expression = expression.replace("$__range", time_range)
    return re.sub(r"\$\w+", ".*", expression)


def selections(expression: str):
    """The metrics of a PromQL expression: name -> [(label, operator, value)]."""
    found = {}
    for name, matchers in SELECTION.findall(expression):
        found.setdefault(name, []).extend(MATCHER.findall(matchers))
    rest = SELECTION.sub("", expression)
    rest = GROUPING.sub("", rest)
    rest = re.sub(r'"(?:\\.|[^"\\])*"|\[[^\]]*\]', "", rest)
    for match in re.finditer(rf"(?<![\w.$]){NAME}\b(?!\s*\()", rest):
        if match[0] not in KEYWORDS:
            found.setdefault(match[0], [])
    return found


def metrics(expression: str):
    """The metrics of a PromQL expression by the names that a page gives them: a histogram's one."""
    return {re.sub(r"_(bucket|sum|count)$", "", name) for name in selections(expression)}


def families(page: str):
    """The names of the metrics on a /metrics page, those without a sample too."""
    return set(re.findall(rf"^# TYPE ({NAME}) ", page, re.MULTILINE))


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
        if name.startswith(tuple(OTHERS)):
            continue
        if name not in have:
            yield f"no metric {name}"
            continue
        labels |= set(have[name])
        for label, operator, value in matchers:
            if label in ADDED_LABELS:
                continue
            # `a|b` is a list of values; any other pattern may match what comes later.
            values = value.split("|") if re.fullmatch(r"[\w|]+", value) else []
            if label not in have[name]:
                yield f"{name} has no label {label}"
                continue
            for one in values if operator in ("=~", "!~") else [value]:
                if one not in have[name][label]:
                    yield f"{name} has no {label}={one!r}"
    for label in groupings(expression) - labels:
        yield f"grouped by {label}, which none of its metrics has"
