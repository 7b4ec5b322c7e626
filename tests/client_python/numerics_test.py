"""numerics_version: what a server goes by, what a client demands, and that one answer has one."""

import asyncio
import pickle

import grpc
import numpy as np
import pytest
from conftest import FAST_RETRY
from fake_server import sum_answer
from sharing import PREFIX, regions, sharing_server

import warpfold
import warpfold.aio
from warpfold import _contract
from warpfold._options import Options

__all__ = ["sharing_server"]  # a fixture

X = np.arange(4000.0)
OTHER = 7
REFUSED = r"^required_numerics_version: 7 is asked for, but this server has version 1"


def every_call(client, states):
    """A call of every kind, by its name."""
    with_tensor = {}
    tensor = client.put(X)
    with_tensor["resident"] = lambda: client.sum(tensor)
    return {
        "message": lambda: client.sum(X[:10]),
        "stream": lambda: client.reduce(np.ones(1 << 18), ["sum"]),
        "describe": lambda: client.describe(X),
        "nan function": lambda: client.nanmean(X),
        "part": lambda: client.reduce_part(X[:9], ["sum"], whole_shape=X.shape, offset=0),
        "merge": lambda: client.merge(states),
        "merge of states": lambda: client.merge_states(states),
        **with_tensor,
    }


@pytest.fixture(scope="module")
def states(server):
    with warpfold.connect(server) as client:
        return [
            client.reduce_part(X[a:b], ["sum"], whole_shape=X.shape, offset=a)
            for a, b in ((0, 9), (9, 4000))
        ]


def test_server_and_answers_show_it(server, either_client, states):
    client = either_client(server)
    assert client.info().numerics_version == 1
    assert client.reduce(X, ["sum"]).numerics_version == 1
    assert client.merge(states).numerics_version == 1
    assert client.describe(X).numerics_version == 1


def test_it_is_shown_as_it_was_answered(fake, either_client):
    fake.info.numerics_version = 4
    answer = sum_answer(_contract.ReduceRequest(data=X.tobytes()))
    answer.numerics_version = 5
    fake.answer = answer.SerializeToString()
    client = either_client(fake.target)
    assert client.info().numerics_version == 4
    assert client.reduce(X, ["sum"]).numerics_version == 5
    assert client.reduce(X, ["sum"]).attempts == 1


@pytest.mark.parametrize("version", [None, 0, 1, np.int64(1)])
def test_the_right_one_and_any_are_answered(server, either_client, states, version):
    options = {"stream_threshold_bytes": 1 << 20, "required_numerics_version": version}
    for name, call in every_call(either_client(server, **options), states).items():
        assert call() is not None, name


def test_another_one_is_refused_by_every_call(server, either_client, states):
    client = either_client(server, stream_threshold_bytes=1 << 20, required_numerics_version=OTHER)
    for name, call in every_call(client, states).items():
        with pytest.raises(warpfold.FailedPreconditionError, match=REFUSED) as caught:
            call()
        assert caught.value.code is grpc.StatusCode.FAILED_PRECONDITION, name
        assert caught.value.attempts == 1


@pytest.mark.parametrize("axis", [None, 1])
def test_stripes_demand_it(server, client, either_client, monkeypatch, axis):
    monkeypatch.setattr("warpfold._flows.STRIPE_THRESHOLD_BYTES", 1)
    x = X.reshape(400, 10)
    striped = either_client(server, connections=2, required_numerics_version=1)
    answer = striped.reduce(x, ["sum"], axis)
    assert answer.numerics_version == 1
    assert answer["sum"].tobytes() == client.sum(x, axis).tobytes()
    striped = either_client(server, connections=2, required_numerics_version=OTHER)
    with pytest.raises(warpfold.FailedPreconditionError, match=REFUSED):
        striped.reduce(x, ["sum"], axis)


def test_shared_memory_demands_it_and_is_not_given_up(sharing_server, either_client, monkeypatch):
    monkeypatch.setattr("warpfold._shared._LEAST_BYTES", 1000)
    client = either_client(sharing_server, required_numerics_version=OTHER)
    for _ in range(2):
        with pytest.raises(warpfold.FailedPreconditionError, match=REFUSED):
            client.sum(X)
        assert len(regions(sharing_server)) == 1  # its slot
    client = either_client(sharing_server, required_numerics_version=1)
    assert client.sum(X) == X.sum()


