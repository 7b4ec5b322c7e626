"""What the tests share: the real server, and tritonclient's two clients of it."""

import asyncio

import numpy as np
import pytest
import tritonclient.grpc
import tritonclient.grpc.aio
from awaited import Awaited
from running_server import running_server


@pytest.fixture(scope="session")
def server():
    flags = (
        "--max-message-bytes=128MiB",
        "--shared-memory-prefix=/warpfold_",
        "--compression=taken",
    )
    with running_server(*flags) as target:
        yield target


@pytest.fixture
def client(server):
    with tritonclient.grpc.InferenceServerClient(server) as client:
        yield client


@pytest.fixture(params=["blocking", "asyncio"])
def either_client(request, server):
    if request.param == "blocking":
        with tritonclient.grpc.InferenceServerClient(server) as client:
            yield client
        return
    loop = asyncio.new_event_loop()

    async def connect():
        return tritonclient.grpc.aio.InferenceServerClient(server)

    client = Awaited(loop, loop.run_until_complete(connect()))
    yield client
    client.close()
    loop.close()


@pytest.fixture
def tensor():
    """Makes the input of every model of a NumPy array."""

    def make(x, datatype=None):
        x = np.asarray(x)
        datatype = datatype or tritonclient.grpc.np_to_triton_dtype(x.dtype)
        made = tritonclient.grpc.InferInput("INPUT", x.shape, datatype)
        made.set_data_from_numpy(x)
        return made

    return make
