"""Checks deploy/prometheus by promtool, and that each alert is tested and has a runbook.

Usage: rules_test.py DEPLOY_FOLDER [unittest's arguments]
"""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from urllib.parse import urlsplit

import dashboard
import yaml
from stack import rule_files

DEPLOY = Path(".")
# Where deploy/compose.yaml serves docs/, by Grafana.
DOCS_URL = "http://127.0.0.1:3000/public/warpfold"
CASES = [Path(__file__).with_name(name) for name in ("alerts_test.yml", "error_budget_test.yml")]
# Of the tensors that a method reduces, and of the calls of any method.
REQUESTS, CALLS = "warpfold_request_duration_seconds", "grpc_server_handling_seconds"
# Methods whose calls take as long as their clients want.
LASTING = ("Watch", "ServerReflectionInfo")
PROMTOOL_SECONDS = 170  # it takes 15, on a machine that does nothing else


def promtool(*arguments):
    done = subprocess.run(
        ["promtool", *map(str, arguments)], capture_output=True, text=True, timeout=PROMTOOL_SECONDS
    )
    return done.returncode, done.stdout + done.stderr


def alerts():
    """The rules of alerts; an alert may have several, told apart by their labels."""
    return [
        rule
        for file in rule_files(DEPLOY)
        for group in yaml.safe_load(file.read_text(encoding="utf-8"))["groups"]
        for rule in group["rules"]
        if "alert" in rule
    ]


def anchors(page: str):
    """The anchors of a Markdown page's headings, as GitHub makes them."""
    for heading in re.findall(r"^#+ (.+)$", page, re.MULTILINE):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


class Rules(unittest.TestCase):
    def test_promtool_reads_the_configuration_and_the_rules(self):
        status, said = promtool("check", "config", DEPLOY / "prometheus/prometheus.yml")
        self.assertEqual(0, status, said)
        self.assertIn(f"{len(rule_files(DEPLOY))} rule files found", said)

    def test_alerts_fire_and_keep_quiet_as_alerts_test_says(self):
        status, said = promtool("test", "rules", *CASES)
        self.assertEqual(0, status, said)

    def test_each_alert_has_a_case_that_fires_and_one_that_does_not(self):
        fired, quiet = [], set()
        for cases in CASES:
            for test in yaml.safe_load(cases.read_text(encoding="utf-8"))["tests"]:
                for case in test["alert_rule_test"]:
                    name, found = case["alertname"], case["exp_alerts"]
                    fired += [{"alertname": name, **alert["exp_labels"]} for alert in found]
                    if not found:
                        quiet.add(name)
        for rule in alerts():
            own = {"alertname": rule["alert"], **rule["labels"]}
            with self.subTest(**own):
                self.assertTrue(any(own.items() <= labels.items() for labels in fired))
        self.assertEqual({rule["alert"] for rule in alerts()}, quiet)


class Slow(unittest.TestCase):
    """WarpfoldSlow on every method that the server counts."""

    MINUTES = 20

    def series(self, metric, label, method):
        """A call of 40 s every minute: too long, whatever it does."""
        for le, calls in (("30", 0), ("60", 1), ("+Inf", 1)):
            name = f'{metric}_bucket{{job="warpfold", {label}="{method}", le="{le}"}}'
            yield {"series": name, "values": f"0+{calls}x{self.MINUTES}"}

    def test_goes_off_for_each_method_that_is_to_end(self):
        header = (DEPLOY / "../server/observe/metrics/method.h").read_text(encoding="utf-8")
        methods = re.findall(r'\{Method::k\w+, "(\w+)"', header)
        tensors = int(re.search(r"kTensorMethodCount = (\d+);", header)[1])
        self.assertGreater(len(methods), tensors)
        calls = [x for m in methods for x in self.series(CALLS, "grpc_method", m)]
        requests = [x for m in methods[:tensors] for x in self.series(REQUESTS, "method", m)]
        firing = 'ALERTS{alertname="WarpfoldSlow", alertstate="firing"}'
        case = {
            "interval": "1m",
            "input_series": calls + requests,
            "promql_expr_test": [
                {
                    "expr": f"count by (method) ({firing})",
                    "eval_time": f"{self.MINUTES}m",
                    "exp_samples": [
                        {"labels": f'{{method="{m}"}}', "value": 1}
                        for m in methods
                        if m not in LASTING
                    ],
                }
            ],
        }
        rules = (DEPLOY / "prometheus/rules/warpfold.yml").resolve()
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            yaml.safe_dump({"rule_files": [str(rules)], "tests": [case]}, file)
            file.flush()
            status, said = promtool("test", "rules", file.name)
        self.assertEqual(0, status, said)


