"""Stripes and pieces: a large array as several calls answers with the bits of one."""

import asyncio
import sys

import grpc
import numpy as np
import pytest
from conftest import SEED, dtype_of
from cuts import CUTS, assert_same_bits, floats
from fake_server import HANG, Failure

import warpfold
from warpfold import _catalogue, _contract
from warpfold._dtypes import OF_ML_DTYPES
from warpfold._parts import outermost_run, state_bytes
from warpfold._request import plan
from warpfold._stripes import stripes_of


@pytest.fixture
def striping(monkeypatch):
    """Whatever can be cut is."""
    monkeypatch.setattr("warpfold._flows.STRIPE_THRESHOLD_BYTES", 1)
    monkeypatch.setattr("warpfold._stripes._STATES_SHARE_MAX", 1000)


@pytest.mark.parametrize("shape, axis, ops", CUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "float8_e4m3fn"])
def test_stripes_answer_with_the_bits_of_one_call(
    server, client, striping, either_client, shape, axis, ops, dtype
):
    ops = [op for op in ops if op != "prod" or "float" in dtype]
    x = (floats(shape) * 100).astype(dtype) if dtype == "int32" else floats(shape, dtype_of(dtype))
    stripes = stripes_of(plan(x, ops, axis, False), 12, client.info().limits)
    assert len(stripes.calls) > 1
    striped = either_client(server, connections=3, stream_threshold_bytes=4096, chunk_bytes=4096)
    told = []
    for keepdims in (False, True):
        answer = striped.reduce(
            x, ops, axis, keepdims=keepdims, progress=lambda done, total: told.append(done)
        )
        assert told[-1] == x.nbytes and sorted(told) == told
        told.clear()
        assert_same_bits(answer, client.reduce(x, ops, axis, keepdims=keepdims))
    assert answer.device == client.reduce(x, ops).device
    assert answer.timing.total_ns > 0


@pytest.mark.parametrize(
    "shape, axis, ops",
    [((), None, ["sum"]), ((1,), 0, ["sum"]), ((0, 5), 1, ["sum"]), ((1, 1), None, ["sum"])],
)
def test_what_cannot_be_cut_travels_whole(server, client, striping, shape, axis, ops):
    with warpfold.connect(server, connections=3) as striped:
        x = floats(shape)
        assert_same_bits(striped.reduce(x, ops, axis), client.reduce(x, ops, axis))
        assert len(striped._flows._rpcs.channels._spread) == 1


def test_states_that_would_outweigh_the_payload_are_not_made(client):
    limits = client.info().limits
    wide = plan(floats((64, 5000)), ["std"], 0, False)
    assert stripes_of(wide, 16, limits) is None
    tall = plan(floats((64_000, 5)), ["std"], 0, False)
    assert len(stripes_of(tall, 16, limits).calls) == 16
    # 5 results of 132 bytes at most, which is what the server counts.
    assert stripes_of(tall, 16, limits._replace(max_result_bytes=659)) is None
    assert stripes_of(tall, 16, limits._replace(max_result_bytes=660)) is not None
    assert stripes_of(tall, 16, limits._replace(max_message_bytes=16 * 660 - 1)) is None
    assert stripes_of(tall, 16, limits._replace(max_message_bytes=16 * 660)) is not None
    assert stripes_of(tall, 1, limits) is None


def test_pieces_of_a_run_are_as_many_as_asked_for_and_of_one_size(client):
    for length in (2049, 40_000, 1 << 20, 999_983):
        stripes = stripes_of(plan(floats((length,)), ["sum"], None, False), 8, client.info().limits)
        lengths = [piece.tensor.shape[0] for piece in stripes.calls]
        assert len(lengths) == 8 and sum(lengths) == length
        assert len(set(lengths[:-1])) == 1 and 0 < lengths[-1] <= lengths[0]


