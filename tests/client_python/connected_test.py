"""What a client says of itself, and how it gets into another process."""

import asyncio
import copy
import multiprocessing
import pickle

import grpc
import numpy as np
import pytest
from conftest import FAST_RETRY

import warpfold
import warpfold.aio
from warpfold._options import Options

OPTIONS = {"timeout": 7, "retry": FAST_RETRY, "stream_threshold_bytes": 8, "ping_after": None}


def shown(fake):
    return f"<Client target='{fake.target}' backend='cuda' device='cuda:0: X1, cuda:1: X2'>"


@pytest.fixture
def two_gpus(fake):
    fake.info.backend = "cuda"
    for i in (0, 1):
        fake.info.devices.add(name=f"cuda:{i}", model=f"X{i + 1}")
    return fake


def test_repr_tells_target_backend_and_devices(two_gpus):
    client = warpfold.connect(two_gpus.target)
    two_gpus.__exit__()
    assert repr(client) == shown(two_gpus)  # what it knows, without a call
    client.close()
    assert repr(client) == shown(two_gpus)[:-1] + " closed>"


def test_repr_of_the_asyncio_client(two_gpus):
    async def text():
        async with await warpfold.aio.connect(two_gpus.target) as client:
            return repr(client)

    assert asyncio.run(text()) == shown(two_gpus)


def test_repr_of_a_client_that_has_not_connected_yet():
    client = warpfold.Client("localhost:1", None, Options(1, FAST_RETRY, 1, 1))
    assert repr(client) == "<Client target='localhost:1'>"
    client.close()


def test_a_pickled_client_is_another_of_the_same_address_and_options(two_gpus):
    with warpfold.connect(two_gpus.target, **OPTIONS) as client:
        pickled = pickle.dumps(client)
    with pickle.loads(pickled) as again:  # though the first is closed
        assert repr(again) == shown(two_gpus)
        assert again._options == client._options
        assert again.sum([1.0, 2.0]) == 3.0
    assert two_gpus.calls == ["ReduceStream"]


def test_a_pickled_client_needs_the_server_by_its_first_call_only(fake):
    with warpfold.connect(fake.target, retry=warpfold.RetryPolicy(attempts_max=1)) as client:
        pickled = pickle.dumps(client)
    fake.__exit__()
    with pickle.loads(pickled) as again, pytest.raises(warpfold.UnavailableError):
        again.sum([1.0])


def test_the_asyncio_client_pickles_too(fake):
    async def total():
        async with await warpfold.aio.connect(fake.target, **OPTIONS) as client:
            async with pickle.loads(pickle.dumps(client)) as again:
                return await again.sum([1.0, 2.0])

    assert asyncio.run(total()) == 3.0


def test_a_copy_has_connections_of_its_own(fake):
    with warpfold.connect(fake.target) as client:
        copied = copy.copy(client)
    with copied:
        assert copied.sum([1.0]) == 1.0


def test_another_process_takes_a_client(client):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        total = pool.apply(client.sum, ([1.0, 2.0, 4.0],))
        (maxima,) = pool.map(client.max, [np.arange(6.0)])
    assert (total, maxima) == (7.0, 5.0)


def test_other_credentials_are_named(fake, either_client):
    with pytest.raises(TypeError, match="^credentials are 3, .*grpc.ssl_channel_credentials"):
        either_client(fake.target, credentials=3)


def test_credentials_do_not_travel():
    options = Options(1, FAST_RETRY, 1, 1)
    client = warpfold.Client("a:1", grpc.ssl_channel_credentials(), options)
    with client, pytest.raises(TypeError, match="^a client with credentials does not pickle"):
        pickle.dumps(client)
