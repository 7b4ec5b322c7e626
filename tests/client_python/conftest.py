"""What the tests share: clients of the real server, and of fake ones in this process."""

import asyncio
import contextlib
import inspect
import os
import subprocess
import tempfile
import time
from concurrent import futures
from pathlib import Path

import grpc
import pytest
from fake_server import FakeServer

import warpfold
import warpfold.aio

SEED = 20261121
START_TIMEOUT_S = 60
FAST_RETRY = warpfold.RetryPolicy(backoff_first_s=0.001)


def pytest_report_header():
    return f"seed: {SEED}"


@contextlib.contextmanager
def running_server(*flags):
    """host:port of the binary that $WARPFOLD_SERVER names, on ports that the system chose."""
    with tempfile.TemporaryDirectory() as folder:
        port_file = Path(folder) / "ports"
        process = subprocess.Popen(
            [
                os.environ["WARPFOLD_SERVER"],
                "--listen-address=127.0.0.1:0",
                "--metrics-address=127.0.0.1:0",
                f"--port-file={port_file}",
                "--log-level=warning",
                *flags,
            ]
        )
        try:
            give_up_at = time.monotonic() + START_TIMEOUT_S
            while not port_file.exists():  # renamed into place when both ports are served
                assert time.monotonic() < give_up_at, "the server named no port"
                with contextlib.suppress(subprocess.TimeoutExpired):
                    pytest.fail(f"the server did not start: exit code {process.wait(0.02)}")
            yield f"127.0.0.1:{port_file.read_text().split()[0]}"
        finally:
            process.kill()
            process.wait()


@pytest.fixture(scope="session")
def server():
    with running_server() as target:
        yield target


@pytest.fixture(scope="session")
def client(server):
    with warpfold.connect(server, timeout=60) as client:
        yield client


@pytest.fixture
def fake():
    with FakeServer() as server:
        yield server


@pytest.fixture
def fake_client(fake):
    with warpfold.connect(fake.target, timeout=20, retry=FAST_RETRY) as client:
        yield client


class Awaited:
    """An asyncio client behind blocking calls, so that one test serves both clients."""

    def __init__(self, loop, client):
        self._loop = loop
        self._client = client

    def __getattr__(self, name):
        method = getattr(self._client, name)

        def call(*arguments, **options):
            answer = method(*arguments, **options)
            assert inspect.isawaitable(answer)
            return self._loop.run_until_complete(answer)

        return call


@pytest.fixture(params=["blocking", "asyncio"])
def either_client(request):
    """A function that connects the client of the kind; they are closed with the test."""
    defaults = {"timeout": 20, "retry": FAST_RETRY}
    with contextlib.ExitStack() as stack:
        if request.param == "blocking":
            yield lambda target, **options: stack.enter_context(
                warpfold.connect(target, **{**defaults, **options})
            )
            return
        loop = asyncio.new_event_loop()
        stack.callback(loop.close)

        def connect(target, **options):
            made = warpfold.aio.connect(target, **{**defaults, **options})
            client = Awaited(loop, loop.run_until_complete(made))
            stack.callback(client.close)
            return client

        yield connect


@pytest.fixture
def other_service():
    """host:port of a gRPC server without our service."""
    server = grpc.server(futures.ThreadPoolExecutor(1))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"localhost:{port}"
    server.stop(None).wait()