@pytest.mark.parametrize(
    "dtype",
    [
        *("float8_e4m3fn", "float8_e5m2", "float16", "bfloat16", "float32", "float64"),
        *("int8", "int64"),
    ],
)
def test_no_state_takes_more_than_what_is_counted_with(client, dtype):
    """The widest sums that there are, and ordinary ones."""
    rng = np.random.default_rng(SEED)
    groups = [
        ["sum", "mean"],
        ["var"],
        ["l1_norm"],
        ["l2_norm", "std"],
        ["prod"],
        ["min", "argmax"],
    ]
    own = dtype_of(dtype)
    if "float" in dtype:
        finfo = sys.modules["ml_dtypes"].finfo if dtype in OF_ML_DTYPES else np.finfo
        limits = finfo(own)
        widest = np.array([-limits.max] * 3 + [limits.smallest_subnormal], own)
    else:
        widest = np.array([np.iinfo(dtype).min] * 3 + [1], own)
    common = (rng.uniform(1, 2, 100) * 2.0 ** rng.integers(0, 5, 100)).astype(own)
    for ops in groups:
        for omit_nan in (False, True):
            counted = state_bytes(dtype, ops, omit_nan)
            assert counted.common <= counted.most
            for x, most in ((widest, counted.most), (common, counted.common)):
                if ops == ["prod"] and "float" not in dtype:
                    x = x[:2] // 64
                state = client.reduce_part(x, ops, whole_shape=x.shape, offset=0, omit_nan=omit_nan)
                components = _contract.PartialState.FromString(state).components
                assert sum(len(component.values) for component in components) <= most
    if "float" in dtype:  # the bound is near
        state = client.reduce_part(widest, ["var"], whole_shape=(4,), offset=0)
        components = _contract.PartialState.FromString(state).components
        assert sum(len(c.values) for c in components) >= state_bytes(dtype, ["var"], False).most / 2


def test_pieces_are_small_unless_their_states_are_not(server, client, striping, monkeypatch):
    monkeypatch.setattr("warpfold._flows.STRIPE_BYTES_MAX", 32 << 10)
    monkeypatch.setattr("warpfold._stripes._STATES_SHARE_MAX", 1 / 8)
    for shape, axis, pieces in ((1 << 17,), None, 16), ((512, 256), 0, 8):
        x, told = floats(shape), []
        with warpfold.connect(server, connections=2, shared_memory_mode=None) as striped:
            got = striped.sum(x, axis, progress=lambda done, total: told.append(done))
        assert got.tobytes() == client.sum(x, axis).tobytes()
        assert len(told) == pieces  # each of them is one message


def test_a_part_is_not_cut_again(server, client, striping):
    x = floats((4096,))
    with warpfold.connect(server, connections=2) as striped:
        state = striped.reduce_part(x[:2048], ["sum"], whole_shape=x.shape, offset=0)
    assert state == client.reduce_part(x[:2048], ["sum"], whole_shape=x.shape, offset=0)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_stripes_keep_numpys_rules(server, striping, either_client):
    client = either_client(server, connections=2)
    x = np.full((40, 30), np.nan)
    x[:20] = 1
    with pytest.raises(ValueError, match="All-NaN slice"):
        client.nanargmin(x, axis=1)
    with pytest.raises(OverflowError, match=str(2**63)):
        client.sum(np.full((2, 40), 2**62)[:, :2], axis=1)
    np.testing.assert_array_equal(client.nanmax(x, axis=0), np.nanmax(x, axis=0))


@pytest.mark.parametrize("shape, axis", [((400, 3), 1), ((1, 400, 3, 2), 2)])
@pytest.mark.parametrize("op", ["sum", "prod"])
def test_an_overflow_is_at_the_element_of_the_whole(
    server, client, striping, either_client, shape, axis, op
):
    striped = either_client(server, connections=3, shared_memory_mode=None)
    for row in (0, 37, 399):
        x = np.ones(shape, np.int64)
        x.reshape(400, -1)[row] = 2**62
        with pytest.raises(OverflowError) as one:
            client.reduce(x, [op], axis)
        with pytest.raises(warpfold.OutOfRangeError) as several:
            striped.reduce(x, [op], axis)
        assert str(several.value) == str(one.value)


@pytest.mark.parametrize("axis", [None, 1])
def test_a_stripe_that_fails_ends_the_others(fake, striping, either_client, axis):
    client = either_client(fake.target, connections=3)
    x = np.ones((3000, 30))
    fake.failures = [HANG, HANG, Failure(grpc.StatusCode.INTERNAL)]
    with pytest.raises(warpfold.InternalError, match="planned"):
        client.sum(x, axis=axis)
    assert fake.left.acquire(timeout=20) and fake.left.acquire(timeout=20)
    assert len(fake.calls) == 3
    with pytest.raises(ZeroDivisionError):
        client.sum(x, axis=axis, progress=lambda done, total: 1 / 0)