def test_a_slot_stays_where_another_version_is_refused(fake, either_client, monkeypatch):
    monkeypatch.setattr("warpfold._shared._LEAST_BYTES", 1000)
    fake.info.shared_memory_prefix = PREFIX
    client = either_client(fake.target, required_numerics_version=OTHER)
    with pytest.raises(warpfold.FailedPreconditionError, match="but the answer has version 0"):
        client.sum(X)
    assert fake.calls == ["RegisterSharedMemory", "Reduce"]
    assert fake.requests[-1].required_numerics_version == OTHER


@pytest.mark.parametrize("threshold", [0, 1 << 20])
def test_a_server_that_is_older_than_versions_is_found_out(fake, either_client, threshold):
    options = {"stream_threshold_bytes": threshold, "required_numerics_version": 1}
    client = either_client(fake.target, **options)
    words = "^required_numerics_version: 1 is asked for, but the answer has version 0"
    with pytest.raises(warpfold.FailedPreconditionError, match=words):
        client.sum([1.0, 2.0])
    assert fake.requests[-1].required_numerics_version == 1
    assert len(fake.calls) == 1


def test_nothing_is_demanded_unless_asked_for(fake, either_client):
    for options in ({}, {"required_numerics_version": 0}, {"required_numerics_version": None}):
        assert either_client(fake.target, **options).sum([1.0, 2.0]) == 3.0
        assert fake.requests[-1].required_numerics_version == 0


def slice_of_ones(version):
    """The sums of one row."""
    answer = _contract.ReduceResponse(numerics_version=version)
    answer.results.add(spec={"op": 1}, data=bytes(8)).tensor.dtype = 13
    answer.results[0].tensor.shape.append(1)
    return answer.SerializeToString()


def test_pieces_of_several_versions_are_no_answer(fake, either_client, monkeypatch):
    monkeypatch.setattr("warpfold._flows.STRIPE_THRESHOLD_BYTES", 1)
    client = either_client(fake.target, connections=2)
    x = np.ones((8, 4))
    fake.answers = [slice_of_ones(2)] * 8
    assert client.reduce(x, ["sum"], 1).numerics_version == 2
    fake.answers = [slice_of_ones(2)] * 5 + [slice_of_ones(3)] + [slice_of_ones(2)] * 2
    words = "^numerics_version: the pieces of one answer have 2 and 3, .*required_numerics_version="
    with pytest.raises(warpfold.FailedPreconditionError, match=words):
        client.reduce(x, ["sum"], 1)


@pytest.mark.parametrize(
    "wrong, error, words",
    [
        (-1, ValueError, "required_numerics_version is -1, but must be from 0 to 4294967295"),
        (2**32, ValueError, "required_numerics_version is 4294967296"),
        ("1", TypeError, "required_numerics_version is '1', a str, but must be a whole number"),
        (1.0, TypeError, "required_numerics_version is 1.0, a float"),
    ],
)
def test_wrong_demands_are_errors_before_anything_is_sent(fake, either_client, wrong, error, words):
    with pytest.raises(error, match=words):
        either_client(fake.target, required_numerics_version=wrong)
    assert fake.calls == []


def test_the_largest_is_sent_as_it_is(fake, either_client):
    client = either_client(fake.target, required_numerics_version=2**32 - 1)
    with pytest.raises(warpfold.FailedPreconditionError):
        client.sum(X)
    assert fake.requests[-1].required_numerics_version == 2**32 - 1


def test_a_client_that_is_made_by_hand_and_one_that_is_pickled_demand_it(server):
    options = Options(20, FAST_RETRY, 1 << 20, 1 << 20, required_numerics_version=OTHER)
    with warpfold.Client(server, None, options) as client:
        client._flows.server = client.info()
        again = pickle.loads(pickle.dumps(client))
        for one in (client, again):
            with pytest.raises(warpfold.FailedPreconditionError, match=REFUSED):
                one.sum(X)
        again.close()


def test_asyncio_takes_it_by_its_own_connect(server):
    async def use():
        async with warpfold.aio.connect(server, required_numerics_version=OTHER) as client:
            await client.sum(X)

    with pytest.raises(warpfold.FailedPreconditionError, match=REFUSED):
        asyncio.run(use())
