"""Checks deploy/ against a running server.

Every metric and label that the dashboard asks for is on the server's own page, and the ports that
the compose files, Prometheus, Grafana and the image name are one another's.

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
import yaml
from load import write_npy
from memory import GIB, most_on_cuda, most_on_the_cpu
from processes import Server
from record import recording, scraped
from stack import fake_gpus, played_back

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


class Dashboards(unittest.TestCase):
    def test_ask_for_metrics_that_the_server_has(self):
        page = served_page()
        self.assertEqual(3, len(dashboards()))
        for name, content in dashboards().items():
            expressions = [expression for _, expression in dashboard.queries(content)]
            expressions += [metric for _, metric, _ in dashboard.variables(content)]
            self.assertGreater(len(expressions), 10, name)
            for expression in expressions:
                with self.subTest(dashboard=name, expression=expression):
                    self.assertEqual([], list(dashboard.missing(expression, page)))

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


class Compose(unittest.TestCase):
    """Every container is held down, whichever file it is in."""

    FILES = ("common.yaml", "compose.yaml", "compose.cpu.yaml", "compose.tls.yaml")

    def services(self):
        common = yaml.safe_load(read("common.yaml"))["services"]
        for file in ("compose.yaml", "compose.cpu.yaml"):
            for name, service in yaml.safe_load(read(file))["services"].items():
                if "extends" in service:
                    yield name, {**common[service["extends"]["service"]], **service}

    def test_services_have_no_more_than_they_need(self):
        names = [name for name, _ in self.services()]
        self.assertEqual(["server", "prometheus", "grafana", "dcgm-exporter", "server-cpu"], names)
        for name, service in self.services():
            with self.subTest(service=name):
                self.assertTrue(service["read_only"])
                self.assertEqual(["ALL"], service["cap_drop"])
                self.assertEqual(["no-new-privileges:true"], service["security_opt"])
                for limit in ("mem_limit", "cpus", "pids_limit"):
                    self.assertIn(limit, service)
                # docker compose refuses it beside pids_limit.
                self.assertNotIn("limits", service.get("deploy", {}).get("resources", {}))
                self.assertRegex(service["image"], r":(v?\d+\.\d+\.\d+[\w.-]*|gpu|cpu)$")
                if name != "dcgm-exporter":  # its image has nothing to ask with
                    self.assertIn("healthcheck", service)

    def example(self):
        return dict(re.findall(r"^(\w+)=(.*)$", read(".env.example"), re.MULTILINE))

    def test_the_memory_holds_what_the_servers_limits_let_it_take(self):
        gib = re.fullmatch(r"(\d+)g", self.example()["WARPFOLD_MEMORY"])[1]
        enough = rf"{gib}g is enough for (\d+) processors"
        self.assertRegex(read(".env.example"), enough)
        processors = int(re.search(enough, read(".env.example"))[1])
        self.assertGreater(int(gib) * GIB, most_on_the_cpu(DEPLOY, processors))
        self.assertGreater(int(gib) * GIB, most_on_cuda(DEPLOY))

    def test_options_that_are_named_are_there(self):
        there = {"--ipc"}  # docker run's
        for command in ([SERVER], [CLI], [CLI, "health"]):
            done = subprocess.run([*command, "--help"], check=True, stdout=subprocess.PIPE)
            there |= set(re.findall(r"--[a-z][a-z-]*", done.stdout.decode()))
        files = ("common.yaml", ".env.example", "kubernetes/base/deployment.yaml")
        for name in (*files, "kubernetes/overlays/cpu/deployment.yaml"):
            with self.subTest(file=name):
                self.assertLessEqual(set(re.findall(r"--[a-z][a-z-]*", read(name))), there)

    def test_the_example_settings_are_the_defaults(self):
        example = self.example()
        files = "".join(map(read, self.FILES))
        self.assertEqual(dict(re.findall(r"\$\{(\w+):-([^}]*)\}", files)), example)


def issue(folder: Path):
    """What compose.tls.yaml takes for secrets: a certificate of `localhost` that signs itself."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30"]
        + ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
        + ["-keyout", folder / "tls_key", "-out", folder / "tls_cert"],
        check=True,
        stderr=subprocess.DEVNULL,
    )
    (folder / "tls_ca").write_bytes((folder / "tls_cert").read_bytes())


