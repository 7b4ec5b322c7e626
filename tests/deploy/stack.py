"""Prometheus beside a server, on a free port, as deploy/ configures it."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import yaml
from processes import Process, await_that

OWN_PORT = 9090  # Prometheus' own, where prometheus.yml looks for it


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def fake_gpus(folder: Path):
    """What makes a server see two GPUs, through a driver's library that is none."""
    driver = folder / "driver"
    driver.mkdir()
    shutil.copy(os.environ["WARPFOLD_FAKE_NVML"], driver / "libnvidia-ml.so.1")
    return {"LD_LIBRARY_PATH": str(driver)}


def prometheus_configuration(deploy: Path):
    return yaml.safe_load((deploy / "prometheus/prometheus.yml").read_text(encoding="utf-8"))


def rule_files(deploy: Path):
    """The files that prometheus.yml names."""
    return [
        file
        for pattern in prometheus_configuration(deploy)["rule_files"]
        for file in sorted((deploy / "prometheus").glob(pattern))
    ]


def scraping(deploy: Path, server_port: int, interval: str):
    """prometheus.yml for ports and a pace of this machine, with the rules of compose.cpu.yaml."""

    def configuration(own_port: int):
        config = prometheus_configuration(deploy)
        config["global"] = {"scrape_interval": interval, "evaluation_interval": interval}
        config["rule_files"] = [
            str(file.resolve()) for file in rule_files(deploy) if file.parent.name != "gpu"
        ]
        ports = {"warpfold": server_port, "prometheus": own_port}
        config["scrape_configs"] = [
            {
                "job_name": job["job_name"],
                "static_configs": [{"targets": [f"127.0.0.1:{ports[job['job_name']]}"]}],
            }
            for job in config["scrape_configs"]
            if job["job_name"] in ports
        ]
        return config

    return configuration


class Prometheus(Process):
    """On what lies in `folder`/data. `configuration` gets its port; or is a file, as it stands,
    for Prometheus' own port."""

    def __init__(self, folder: Path, configuration, *flags: str):
        if isinstance(configuration, Path):
            self._port, config = OWN_PORT, configuration
        else:
            self._port, config = free_port(), folder / "prometheus.yml"
            config.write_text(yaml.safe_dump(configuration(self._port)))
        super().__init__(
            [
                "prometheus",
                f"--config.file={config}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{self._port}",
                *flags,
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


@contextlib.contextmanager
def played_back(recording: str):
    """(a Prometheus that holds what record.py recorded, its first second, its last)."""
    times = [float(line.rsplit(" ", 1)[1]) for line in recording.splitlines() if line[:3] == "up{"]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        page = folder / "recording.txt"
        page.write_text(recording)
        command = ["promtool", "tsdb", "create-blocks-from", "openmetrics", "--quiet"]
        subprocess.run([*command, page, folder / "data"], check=True)
        # It scrapes nothing, and a recording of last year stays.
        prometheus = Prometheus(folder, lambda _: {}, "--storage.tsdb.retention.time=100y")
        with contextlib.closing(prometheus):
            yield prometheus, times[0], times[-1]
