"""Runs every query of deploy/ against a server under load, through a real Prometheus.

A panel, annotation, variable or rule whose query is refused or finds nothing fails.

Usage: live_test.py WARPFOLD_SERVER WARPFOLD_CLI DEPLOY_FOLDER [unittest's arguments]
"""

import contextlib
import math
import re
import sys
import tempfile
import unittest
from pathlib import Path

import dashboard
import yaml
from load import Load
from processes import Server, await_that
from stack import Prometheus, fake_gpus, rule_files, scraping

SERVER = CLI = ""
DEPLOY = Path(".")
STREAM_BYTES = 4 << 20
SCRAPE_INTERVAL, RATE_INTERVAL = "500ms", "5s"
ANSWER_SECONDS = 60

# What nobody answers here, by where it stands, and why. One that does answer has to leave.
UNANSWERED = {
    "Alerts": "no alert goes off while all is well",
    "Bandwidth of a copy to the device": "the CPU backend copies nothing to a device",
    "Certificate ends in": "the server has no TLS",
    "DCGM: memory at work": "dcgm-exporter serves it, and needs a GPU",
    "DCGM: last XID error": "dcgm-exporter serves it, and needs a GPU",
    "Requests a batch": "the CPU backend does not batch",
}


def dashboards():
    return {
        file.name: dashboard.load(file)
        for file in sorted((DEPLOY / "grafana/dashboards").glob("*.json"))
    }


def panel_queries(boards):
    """(dashboard, where, expression) of all of them."""
    return [
        (name, where, dashboard.filled(expression, RATE_INTERVAL))
        for name, content in boards.items()
        for where, expression in dashboard.queries(content)
    ]


def rule_queries():
    """The same of recording and alert rules."""
    for file in rule_files(DEPLOY):
        for group in yaml.safe_load(file.read_text(encoding="utf-8"))["groups"]:
            for rule in group["rules"]:
                if "alert" in rule:
                    for alternative in alternatives(rule["expr"]):
                        yield file.name, rule["alert"], always_answering(alternative)
                else:
                    yield file.name, rule["record"], rule["expr"]


def alternatives(alert: str):
    """The expressions any of which sets off the alert; absent() is there to answer nothing."""
    return [alert] if "absent(" in alert else alert.split(" or ")


def always_answering(alert: str) -> str:
    """The alert's expression with an answer, 0 or 1, for each series instead of a filter."""
    return re.sub(r" (==|!=|>=|<=|>|<) ", r" \1 bool ", alert)


def answers(prometheus, expression: str) -> bool:
    """Whether Prometheus finds a number. ValueError: it refuses the expression."""
    result = prometheus.ask("query", query=expression)["result"]
    return any(math.isfinite(float(sample["value"][1])) for sample in result)


def renamed(expression: str, metric: str) -> str:
    return re.sub(rf"(?<![\w:]){re.escape(metric)}(?![\w:])", f"{metric}_renamed", expression)


class Live(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with contextlib.ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            server = Server(
                SERVER, folder, f"--max-message-bytes={STREAM_BYTES}", **fake_gpus(folder)
            )
            stack.callback(server.close)
            cls.prometheus = Prometheus(
                folder, scraping(DEPLOY, server.metrics_port, SCRAPE_INTERVAL)
            )
            stack.callback(cls.prometheus.close)
            cls.load = Load(CLI, server.port, folder, STREAM_BYTES)
            stack.callback(cls.load.close)
            cls.unanswered = cls.answer_all()
            cls.stack = stack.pop_all()

    @classmethod
    def tearDownClass(cls):
        cls.stack.close()

    @classmethod
    def answer_all(cls):
        """Asks until all but the exceptions have answered once; what never did."""
        left = [*panel_queries(dashboards()), *rule_queries()]

        def lacks_answer(query):
            try:
                return not answers(cls.prometheus, query[2])
            except ValueError as error:
                raise ValueError(f"{query[0]}, {query[1]}: {error}: {query[2]}") from None

        def ask_the_rest():
            left[:] = filter(lacks_answer, left)
            return all(where in UNANSWERED for _, where, _ in left)

        with contextlib.suppress(TimeoutError):  # the tests say what is left
            await_that(ask_the_rest, "every answer", ANSWER_SECONDS)
        return left

    def test_every_query_is_answered(self):
        self.assertGreater(len(panel_queries(dashboards())), 50)
        self.assertGreater(len(list(rule_queries())), 10)
        for file, where, expression in self.unanswered:
            if where not in UNANSWERED:
                with self.subTest(file=file, where=where):
                    self.fail(f"no answer to {expression}")

    def test_no_exception_is_stale(self):
        self.assertEqual(set(), set(UNANSWERED) - {where for _, where, _ in self.unanswered})

    def test_a_renamed_metric_is_caught(self):
        answered = [
            query
            for query in [*panel_queries(dashboards()), *rule_queries()]
            # absent() is there to answer when a metric is gone.
            if query[1] not in UNANSWERED and "absent(" not in query[2]
        ]
        for file, where, expression in answered:
            for metric in dashboard.selections(expression):
                broken = renamed(expression, metric)
                with self.subTest(file=file, where=where, expression=broken):
                    self.assertFalse(answers(self.prometheus, broken))

    def test_a_broken_expression_is_refused(self):
        with self.assertRaisesRegex(ValueError, "parse error"):
            answers(self.prometheus, "sum(rate(warpfold_requests_total)")

    def test_every_variable_has_values(self):
        for file, content in dashboards().items():
            found = list(dashboard.variables(content))
            self.assertTrue(found, file)
            for name, metric, label in found:
                with self.subTest(file=file, variable=name):
                    self.assertTrue(
                        self.prometheus.ask(f"label/{label}/values", **{"match[]": metric})
                    )

    def test_prometheus_evaluates_every_rule(self):
        def unwell():
            return [
                (rule["name"], rule["health"], rule.get("lastError"))
                for group in self.prometheus.ask("rules")["groups"]
                for rule in group["rules"]
                if rule["health"] != "ok"
            ]

        with contextlib.suppress(TimeoutError):  # the assertion says what is wrong
            await_that(lambda: not unwell(), "every rule evaluated")
        self.assertEqual([], unwell())

    def test_no_alert_goes_off(self):
        firing = [a for a in self.prometheus.ask("alerts")["alerts"] if a["state"] == "firing"]
        self.assertEqual([], firing)

    def test_the_load_went_as_meant(self):
        self.assertEqual([], self.load.unexpected)


if __name__ == "__main__":
    SERVER, CLI, DEPLOY = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    del sys.argv[1:4]
    unittest.main()
