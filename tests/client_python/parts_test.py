"""Parts and stripes: whatever way a tensor is cut, its results have the bits of the whole."""

import asyncio
import math

import grpc
import numpy as np
import pytest
from conftest import SEED
from fake_server import HANG, Failure

import warpfold
from warpfold import _contract
from warpfold._parts import outermost_run
from warpfold._request import plan
from warpfold._stripes import stripes_of

ORDERED = ["mean", "std", "argmax", "nan_count"]
UNORDERED = ["min", "argmin", "count_nonzero"]
# (shape, axis, ops of floats, the unit of cuts of float32)
CUTS = [
    ((70_000,), None, ORDERED, 1024),
    ((70_000,), None, UNORDERED, 1),
    ((300, 50), None, ORDERED, 1024),
    ((300, 50), 0, ORDERED, 8),
    ((300, 50), 0, UNORDERED, 1),
    ((1, 300, 1, 50), (0, 1), ORDERED, 8),
    ((40, 3, 50), (0, 2), ORDERED, 1),
    ((40, 6, 5, 7), (0, 1), ORDERED, 8),
    ((3, 9000), 1, ORDERED, 1024),
    ((2, 80, 30), 1, ORDERED, 8),
]


def floats(shape, dtype=np.float32):
    """Values whose sum depends on the order of additions."""
    rng = np.random.default_rng(SEED)
    x = rng.standard_normal(shape) * 2.0 ** rng.integers(-15, 15, shape)
    return x.astype(dtype)


def assert_same_bits(got, expected):
    assert list(got) == list(expected)
    for op in expected:
        assert got[op].dtype == expected[op].dtype
        assert np.asarray(got[op]).tobytes() == np.asarray(expected[op]).tobytes(), op
        assert np.shape(got[op]) == np.shape(expected[op])


def axes_of(axis):
    return axis if axis is None or isinstance(axis, tuple) else (axis,)


def part_of(x, run, begin, end):
    """Indices [begin, end) of the outermost reduced run of x, as an array of x's rank."""
    first, last = run.dimensions[0], run.dimensions[-1]
    flat = x.reshape(math.prod(x.shape[:first]), run.length, run.inner)
    lengths = [1 if i in run.dimensions else n for i, n in enumerate(x.shape)]
    lengths[first] = end - begin
    assert last >= first
    return flat[:, begin:end].reshape(lengths)


