"""Checks the compose files: they hold the containers down, fit the server's options, and agree with
Prometheus, Grafana and the image on ports.

Usage: compose_test.py WARPFOLD_SERVER WARPFOLD_CLI DEPLOY_FOLDER [unittest's arguments]
"""

import math
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import yaml
from memory import (
    GIB,
    MIB,
    default,
    limit_for_cuda,
    limit_for_the_cpu,
    set_aside_on_the_cpu,
)
from processes import Server
from stack import prometheus_configuration

SERVER = CLI = ""
DEPLOY = Path(".")


def read(name: str) -> str:
    return (DEPLOY / name).read_text(encoding="utf-8")


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

    def comments(self):
        return " ".join(read(".env.example").replace("\n#", "").split())

    def test_the_memory_holds_what_the_servers_limits_let_it_take(self):
        gib = re.fullmatch(r"(\d+)g", self.example()["WARPFOLD_MEMORY"])[1]
        enough = rf"{gib}g is enough for (\d+) processors"
        self.assertRegex(self.comments(), enough)
        processors = int(re.search(enough, self.comments())[1])
        self.assertGreater(int(gib) * GIB, limit_for_the_cpu(DEPLOY, processors))
        self.assertLess(int(gib) * GIB, limit_for_the_cpu(DEPLOY, processors + 1))
        self.assertGreater(int(gib) * GIB, limit_for_cuda(DEPLOY))

    def test_the_example_says_what_the_server_says(self):
        workers = 4
        command = [SERVER, "--check", "--backend=cpu", f"--workers-per-device={workers}"]
        ports = ["--listen-address=127.0.0.1:0", "--metrics-address=none"]
        said = subprocess.run(command + ports, capture_output=True, text=True, timeout=60).stdout
        set_aside = int(re.search(r"host +memory: .* = (\d+) MiB, ", said)[1])
        self.assertEqual(set_aside, set_aside_on_the_cpu(DEPLOY, workers) // MIB)
        more = limit_for_the_cpu(DEPLOY, workers + 1) - limit_for_the_cpu(DEPLOY, workers)
        stream = sum(
            default(DEPLOY, field)
            for field in ("staging_buffer_bytes", "scratch_bytes", "max_result_bytes")
        )
        text = self.comments()
        self.assertIn(f"{set_aside} MiB on the CPU backend with {workers} workers", text)
        self.assertIn(f"each takes up to {stream // MIB} MiB", text)
        self.assertIn(f"one more takes {math.ceil(more / MIB)} MiB of limit", text)

    def test_a_gpu_server_never_falls_back_and_a_cpu_server_is_asked_for(self):
        backends = {
            name: service["environment"]["WARPFOLD_BACKEND"]
            for name, service in self.services()
            if name.startswith("server")
        }
        self.assertEqual({"server": "cuda", "server-cpu": "cpu"}, backends)

    def test_the_cpu_file_hides_the_alerts_on_a_cpu(self):
        folders = {
            Path(pattern).parent for pattern in prometheus_configuration(DEPLOY)["rule_files"]
        }
        self.assertEqual({Path("rules"), Path("gpu")}, folders)
        mounted = "./prometheus:/etc/prometheus:ro"
        self.assertIn(
            mounted, yaml.safe_load(read("compose.yaml"))["services"]["prometheus"]["volumes"]
        )
        cpu = yaml.safe_load(read("compose.cpu.yaml"))["services"]["prometheus"]
        self.assertEqual({"tmpfs": ["/etc/prometheus/gpu"]}, cpu)

    def test_a_server_may_compile_kernels_for_a_quarter_of_an_hour(self):
        for name, service in self.services():
            if name.startswith("server"):
                self.assertEqual("15m", service["healthcheck"]["start_period"], name)
        self.assertIn(" --start-period=15m ", read("../Dockerfile"))

    def test_compiled_kernels_are_kept_in_a_folder_that_the_server_may_write(self):
        content = yaml.safe_load(read("compose.yaml"))
        server = content["services"]["server"]
        volume, _, folder = server["volumes"][0].partition(":")
        self.assertIn(volume, content["volumes"])
        self.assertEqual(folder, server["environment"]["CUDA_CACHE_PATH"])
        # A named volume starts with the owner that the folder has in the image.
        made = re.search(r"install -d -o (\d+) -g (\d+) (\S+)", read("../Dockerfile"))
        self.assertEqual(folder, made[3])
        self.assertIn(f"USER {made[1]}:{made[2]}\n", read("../Dockerfile"))

    def test_options_that_are_named_are_there(self):
        there = {"--ipc", "--scale"}  # docker's own
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


class Image(unittest.TestCase):
    """The image is built from what .dockerignore lets through."""

    def test_each_script_and_list_of_the_build_is_let_through(self):
        used = set(re.findall(r"deploy/([\w-]+\.(?:sh|txt|py))", read("../Dockerfile")))
        used |= set(re.findall(r'\$\(dirname "\$0"\)/([\w.-]+)', read("stage.sh")))
        used |= set(re.findall(r"^-r (\S+)$", read("packages.txt"), re.MULTILINE))
        self.assertIn("licenses.py", used)
        let_through = re.findall(r"^!deploy/(\S+)$", read("../.dockerignore"), re.MULTILINE)
        self.assertEqual(set(), used - set(let_through))


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
        self.assertEqual(grpc, self.port(dockerfile, r"WARPFOLD_LISTEN_ADDRESS=0\.0\.0\.0:(\d+)"))
        self.assertEqual(grpc, self.port(dockerfile, r"--server=127\.0\.0\.1:(\d+)"))
        metrics = self.port(common, r"--metrics-address=0\.0\.0\.0:(\d+)")
        self.assertEqual(metrics, self.port(dockerfile, r"METRICS_ADDRESS=0\.0\.0\.0:(\d+)"))
        self.assertEqual(metrics, self.port(prometheus, r'names: \["server"\]\n.*\n +port: (\d+)'))
        self.assertEqual(f"{grpc} {metrics}", self.port(dockerfile, r"EXPOSE (\d+ \d+)"))

    def test_grafana_asks_the_prometheus_that_compose_starts(self):
        source = read("grafana/provisioning/datasources/prometheus.yaml")
        self.assertEqual("9090", self.port(source, r"http://prometheus:(\d+)"))
        self.assertIn("127.0.0.1:${PROMETHEUS_PORT:-9090}:9090", read("compose.yaml"))


if __name__ == "__main__":
    SERVER, CLI, DEPLOY = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    del sys.argv[1:4]
    unittest.main()
