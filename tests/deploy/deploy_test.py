"""Checks what deploy/ shows of a running server.

Every metric and label that the dashboards ask for is on the server's own page, and every metric
there is one that a dashboard, a rule or a program reads.

Usage: deploy_test.py WARPFOLD_SERVER WARPFOLD_CLI DEPLOY_FOLDER [unittest's arguments]
"""

import functools
import re
import subprocess
import sys
import tempfile
import unittest
from array import array
from pathlib import Path

import dashboard
import units
import yaml
from load import write_npy
from processes import Server
from record import recording, scraped
from stack import fake_gpus, played_back, rule_files

SERVER = CLI = ""
DEPLOY = Path(".")


def read(name: str) -> str:
    return (DEPLOY / name).read_text(encoding="utf-8")


def dashboards():
    files = sorted((DEPLOY / "grafana" / "dashboards").glob("*.json"))
    return {file.name: dashboard.load(file) for file in files}


@functools.cache
def served_page() -> str:
    """The metrics of a server that sees GPUs and has answered a request."""
    with tempfile.TemporaryDirectory() as scratch:
        tensor = Path(scratch) / "tensor.npy"
        write_npy(tensor, array("f", [1, 2, 3, 4]))
        server = Server(SERVER, Path(scratch), **fake_gpus(Path(scratch)))
        try:
            subprocess.run(
                [CLI, "reduce", tensor, "--op", "sum", f"--server=127.0.0.1:{server.port}"],
                check=True,
                stdout=subprocess.DEVNULL,
                timeout=30,
            )
            return server.page()
        finally:
            server.close()


class Page(unittest.TestCase):
    def found_by_promtool(self, page: str):
        done = subprocess.run(
            ["promtool", "check", "metrics"], input=page, capture_output=True, text=True, timeout=60
        )
        return done.returncode, done.stdout + done.stderr

    def test_follows_prometheus_conventions(self):
        self.assertEqual((0, ""), self.found_by_promtool(served_page()))

    def test_is_as_large_as_the_documentation_says(self):
        said = re.search(r"A scrape is some (\d+) KB", read("../docs/metrics.md"))[1]
        with tempfile.TemporaryDirectory() as scratch:
            server = Server(SERVER, Path(scratch))
            try:
                size = len(server.page())
            finally:
                server.close()
        self.assertAlmostEqual(1, size / (int(said) * 1000), delta=0.05)

    def test_a_metric_that_does_not_is_found(self):
        bad = "# HELP a_milliseconds Time.\n# TYPE a_milliseconds counter\na_milliseconds 1\n"
        self.assertNotEqual(0, self.found_by_promtool(bad)[0])


class Recording(unittest.TestCase):
    """What the dashboards' pictures are drawn from."""

    def test_prometheus_has_it_when_it_was(self):
        lines = [*scraped(served_page(), 1000), *scraped(served_page(), 1001)]
        asked = 'warpfold_requests_total{job="warpfold",instance!="",op="sum",code="OK"} > 0'
        with played_back(recording(lines)) as (prometheus, start, end):
            self.assertEqual((1000, 1001), (start, end))
            found = prometheus.ask("query_range", query=asked, start=start, end=end, step=1)
        self.assertEqual([[1000, "1"], [1001, "1"]], found["result"][0]["values"])


class ReadingADashboard(unittest.TestCase):
    PAGE = (
        "# HELP a_total Help.\n# TYPE a_total counter\n"
        'a_total{code="OK",method="Reduce"} 3\n'
        'b_seconds_bucket{stage="queue",le="0.1"} 1\n'
        "depth 0\n"
    )

    def missing(self, expression):
        return list(dashboard.missing(expression, self.PAGE))

    def test_what_is_there_is_found(self):
        for expression in (
            'sum by (method) (rate(a_total{instance=~"$instance",code!="OK"}[$__rate_interval]))',
            "histogram_quantile(0.9, sum by (le, stage) (rate(b_seconds_bucket[5m]))) or vector(0)",
            "depth / on (instance) depth > 1e-9",
        ):
            with self.subTest(expression=expression):
                self.assertEqual([], self.missing(expression))

    def test_what_is_not_there_is_missed(self):
        for expression, expected in (
            ("rate(a_totals[5m])", "no metric a_totals"),
            ("depht", "no metric depht"),
            ('a_total{state="x"}', "a_total has no label state"),
            ('a_total{code="Ok"}', "a_total has no code='Ok'"),
            ("sum by (op) (a_total)", "grouped by op, which none of its metrics has"),
        ):
            with self.subTest(expression=expression):
                self.assertEqual([expected], self.missing(expression))


