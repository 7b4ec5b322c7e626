"""Three servers under one name, as `docker compose up --scale server=3` makes them: deploy/'s own
Prometheus configuration finds each, and a client that asks for the name reaches each.

Docker's DNS answers with the address of every replica. Here a small DNS server does, in network and
mount namespaces of this test's own, where the servers listen at 127.0.0.2 to 127.0.0.4 on the ports
that compose gives them, and Prometheus reads deploy/prometheus/prometheus.yml as it stands. Where
no namespace can be made the test skips and says why; with CI set it fails.

Usage: replicas_test.py WARPFOLD_SERVER WARPFOLD_CLI DEPLOY_FOLDER [unittest's arguments]
"""

import contextlib
import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from name_server import NameServer
from processes import Process, Server, await_that
from stack import Prometheus

SERVER = CLI = ""
DEPLOY = Path(".")
SKIPPED = 77
NAME_SERVER = "127.0.0.1"
REPLICAS = ("127.0.0.2", "127.0.0.3", "127.0.0.4")
GRPC_PORT, METRICS_PORT = 50051, 9464
INSIDE = "WARPFOLD_TEST_IN_NAMESPACES"
# Anyone may make the first; within a chroot root alone, and only the second.
NAMESPACES = (
    ["unshare", "--user", "--map-root-user", "--net", "--mount"],
    ["unshare", "--net", "--mount"],
)


def find_namespaces():
    """The command that makes namespaces here, or None, and what keeps this process from it."""
    if not shutil.which("unshare"):
        return None, "unshare (util-linux) is not installed"
    for command in NAMESPACES:
        done = subprocess.run([*command, "true"], capture_output=True, text=True)
        if done.returncode == 0:
            return command, ""
    return None, done.stderr.strip()


def enter(folder: Path):
    """Brings the loopback device up and points /etc/resolv.conf to NAME_SERVER, in here alone."""
    sioc_set_flags, up = 0x8914, 0x1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, sioc_set_flags, struct.pack("16sH22x", b"lo", up))
    resolver = folder / "resolv.conf"
    resolver.write_text(f"nameserver {NAME_SERVER}\n")
    subprocess.run(["mount", "--bind", resolver, "/etc/resolv.conf"], check=True)


class Replicas(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with contextlib.ExitStack() as stack:
            cls.folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            enter(cls.folder)
            for address in REPLICAS:
                stack.callback(cls.start_server(address).close)
            cls.names = NameServer(NAME_SERVER, "server", REPLICAS)
            stack.callback(cls.names.close)
            cls.prometheus = Prometheus(cls.folder, DEPLOY / "prometheus/prometheus.yml")
            stack.callback(cls.prometheus.close)
            cls.stack = stack.pop_all()

    @classmethod
    def tearDownClass(cls):
        cls.stack.close()

    @classmethod
    def start_server(cls, address: str) -> Process:
        folder = cls.folder / address
        folder.mkdir()
        return Server(
            SERVER,
            folder,
            "--workers-per-device=1",
            listens=f"{address}:{GRPC_PORT}",
            shows=f"{address}:{METRICS_PORT}",
        )

    def found(self):
        """The servers whose pages Prometheus reads, by its own account."""
        result = self.prometheus.ask("query", query='up{job="warpfold"} == 1')["result"]
        return {sample["metric"]["instance"] for sample in result}

    def answered(self):
        """The requests that each server answered, as Prometheus knows it."""
        query = 'sum by (instance) (warpfold_requests_total{job="warpfold",code="OK"})'
        result = self.prometheus.ask("query", query=query)["result"]
        return {sample["metric"]["instance"]: float(sample["value"][1]) for sample in result}

    def test_prometheus_finds_each_and_forgets_one_that_went(self):
        every = {f"{address}:{METRICS_PORT}" for address in REPLICAS}
        await_that(lambda: self.found() == every, f"{every}")
        self.addCleanup(setattr, self.names, "addresses", REPLICAS)
        self.names.addresses = REPLICAS[:2]
        fewer = {f"{address}:{METRICS_PORT}" for address in REPLICAS[:2]}
        await_that(lambda: self.found() == fewer, f"{fewer}")

    def test_a_client_that_asks_for_the_name_reaches_each(self):
        server = f"--server=dns:///server:{GRPC_PORT}"
        flags = ["--method=unary", "--size=4KiB", "--clients=3", "--duration=1", "--warmup=0"]
        subprocess.run([CLI, server, "bench", *flags], check=True, timeout=60)
        await_that(
            lambda: len(self.answered()) == len(REPLICAS) and min(self.answered().values()) > 0,
            "requests at each server",
        )

    def test_no_alert_of_a_server_that_is_down(self):
        await_that(lambda: len(self.found()) == len(REPLICAS), "the servers")

        # Before the first scrape none is known: an evaluation then has the alert pend for a while.
        def is_quiet():
            alerts = self.prometheus.ask("alerts")["alerts"]
            return "WarpfoldDown" not in {alert["labels"]["alertname"] for alert in alerts}

        await_that(is_quiet, "an end of WarpfoldDown")


if __name__ == "__main__":
    if not os.environ.get(INSIDE):
        command, reason = find_namespaces()
        if command is None:
            print(f"replicas_test: no namespaces here: {reason}", file=sys.stderr)
            sys.exit(1 if os.environ.get("CI") else SKIPPED)
        environment = {**os.environ, INSIDE: "1"}
        os.execvpe(command[0], [*command, sys.executable, "-B", *sys.argv], environment)
    SERVER, CLI, DEPLOY = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    del sys.argv[1:4]
    unittest.main()