@pytest.mark.parametrize("shape, axis, ops, unit", CUTS)
def test_parts_merge_to_the_bits_of_the_whole(client, shape, axis, ops, unit):
    x = floats(shape)
    run = outermost_run(shape, axes_of(axis), x.dtype, ops)
    assert run.unit == unit
    rng = np.random.default_rng(SEED)
    cuts = sorted({0, run.length, *(unit * rng.integers(0, -(-run.length // unit), 5)).tolist()})
    states = [
        client.reduce_part(
            part_of(x, run, begin, end), ops, axis, whole_shape=shape, offset=begin, keepdims=True
        )
        for begin, end in zip(cuts, cuts[1:])
    ]
    expected = client.reduce(x, ops, axis, keepdims=True)
    assert_same_bits(client.merge(states, request_id="r"), expected)
    joined = client.merge_states(states[1:])
    assert_same_bits(client.merge([states[0], joined]), expected)


@pytest.mark.parametrize("shape, axis, ops, unit", [cut for cut in CUTS if cut[3] > 1])
def test_a_cut_elsewhere_is_refused_by_the_server(client, shape, axis, ops, unit):
    x = floats(shape)
    run = outermost_run(shape, axes_of(axis), x.dtype, ops)
    with pytest.raises(warpfold.InvalidArgumentError, match=f"multiples of {unit}"):
        part = part_of(x, run, 0, unit // 2)
        client.reduce_part(part, ops, axis, whole_shape=shape, offset=0)


def test_integers_are_cut_anywhere_where_their_ops_are_exact(client):
    x = np.arange(-500, 501, dtype=np.int64)
    for dtype, ops in (
        (np.int64, ["sum", "mean", "l1_norm"]),
        (np.int16, ["sum", "var", "l2_norm", "max"]),
        (np.bool_, ["sum", "std", "prod", "any"]),
    ):
        y = x.astype(dtype)
        assert outermost_run(y.shape, None, y.dtype, ops).unit == 1
        states = [
            client.reduce_part(y[a:b], ops, whole_shape=y.shape, offset=a)
            for a, b in ((0, 7), (7, 7), (7, 1001))
        ]
        assert_same_bits(client.merge(states), client.reduce(y, ops))
    for dtype, op in ((np.int64, "var"), (np.int32, "l2_norm"), (np.float16, "prod")):
        assert outermost_run((1001,), None, np.dtype(dtype), [op]).unit > 1


def test_nothing_to_reduce_has_no_run():
    for shape, axes in (((0, 3), None), ((3, 0), (0,)), ((), None), ((1, 3), (0,)), ((1,), None)):
        assert outermost_run(shape, axes, np.dtype("f4"), ["sum"]) is None


def test_a_sum_that_fits_in_the_whole_only_fits(client):
    x = np.array([2**62, 2**62, -(2**62)])
    states = [
        client.reduce_part(x[a:b], ["sum"], whole_shape=(3,), offset=a) for a, b in ((0, 2), (2, 3))
    ]
    assert client.merge(states)["sum"] == 2**62
    with pytest.raises(OverflowError):
        client.sum(x[:2])


def test_states_that_do_not_belong_together_are_refused(client):
    part = client.reduce_part(np.ones(512), ["sum"], whole_shape=(1024,), offset=0)
    other = client.reduce_part(np.ones(1024), ["max"], whole_shape=(1024,), offset=0)
    for states in ([], [b"no state"], [part], [part, part], [part, other]):
        with pytest.raises(warpfold.InvalidArgumentError, match="^states"):
            client.merge(states)
    for wrong in ("text", ["text"], [1], None):
        with pytest.raises(TypeError):
            client.merge(wrong)


def test_asyncio_has_parts(server, either_client):
    client = either_client(server)
    x = floats((2048,))
    states = [
        client.reduce_part(x[a : a + 1024], ["sum"], whole_shape=x.shape, offset=a)
        for a in (0, 1024)
    ]
    assert_same_bits(client.merge([client.merge_states(states)]), client.reduce(x, ["sum"]))


@pytest.fixture
def striping(monkeypatch):
    """Whatever can be cut is."""
    monkeypatch.setattr("warpfold._flows.STRIPE_THRESHOLD_BYTES", 1)
    monkeypatch.setattr("warpfold._stripes._STATES_SHARE_MAX", 1000)


@pytest.mark.parametrize("shape, axis, ops, unit", CUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_stripes_answer_with_the_bits_of_one_call(
    server, client, striping, either_client, shape, axis, ops, unit, dtype
):
    x = (floats(shape) * 100).astype(dtype) if dtype is np.int32 else floats(shape, dtype)
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
    [((), None, ["sum"]), ((1,), 0, ["sum"]), ((0, 5), 1, ["sum"]), ((700,), None, ["sum"])],
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
    assert len(stripes_of(tall, 16, limits).calls) >= 4
    assert stripes_of(tall, 16, limits._replace(max_result_bytes=100)) is None
    assert stripes_of(tall, 1, limits) is None


def test_parts_are_few_and_of_one_node(client):
    for length in (2048, 40_000, 1 << 20, 3 << 18):
        stripes = stripes_of(plan(floats((length,)), ["sum"], None, False), 8, client.info().limits)
        assert 2 <= len(stripes.calls) <= 16
        for piece in stripes.calls[:-1]:
            units = piece.request.tensor.shape[0] // 1024
            assert units & (units - 1) == 0


def test_pieces_are_small_unless_their_states_are_not(server, striping, monkeypatch):
    monkeypatch.setattr("warpfold._flows.STRIPE_BYTES_MAX", 32 << 10)
    monkeypatch.setattr("warpfold._stripes._STATES_SHARE_MAX", 1 / 8)
    for shape, axis, pieces in ((1 << 17,), None, 16), ((512, 256), 0, 8):
        x, told = floats(shape), []
        with warpfold.connect(server, connections=2, shared_memory_mode=None) as striped:
            got = striped.max(x, axis, progress=lambda done, total: told.append(done))
        np.testing.assert_array_equal(got, x.max(axis))
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
        assert client.sum([1.0, 2.0]) == 3.0
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


def _column_of_sums(count):
    answer = _contract.ReduceResponse()
    answer.results.add(op=1, data=bytes(8 * count)).tensor.dtype = 13
    answer.results[0].tensor.shape.append(count)
    return answer.SerializeToString()