class Runbook(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        page = (DEPLOY / "../docs/operations.md").read_text(encoding="utf-8")
        cls.anchors = set(anchors(page))
        sections = re.split(r"^### ", page, flags=re.MULTILINE)
        cls.sections = {section.split("\n", 1)[0]: section for section in sections}
        cls.boards = [
            dashboard.load(file) for file in sorted((DEPLOY / "grafana/dashboards").glob("*.json"))
        ]
        cls.panels = [panel for board in cls.boards for panel in dashboard.panels(board)]

    def test_each_alert_has_its_section(self):
        for rule in alerts():
            name = rule["alert"]
            with self.subTest(alert=name):
                self.assertEqual(
                    f"{DOCS_URL}/operations.md#{name.lower()}", rule["annotations"]["runbook_url"]
                )
                self.assertIn(name.lower(), self.anchors)

    def test_each_section_says_what_to_look_at_and_what_to_do(self):
        for rule in alerts():
            with self.subTest(alert=rule["alert"]):
                for part in ("Symptom", "Look at", "Do"):
                    self.assertRegex(self.sections[rule["alert"]], rf"(?m)^- \*{part}\.\* \S")

    def test_a_panel_that_a_section_names_is_there(self):
        titles = {panel["title"] for panel in self.panels}
        titles |= {mark["name"] for board in self.boards for mark in board["annotations"]["list"]}
        found = 0
        for rule in alerts():
            section = re.sub(r"\s+", " ", self.sections[rule["alert"]])
            for name in re.findall(r'"([A-Z][^"]*)"', section):
                with self.subTest(alert=rule["alert"], panel=name):
                    self.assertIn(name, titles)
                    found += 1
        self.assertGreater(found, len(alerts()))

    def test_each_alert_has_a_panel_that_leads_to_its_section(self):
        links = [link for panel in self.panels for link in panel.get("links", [])]
        linked = {link["url"].partition("#")[2] for link in links}
        self.assertEqual(set(), {rule["alert"].lower() for rule in alerts()} - linked)

    def test_compose_serves_it_where_the_alerts_say(self):
        grafana = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))["services"][
            "grafana"
        ]
        address = urlsplit(DOCS_URL)
        host_port = f"{address.hostname}:${{GRAFANA_PORT:-{address.port}}}:3000"
        self.assertEqual([host_port], grafana["ports"])
        self.assertIn(f"../docs:/usr/share/grafana{address.path}:ro", grafana["volumes"])

    def test_each_link_of_a_panel_has_its_section(self):
        found = 0
        for file in sorted((DEPLOY / "grafana/dashboards").glob("*.json")):
            for panel in dashboard.panels(dashboard.load(file)):
                for link in panel.get("links", []):
                    with self.subTest(dashboard=file.name, panel=panel["title"]):
                        page, _, anchor = link["url"].partition("#")
                        self.assertEqual("${docs}/operations.md", page)
                        self.assertIn(anchor, self.anchors)
                        found += 1
        self.assertGreater(found, len(alerts()))


if __name__ == "__main__":
    DEPLOY = Path(sys.argv[1])
    del sys.argv[1]
    unittest.main()
