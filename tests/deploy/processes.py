"""warpfold-server and other children, on free ports. Needs nothing but Python."""

import os
import subprocess
import time
import urllib.request
from pathlib import Path

START_SECONDS = 60  # far more than a start takes, on a machine that does much else


def await_that(condition, what: str, seconds: float = START_SECONDS):
    """Asks `condition` until it is true; its last answer. TimeoutError names `what`."""
    deadline = time.monotonic() + seconds
    while not (answer := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} not within {seconds} s")
        time.sleep(0.1)
    return answer


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


class Server(Process):
    """On free ports of 127.0.0.1, or where `listens` and `shows` say: gRPC's and the page's."""

    def __init__(
        self,
        binary,
        folder: Path,
        *flags: str,
        backend="cpu",
        listens="127.0.0.1:0",
        shows="127.0.0.1:0",
        **environment: str,
    ):
        port_file = folder / "ports"
        super().__init__(
            [
                str(binary),
                f"--backend={backend}",
                f"--listen-address={listens}",
                f"--metrics-address={shows}",
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