class Units(unittest.TestCase):
    def test_only_times_and_powers_have_small_prefixes(self):
        for value, unit, expected in (
            (0.05, "reqps", "0.05 req/s"),
            (0.0, "reqps", "0 req/s"),
            (12345, "reqps", "12.35 kreq/s"),
            (0.25, "short", "0.25"),
            (2.5e6, "Bps", "2.5 MB/s"),
            (0.003, "s", "3 ms"),
            (5e-5, "s", "50 µs"),
            (0.02, "percentunit", "2%"),
        ):
            with self.subTest(value=value, unit=unit):
                self.assertEqual(expected, units.text(value, unit))

    def test_requests_a_second_are_shown_as_such(self):
        requests = re.compile(r"rate\((warpfold_requests_total|grpc_server_handled_total)\b")
        found = 0
        for name, content in dashboards().items():
            for panel in dashboard.panels(content):
                for target in panel["targets"]:
                    if requests.search(target["expr"]) and "/" not in target["expr"]:
                        with self.subTest(dashboard=name, panel=panel["title"]):
                            self.assertEqual("reqps", panel["fieldConfig"]["defaults"]["unit"])
                            found += 1
        self.assertGreater(found, 3)


# Methods whose calls take as long as their clients want.
LASTING = ("Watch", "ServerReflectionInfo")


def selects(selections, series):
    """Whether one of these selections takes one of these series, whatever the instance."""
    takes = {
        "=": lambda pattern, value: pattern == value,
        "!=": lambda pattern, value: pattern != value,
        "=~": lambda pattern, value: re.fullmatch(pattern, value),
        "!~": lambda pattern, value: not re.fullmatch(pattern, value),
    }
    return any(
        name in series
        and all(
            takes[operator](value, series[name][label])
            for label, operator, value in matchers
            if label != "instance"
        )
        for name, matchers in selections.items()
    )


class Dashboards(unittest.TestCase):
    def test_ask_for_metrics_that_the_server_has(self):
        page = served_page()
        self.assertEqual({"warpfold.json", "warpfold-details.json"}, set(dashboards()))
        for name, content in dashboards().items():
            expressions = [expression for _, expression in dashboard.queries(content)]
            expressions += [metric for _, metric, _ in dashboard.variables(content)]
            self.assertGreater(len(expressions), 10, name)
            for expression in expressions:
                with self.subTest(dashboard=name, expression=expression):
                    self.assertEqual([], list(dashboard.missing(expression, page)))

    def test_the_slowest_method_is_looked_for_among_all(self):
        header = read("../server/observe/metrics/method.h")
        facts = re.findall(r'\{Method::k\w+, "(\w+)", "(\w+)"', header)
        tensors = int(re.search(r"kTensorMethodCount = (\d+);", header)[1])
        self.assertGreater(len(facts), tensors)
        tile = next(
            panel
            for panel in dashboard.panels(dashboards()["warpfold.json"])
            if panel["title"] == "Slowest method, p99"
        )
        asked = [dashboard.selections(target["expr"]) for target in tile["targets"]]
        for index, (method, kind) in enumerate(facts):
            series = {
                "grpc_server_handling_seconds_bucket": {"grpc_method": method, "grpc_type": kind}
            }
            if index < tensors:
                series["warpfold_request_duration_seconds_bucket"] = {"method": method}
            with self.subTest(method=method):
                wanted = method not in LASTING
                self.assertEqual(wanted, any(selects(one, series) for one in asked))

    def test_the_first_is_read_in_a_minute(self):
        self.assertLessEqual(len(list(dashboard.panels(dashboards()["warpfold.json"]))), 16)

    def test_panels_say_what_they_show_and_in_what_unit(self):
        for name, content in dashboards().items():
            ids = [panel["id"] for panel in content["panels"]]
            self.assertEqual(len(ids), len(set(ids)), name)
            for panel in dashboard.panels(content):
                with self.subTest(dashboard=name, panel=panel["title"]):
                    self.assertTrue(panel["description"])
                    self.assertTrue(panel["fieldConfig"]["defaults"]["unit"])

    def test_ask_the_data_source_that_is_provisioned(self):
        provisioned = read("grafana/provisioning/datasources/prometheus.yaml")
        uid = re.search(r"uid: (\w+)", provisioned)[1]
        for name, content in dashboards().items():
            with self.subTest(dashboard=name):
                source = content["templating"]["list"][0]
                self.assertEqual(("datasource", uid), (source["name"], source["current"]["value"]))
                for panel in dashboard.panels(content):
                    self.assertEqual("${datasource}", panel["datasource"]["uid"])

    def test_link_to_each_other(self):
        uids = {content["uid"] for content in dashboards().values()}
        for name, content in dashboards().items():
            with self.subTest(dashboard=name):
                linked = {link["url"].removeprefix("/d/") for link in content["links"]}
                self.assertEqual(uids - {content["uid"]}, linked)


