"""The real server as a child process, for the tests of every Python client."""

import contextlib
import os
import subprocess
import tempfile
import time
from pathlib import Path

START_TIMEOUT_S = 60


@contextlib.contextmanager
def server_process(*flags, run_by=(), stderr=None, binary="WARPFOLD_SERVER", **variables):
    """(process, gRPC port, metrics port) of the binary that the variable `binary` names.

    The system chose the ports, unless a flag says where to listen. `run_by` is a command, such as
    prlimit, that becomes the server; `stderr` is subprocess.Popen's; `variables` are set in its
    environment.
    """
    if not any(flag.startswith("--listen-address=") for flag in flags):
        flags = ("--listen-address=127.0.0.1:0", *flags)
    with tempfile.TemporaryDirectory() as folder:
        port_file = Path(folder) / "ports"
        process = subprocess.Popen(
            [
                *run_by,
                os.environ[binary],
                "--metrics-address=127.0.0.1:0",
                f"--port-file={port_file}",
                *flags,
            ],
            env={**os.environ, **variables},
            stderr=stderr,
        )
        try:
            give_up_at = time.monotonic() + START_TIMEOUT_S
            while not port_file.exists():  # renamed into place when both ports are served
                assert time.monotonic() < give_up_at, "the server named no port"
                with contextlib.suppress(subprocess.TimeoutExpired):
                    code = process.wait(0.02)
                    raise AssertionError(f"the server did not start: exit code {code}")
            grpc_port, metrics_port = port_file.read_text().split()
            yield process, int(grpc_port), int(metrics_port)
        finally:
            process.kill()
            process.wait()


@contextlib.contextmanager
def serving(*flags, **variables):
    """(gRPC port, metrics port) of such a process, which logs little."""
    with server_process("--log-level=warning", *flags, **variables) as (_, grpc_port, metrics_port):
        yield grpc_port, metrics_port


@contextlib.contextmanager
def running_server(*flags):
    """host:port of a server's gRPC port."""
    with serving(*flags) as (port, _):
        yield f"127.0.0.1:{port}"
