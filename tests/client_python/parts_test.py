"""Parts: whatever way a tensor is cut, its results have the bits of the whole."""

import math

import numpy as np
import pytest
from conftest import SEED, dtype_of
from cuts import CUTS, assert_same_bits, axes_of, floats
from exact_oracle import result

import warpfold


def cut_at_random(shape, axes, rng):
    """Boxes that make up the whole, as (offset, lengths), some of them perhaps empty."""
    boxes = [((0,) * len(shape), shape)]
    for _ in range(7):
        at = int(rng.integers(len(boxes)))
        (offset, lengths), axis = boxes[at], int(rng.choice(axes))
        cut = int(rng.integers(lengths[axis] + 1))
        moved = tuple(o + cut * (i == axis) for i, o in enumerate(offset))
        boxes[at] = (offset, tuple(cut if i == axis else n for i, n in enumerate(lengths)))
        rest = tuple(n - cut if i == axis else n for i, n in enumerate(lengths))
        boxes.insert(at + 1, (moved, rest))
    return boxes


def part_of(x, offset, lengths):
    return x[tuple(slice(o, o + n) for o, n in zip(offset, lengths))]


@pytest.mark.parametrize(
    "dtype", ["float8_e4m3fn", "float8_e5m2", "bfloat16", "float16", "float32", "float64", "int32"]
)
@pytest.mark.parametrize("shape, axis, ops", CUTS)
def test_parts_merge_to_the_bits_of_the_whole(client, shape, axis, ops, dtype):
    x = floats(shape, dtype_of(dtype))
    ops = [op for op in ops if op != "prod" or "float" in dtype]
    rng = np.random.default_rng(SEED)
    expected = client.reduce(x, ops, axis, keepdims=True)
    for _ in range(3):
        boxes = cut_at_random(shape, axes_of(axis) or range(len(shape)), rng)
        states = [
            client.reduce_part(
                part_of(x, *box), ops, axis, whole_shape=shape, offset=box[0], keepdims=True
            )
            for box in boxes
        ]
        rng.shuffle(states)
        assert_same_bits(client.merge(states, request_id="r"), expected)


def test_blocks_of_a_grid_merge_row_by_row(client):
    x = floats((61, 47), np.float32)
    ops = ["sum", "argmin", "argmax", "std"]
    rows, columns = [0, 13, 14, 44, 61], [0, 5, 45, 46, 47]
    states = [
        client.merge_states(
            [
                client.reduce_part(x[a:b, c:d], ops, whole_shape=x.shape, offset=(a, c))
                for c, d in zip(columns, columns[1:])
            ]
        )
        for a, b in zip(rows, rows[1:])
    ]
    assert_same_bits(client.merge(states), client.reduce(x, ops))
    corners = [states[0], client.reduce_part(x[13:, :46], ops, whole_shape=x.shape, offset=13)]
    with pytest.raises(warpfold.InvalidArgumentError, match=r"^states: none has the element at"):
        client.merge_states(corners)


def test_one_number_is_an_offset_along_the_first_axis_that_is_reduced(client):
    x = floats((4, 90, 7))
    for axis in (1, -2, (2, 1)):
        states = [
            client.reduce_part(x[:, a:b], ["sum"], axis, whole_shape=x.shape, offset=np.int64(a))
            for a, b in ((0, 31), (31, 90))
        ]
        assert_same_bits(client.merge(states), client.reduce(x, ["sum"], axis))
    for wrong in ("1", 1.5, (0, 1.5, 0), None):
        with pytest.raises(TypeError, match="^offset is "):
            client.reduce_part(x, ["sum"], 1, whole_shape=x.shape, offset=wrong)
    with pytest.raises(ValueError, match="^offset has 9223372036854775808, which does not fit"):
        client.reduce_part(x, ["sum"], 1, whole_shape=x.shape, offset=2**63)
    for wrong in (4, None, (4.5, 90, 7)):
        with pytest.raises(TypeError, match="^whole_shape is "):
            client.reduce_part(x, ["sum"], 1, whole_shape=wrong, offset=0)
    with pytest.raises(ValueError, match="^axis is .*no axis to reduce"):
        client.reduce_part(x, ["sum"], (), whole_shape=x.shape, offset=0)
    with pytest.raises(warpfold.InvalidArgumentError, match="^axes: 2 is out of range"):
        client.reduce_part(x, ["sum"], 2, whole_shape=x.shape[:2], offset=(0, 0))
    with pytest.raises(warpfold.InvalidArgumentError, match=r"^part.offset: has 2 indices"):
        client.reduce_part(x, ["sum"], 1, whole_shape=x.shape, offset=(0, 0))


def merged_at_random(client, states, rng):
    """Two states, after neighbours were merged in twos and threes."""
    states = list(states)
    while len(states) > 2:
        at = int(rng.integers(0, len(states) - 1))
        count = int(rng.integers(2, 4))
        states[at : at + count] = [client.merge_states(states[at : at + count])]
    return states


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_parts_of_any_size_merge_to_the_exact_sum_rounded_once(client, dtype):
    rng = np.random.default_rng(SEED)
    for _ in range(5):
        half = floats((int(rng.integers(2, 1500)),), dtype)
        x = np.concatenate([half, -half, np.array([2.0**-20], dtype)])  # all but the last cancels
        rng.shuffle(x)
        cuts = sorted([0, len(x), *rng.integers(0, len(x), 6).tolist()])
        states = [
            client.reduce_part(x[a:b], ["sum", "var"], whole_shape=x.shape, offset=a)
            for a, b in zip(cuts, cuts[1:])
        ]
        answer = client.merge(merged_at_random(client, states, rng))
        assert answer["sum"] == math.fsum(x) == 2.0**-20
        assert float(answer["var"]) == result("var", x, x.dtype.name)


def test_a_part_outside_of_the_whole_is_refused(client):
    for offset in (-1, 5, 6):
        with pytest.raises(warpfold.InvalidArgumentError, match=r"^part"):
            client.reduce_part(np.ones(2), ["sum"], whole_shape=(6,), offset=offset)


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
    for wrong in ("text", ["text"], [1], part, [bytearray(part)]):
        with pytest.raises(TypeError, match="^states"):
            client.merge(wrong)
    with pytest.raises(TypeError):
        client.merge(None)


def test_states_may_be_of_any_iterable(client):
    x = floats((100,))
    states = {
        a: client.reduce_part(x[a : a + 50], ["sum"], whole_shape=x.shape, offset=a)
        for a in (0, 50)
    }
    for given in (states.values(), iter(states.values()), tuple(states.values())):
        assert client.merge(given)["sum"] == client.sum(x)
    assert client.merge([client.merge_states(iter(states.values()))])["sum"] == client.sum(x)


def test_asyncio_has_parts(server, either_client):
    client = either_client(server)
    x = floats((2048,))
    states = [
        client.reduce_part(x[a : a + 1024], ["sum"], whole_shape=x.shape, offset=a)
        for a in (0, 1024)
    ]
    assert_same_bits(client.merge([client.merge_states(states)]), client.reduce(x, ["sum"]))