# What `warpfold watch` reads (client/cpp/cli/server_load.h).
READ_BY_THE_CLI = {
    "warpfold_requests_total",
    "warpfold_request_duration_seconds",
    "warpfold_payload_bytes_total",
    "warpfold_admission_refusals_total",
    "warpfold_requests_in_flight",
    "warpfold_queue_depth",
    "warpfold_workers",
}
# What perf_analyzer --collect-metrics reads (docs/kserve.md).
READ_BY_PERF_ANALYZER = {
    "nv_gpu_utilization",
    "nv_gpu_power_usage",
    "nv_gpu_memory_used_bytes",
    "nv_gpu_memory_total_bytes",
}
# Of the process, under the names that every Prometheus client gives them.
CUSTOMARY = "process_"


def used_metrics():
    """The metrics that a panel, a variable, an annotation, a rule or a program reads."""
    expressions = [
        rule["expr"]
        for file in rule_files(DEPLOY)
        for group in yaml.safe_load(file.read_text(encoding="utf-8"))["groups"]
        for rule in group["rules"]
    ]
    for content in dashboards().values():
        expressions += [expression for _, expression in dashboard.queries(content)]
        expressions += [metric for _, metric, _ in dashboard.variables(content)]
    used = READ_BY_THE_CLI | READ_BY_PERF_ANALYZER
    return used.union(*(dashboard.metrics(expression) for expression in expressions))


def unused(page: str):
    """The metrics on the page that nobody reads."""
    return {
        name for name in dashboard.families(page) - used_metrics() if not name.startswith(CUSTOMARY)
    }


class UsedMetrics(unittest.TestCase):
    def test_each_metric_is_read_somewhere(self):
        self.assertEqual(set(), unused(served_page()))

    def test_one_that_nobody_reads_is_found(self):
        planted = "# HELP warpfold_planted_total Help.\n# TYPE warpfold_planted_total counter\n"
        self.assertEqual({"warpfold_planted_total"}, unused(served_page() + planted))

    def test_a_histogram_is_read_by_its_buckets(self):
        self.assertEqual({"a_seconds"}, dashboard.metrics("rate(a_seconds_bucket[5m])"))

    def test_the_cli_reads_what_is_said_here(self):
        header = read("../client/cpp/cli/server_load.h")
        names = re.search(r"kMetricsRead\[\] = \{([^}]*)\}", header)[1]
        self.assertEqual(READ_BY_THE_CLI, set(re.findall(r'"(\w+)"', names)))


if __name__ == "__main__":
    SERVER, CLI, DEPLOY = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    del sys.argv[1:4]
    unittest.main()
