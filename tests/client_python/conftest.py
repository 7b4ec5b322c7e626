"""What the tests share: clients of the real server, and of fake ones in this process."""

import asyncio
import contextlib
import os
import sys
from concurrent import futures

if sys.version_info < (3, 10):
    # Its subprocess forks before it executes, and there gRPC's handlers end one child in some
    # hundred (grpcio 1.80, SIGABRT). Later ones use vfork, which runs no handlers.
    os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"

import grpc
import pytest
from awaited import Awaited
from fake_gpu import FakeGpu
from fake_server import FakeServer
from running_server import running_server

import warpfold
import warpfold.aio
from warpfold import _cuda_driver
from warpfold._dtypes import OF_ML_DTYPES, dtype_named

SEED = 20261121
FAST_RETRY = warpfold.RetryPolicy(backoff_first_s=0.001)

# A process that has made a channel and forks: gRPC waits for its own threads without end, whoever
# made the channel. PyPI's grpcio does not (python_client_pypi).
forks = pytest.mark.skipif(
    sys.version_info >= (3, 13) and grpc.__version__.startswith("1.51."),
    reason="Debian 13's grpcio 1.51 hangs in os.fork()",
)


def dtype_of(name):
    """The dtype. Skips where it is one of ml_dtypes, and that is not there."""
    if name in OF_ML_DTYPES:
        pytest.importorskip("ml_dtypes")
    return dtype_named(name)


def pytest_report_header():
    return f"seed: {SEED}"


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
def gpu(fake, monkeypatch):
    """A fake GPU of the client's process and of the fake server, for arrays of 1,000 bytes on."""
    fake.gpu = FakeGpu()
    fake.info.limits.max_cuda_memory_bytes = 1 << 30
    fake.info.devices.add(name="cuda:0")
    driver = _cuda_driver.Driver(fake.gpu)
    monkeypatch.setattr("warpfold._cuda_array.driver", lambda: driver)
    monkeypatch.setattr("warpfold._cuda_memory.driver", lambda: driver)
    monkeypatch.setattr("warpfold._cuda_memory._LEAST_BYTES", 1000)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    yield fake.gpu
    assert fake.gpu.contexts == []


@pytest.fixture
def fake_client(fake):
    with warpfold.connect(fake.target, timeout=20, retry=FAST_RETRY) as client:
        yield client


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