def test_pieces_of_blocking_calls_give_the_bits_of_one_call(server, client, striping, monkeypatch):
    monkeypatch.setattr("warpfold._blocking_io._BLOCKING_BYTES_MIN", 1)
    x, told = floats((1 << 20,)), []
    with warpfold.connect(server, connections=3, shared_memory_mode=None) as striped:
        got = striped.reduce(x, ["sum", "std"], progress=lambda done, total: told.append(done))
    assert_same_bits(got, client.reduce(x, ["sum", "std"]))
    assert told[-1] == x.nbytes and sorted(told) == told


def test_what_nothing_can_cancel_is_left_behind(fake, striping, monkeypatch):
    monkeypatch.setattr("warpfold._blocking_io._BLOCKING_BYTES_MIN", 1)
    monkeypatch.setattr("warpfold._blocking_io._GRACE_S", 0.05)
    fake.failures = [HANG, HANG, Failure(grpc.StatusCode.INTERNAL)]
    told = []
    with warpfold.connect(fake.target, connections=3) as client:
        with pytest.raises(warpfold.InternalError, match="planned"):
            client.sum(np.ones((3000, 30)), progress=lambda done, total: told.append(done))
        assert client.sum([3.0]) == 3.0
    # The end of the client ends them.
    assert fake.left.acquire(timeout=20) and fake.left.acquire(timeout=20)
    assert told == [] and len(fake.calls) == 4


def test_a_running_event_loop_is_left_alone(server, striping):
    async def use():
        with warpfold.connect(server, connections=2) as client:
            return client.sum(np.ones((64, 1024), np.float32))

    assert asyncio.run(use()) == 65536


def test_a_stripe_is_tried_again_alone(fake, striping, either_client):
    fake.failures = [None, Failure(grpc.StatusCode.UNAVAILABLE)]
    client = either_client(fake.target, connections=2)
    x = np.ones((16, 4))
    fake.answer = _column_of_sums(2)
    answer = client.reduce(x, ["sum"], axis=1)
    np.testing.assert_array_equal(answer["sum"], np.zeros(16))
    assert len(fake.calls) == 9 and answer.attempts == 2


def test_dimensions_of_an_ops_own_are_behind_the_others(fake, striping, either_client, monkeypatch):
    # No op has any: three numbers each, as if SUM's were such.
    monkeypatch.setitem(_catalogue.TRAILING_DIMS, "sum", 1)
    client = either_client(fake.target, connections=2)
    fake.answers = [_column_of_sums(2, own=(3,), first=6 * i) for i in range(8)]
    answer = client.reduce(np.ones((16, 4)), ["sum"], axis=1)["sum"]
    assert len(fake.calls) == 8
    assert answer.shape == (16, 3)
    assert sorted(map(tuple, answer)) == [tuple(3.0 * i + np.arange(3)) for i in range(16)]
    fake.answers, fake.answer = [], _column_of_sums(2)
    with pytest.raises(warpfold.InternalError, match="0 dimensions of its own"):
        client.reduce(np.ones((2, 3)), ["sum"], axis=1)


def _column_of_sums(count, own=(), first=None):
    """`count` results of 0, or of numbers that count on from `first`."""
    numbers = np.zeros((count, *own)) + (0 if first is None else first)
    if first is not None:
        numbers += np.arange(numbers.size).reshape(numbers.shape)
    answer = _contract.ReduceResponse()
    answer.results.add(spec={"op": 1}, data=numbers.tobytes(), trailing_dims=len(own))
    answer.results[0].tensor.dtype = 13
    answer.results[0].tensor.shape.extend(numbers.shape)
    return answer.SerializeToString()


def test_nothing_to_reduce_has_no_run():
    for shape, axes in (((0, 3), None), ((3, 0), (0,)), ((), None), ((1, 3), (0,)), ((1,), None)):
        assert outermost_run(shape, axes) is None
