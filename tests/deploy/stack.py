"""warpfold-server with a Prometheus that scrapes it, on free ports, as deploy/ configures them."""

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import yaml

START_SECONDS = 60  # far more than a start takes, on a machine that does much else


def await_that(condition, what: str, seconds: float = START_SECONDS):
    """Asks `condition` until it is true; its last answer. TimeoutError names `what`."""
    deadline = time.monotonic() + seconds
    while not (answer := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} not within {seconds} s")
        time.sleep(0.1)
    return answer


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Process:
    """A child with its log in a file; close() ends it by SIGTERM."""

    def __init__(self, command, log: Path, **environment: str):
        self._log = log
        with log.open("w") as stream:
            self._child = subprocess.Popen(
                command,
                stdout=stream,
                stderr=subprocess.STDOUT,
                env={**os.environ, **environment},
            )

    def running(self):
        if self._child.poll() is not None:
            raise RuntimeError(f"exit {self._child.returncode}: {self._log.read_text()}")
        return True

    def close(self):
        self._child.terminate()
        if (status := self._child.wait(timeout=60)) != 0:
            raise RuntimeError(f"exit {status}: {self._log.read_text()}")


def fake_gpus(folder: Path):
    """What makes a server see two GPUs, through a driver's library that is none."""
    driver = folder / "driver"
    driver.mkdir()
    shutil.copy(os.environ["WARPFOLD_FAKE_NVML"], driver / "libnvidia-ml.so.1")
    return {"LD_LIBRARY_PATH": str(driver)}


class Server(Process):
    def __init__(self, binary, folder: Path, *flags: str, **environment: str):
        port_file = folder / "ports"
        super().__init__(
            [
                str(binary),
                "--backend=cpu",
                "--listen-address=127.0.0.1:0",
                "--metrics-address=127.0.0.1:0",
                f"--port-file={port_file}",
                *flags,
            ],
            folder / "server.log",
            **environment,
        )
        await_that(lambda: self.running() and port_file.exists(), "the server's ports")
        self.port, self.metrics_port = (int(word) for word in port_file.read_text().split())

    def page(self) -> str:
        url = f"http://127.0.0.1:{self.metrics_port}/metrics"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.read().decode()


def configuration(deploy: Path, server_port: int, own_port: int, interval: str):
    """deploy/prometheus/prometheus.yml for ports and a pace of this machine."""
    config = yaml.safe_load((deploy / "prometheus/prometheus.yml").read_text(encoding="utf-8"))
    config["global"] = {"scrape_interval": interval, "evaluation_interval": interval}
    config["rule_files"] = [
        str((deploy / "prometheus").resolve() / pattern) for pattern in config["rule_files"]
    ]
    ports = {"warpfold": server_port, "prometheus": own_port}
    jobs = [job for job in config["scrape_configs"] if job["job_name"] in ports]
    for job in jobs:
        job["static_configs"][0]["targets"] = [f"127.0.0.1:{ports[job['job_name']]}"]
    config["scrape_configs"] = jobs
    return config


class Prometheus(Process):
    def __init__(self, deploy: Path, server: Server, folder: Path, interval: str):
        self._port = free_port()
        config = folder / "prometheus.yml"
        config.write_text(
            yaml.safe_dump(configuration(deploy, server.metrics_port, self._port, interval))
        )
        super().__init__(
            [
                "prometheus",
                f"--config.file={config}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{self._port}",
            ],
            folder / "prometheus.log",
        )
        await_that(lambda: self.running() and self._is_ready(), "Prometheus")

    def _is_ready(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/-/ready", timeout=5):
                return True
        except OSError:
            return False

    def ask(self, path: str, **parameters):
        """The data of the HTTP API's answer. ValueError: Prometheus' own words on what is wrong."""
        query = urllib.parse.urlencode(parameters)
        try:
            url = f"http://127.0.0.1:{self._port}/api/v1/{path}?{query}"
            with urllib.request.urlopen(url, timeout=30) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise ValueError(json.load(error)["error"]) from None