class Tls(unittest.TestCase):
    """compose.tls.yaml, with files of this machine for the secrets."""

    def served(self, settings, healthcheck):
        """Exit code of the health check's command against a server with the file's environment."""
        service = yaml.safe_load(read("compose.tls.yaml"))["services"]["server"]
        with tempfile.TemporaryDirectory() as scratch:
            issue(Path(scratch))

            def here(text: str) -> str:
                text = re.sub(r"\$\{(\w+):-([^}]*)\}", lambda m: settings.get(m[1], m[2]), text)
                return text.replace("/run/secrets", scratch)

            environment = {name: here(value) for name, value in service["environment"].items()}
            server = Server(SERVER, Path(scratch), **environment)
            try:
                command = [here(word) for word in service["healthcheck"]["test"]]
                self.assertEqual(["CMD", "warpfold"], command[:2])
                flags = [
                    flag.replace(":50051", f":{server.port}") for flag in healthcheck(command[2:])
                ]
                return subprocess.run([CLI, *flags], capture_output=True, timeout=30).returncode
            finally:
                server.close()

    def test_the_server_is_healthy(self):
        self.assertEqual(0, self.served({}, lambda flags: flags))

    def test_plain_text_and_strangers_are_not_served(self):
        def bare(flags):
            return [flag for flag in flags if not flag.startswith("--tls")]

        def stranger(flags):
            return [flag for flag in flags if not flag.startswith(("--tls-cert", "--tls-key"))]

        mutual = {"WARPFOLD_TLS_CLIENT_CA": "/run/secrets/tls_ca"}
        self.assertEqual(0, self.served(mutual, lambda flags: flags))
        self.assertNotEqual(0, self.served({}, bare))
        self.assertEqual(0, self.served({}, stranger))
        self.assertNotEqual(0, self.served(mutual, stranger))

    def test_its_secrets_are_what_it_names(self):
        content = yaml.safe_load(read("compose.tls.yaml"))
        used = set(re.findall(r"/run/secrets/(\w+)", read("compose.tls.yaml")))
        self.assertEqual(set(content["secrets"]), used)
        for service in content["services"].values():
            self.assertEqual(set(service["secrets"]), used)


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
        self.assertEqual(grpc, self.port(common, r":(\d+)\"\n    restart"))
        self.assertEqual(grpc, self.port(common, r"WARPFOLD_PORT:-(\d+)"))
        self.assertEqual(grpc, self.port(dockerfile, r"--listen-address=0\.0\.0\.0:(\d+)"))
        self.assertEqual(grpc, self.port(dockerfile, r"--server=127\.0\.0\.1:(\d+)"))
        metrics = self.port(common, r"--metrics-address=0\.0\.0\.0:(\d+)")
        self.assertEqual(metrics, self.port(dockerfile, r"--metrics-address=0\.0\.0\.0:(\d+)"))
        self.assertEqual(metrics, self.port(prometheus, r"server:(\d+)"))
        self.assertEqual(f"{grpc} {metrics}", self.port(dockerfile, r"EXPOSE (\d+ \d+)"))

    def test_grafana_asks_the_prometheus_that_compose_starts(self):
        source = read("grafana/provisioning/datasources/prometheus.yaml")
        self.assertEqual("9090", self.port(source, r"http://prometheus:(\d+)"))
        self.assertIn("127.0.0.1:${PROMETHEUS_PORT:-9090}:9090", read("compose.yaml"))


if __name__ == "__main__":
    SERVER, CLI, DEPLOY = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    del sys.argv[1:4]
    unittest.main()
