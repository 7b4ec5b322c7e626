"""Checks deploy/ against a running server.

Every metric and label that the dashboard asks for is on the server's own page, and the ports that
the compose files, Prometheus, Grafana and the image name are one another's.

Usage: deploy_test.py WARPFOLD_SERVER WARPFOLD_CLI DEPLOY_FOLDER [unittest's arguments]
"""

import re
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path

import dashboard

SERVER = CLI = ""
DEPLOY = Path(".")


def write_npy(path: Path, values):
    """A float32 vector as NumPy writes it."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(values)},), }}".encode()
    header += b" " * (63 - (len(header) + 10) % 64) + b"\n"
    path.write_bytes(
        b"\x93NUMPY\x01\x00"
        + struct.pack("<H", len(header))
        + header
        + struct.pack(f"<{len(values)}f", *values)
    )


def read(name: str) -> str:
    return (DEPLOY / name).read_text(encoding="utf-8")


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


class Dashboards(unittest.TestCase):
    def test_ask_for_metrics_that_the_server_has(self):
        page = self.metrics_of_a_server_with_one_request()
        files = sorted((DEPLOY / "grafana" / "dashboards").glob("*.json"))
        self.assertTrue(files)
        for file in files:
            expressions = list(dashboard.expressions(file))
            self.assertGreater(len(expressions), 10, file)
            for expression in expressions:
                with self.subTest(dashboard=file.name, expression=expression):
                    self.assertEqual([], list(dashboard.missing(expression, page)))

    def metrics_of_a_server_with_one_request(self) -> str:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            port_file, log, tensor = folder / "ports", folder / "log", folder / "tensor.npy"
            write_npy(tensor, [1, 2, 3, 4])
            with log.open("w") as log_stream:
                server = subprocess.Popen(
                    [
                        SERVER,
                        "--backend=cpu",
                        "--listen-address=127.0.0.1:0",
                        "--metrics-address=127.0.0.1:0",
                        f"--port-file={port_file}",
                    ],
                    stdout=log_stream,
                    stderr=subprocess.STDOUT,
                )
            try:
                for _ in range(300):
                    if port_file.exists() or server.poll() is not None:
                        break
                    time.sleep(0.1)
                self.assertTrue(port_file.exists(), log.read_text())
                ports = [int(word) for word in re.findall(r"\d+", port_file.read_text())]
                self.assertEqual(2, len(ports), port_file.read_text())
                subprocess.run(
                    [CLI, "reduce", str(tensor), "--op", "sum", f"--server=127.0.0.1:{ports[0]}"],
                    check=True,
                    stdout=subprocess.DEVNULL,
                    timeout=30,
                )
                url = f"http://127.0.0.1:{ports[1]}/metrics"
                with urllib.request.urlopen(url, timeout=10) as answer:
                    return answer.read().decode()
            finally:
                server.terminate()
                self.assertEqual(0, server.wait(timeout=30), log.read_text())


class Ports(unittest.TestCase):
    def port(self, text: str, pattern: str) -> str:
        found = set(re.findall(pattern, text))
        self.assertEqual(1, len(found), f"{pattern} in {text}")
        return found.pop()

    def test_are_the_same_everywhere(self):
        common, prometheus = read("common.yaml"), read("prometheus/prometheus.yml")
        dockerfile = read("../Dockerfile")
        grpc = self.port(common, r"--listen-address=0\.0\.0\.0:(\d+)")
        self.assertEqual(grpc, self.port(common, r"--server=127\.0\.0\.1:(\d+)"))
        self.assertEqual(grpc, self.port(common, r":(\d+):\d+\""))
        self.assertEqual(grpc, self.port(dockerfile, r"--listen-address=0\.0\.0\.0:(\d+)"))
        self.assertEqual(grpc, self.port(dockerfile, r"--server=127\.0\.0\.1:(\d+)"))
        metrics = self.port(common, r"--metrics-address=0\.0\.0\.0:(\d+)")
        self.assertEqual(metrics, self.port(dockerfile, r"--metrics-address=0\.0\.0\.0:(\d+)"))
        self.assertEqual(metrics, self.port(prometheus, r"server:(\d+)"))
        self.assertEqual(f"{grpc} {metrics}", self.port(dockerfile, r"EXPOSE (\d+ \d+)"))

    def test_grafana_asks_the_prometheus_that_compose_starts(self):
        source = read("grafana/provisioning/datasources/prometheus.yaml")
        self.assertEqual("9090", self.port(source, r"http://prometheus:(\d+)"))
        self.assertIn("127.0.0.1:9090:9090", read("compose.yaml"))
        uid = self.port(source, r"uid: (\w+)")
        uids = set(
            re.findall(
                r'"type": "prometheus",\s*"uid": "(\w+)"', read("grafana/dashboards/warpfold.json")
            )
        )
        self.assertEqual({uid}, uids)


if __name__ == "__main__":
    SERVER, CLI, DEPLOY = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    del sys.argv[1:4]
    unittest.main()
