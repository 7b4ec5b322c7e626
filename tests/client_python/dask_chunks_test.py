"""The blocks of chunked arrays as parts: any grid's states merge to the bits of the whole array.

Dask itself is not needed here; tests/dask has it.
"""

import itertools

import numpy as np
import pytest
from conftest import SEED
from exact_oracle import result

from warpfold._dask_chunks import blocks_of

SUMS = ("sum", "std", "l2_norm")
INDICES = ("argmin", "argmax")
OTHERS = ("min", "max", "count_nonzero")


def array(shape, dtype):
    rng = np.random.default_rng(SEED)
    x = rng.standard_normal(shape) * 2.0 ** rng.integers(-9, 9, shape)
    return (x if np.dtype(dtype).kind == "f" else x * 100).astype(dtype)


def reduced_by_blocks(client, x, chunks, axes, ops):
    """The results, from a state for each block."""
    blocks, needed = blocks_of(x.shape, chunks, axes, ops)
    results = []
    ends = [[0, *itertools.accumulate(lengths)] for lengths in needed]
    ranges = [list(zip(axis_ends, axis_ends[1:])) for axis_ends in ends]
    kept = [i for i in range(x.ndim) if i not in axes]
    for kept_ranges in itertools.product(*(ranges[i] for i in kept)):
        states = []
        for reduced_ranges in itertools.product(*(ranges[i] for i in sorted(axes))):
            where = dict(zip(kept, kept_ranges)) | dict(zip(sorted(axes), reduced_ranges))
            block = x[tuple(slice(*where[i]) for i in range(x.ndim))]
            part = blocks.part(block, [where[i][0] for i in range(x.ndim)])
            states.append(
                client.reduce_part(
                    part.x, ops, part.axis, whole_shape=part.whole_shape, offset=part.offset
                )
            )
        results.append((tuple(slice(*r) for r in kept_ranges), client.merge(states)))
    return needed, results


@pytest.mark.parametrize(
    "shape, chunks, axes",
    [
        ((300, 70), ((64, 64, 172), (70,)), (0,)),
        ((300, 70), ((50,) * 6, (20, 20, 29, 1)), (0,)),
        ((300, 70), ((50,) * 6, (20, 20, 29, 1)), (1,)),
        ((300, 70), ((50,) * 6, (20, 20, 20, 10)), (0, 1)),
        ((300, 70), ((299, 1), (70,)), (0, 1)),
        ((10, 30, 70), ((3, 3, 3, 1), (29, 1), (9,) * 7 + (7,)), (0, 2)),
        ((10, 30, 70), ((3, 3, 3, 1), (1,) * 30, (70,)), (1, 2)),
        ((10, 30, 70), ((5, 5), (8, 8, 8, 6), (35, 35)), (1,)),
        ((10, 30, 70), ((5, 5), (15, 15), (35, 35)), (0, 1, 2)),
        ((1, 3000), ((1,), (1000,) * 3), (0, 1)),
        ((1, 5), ((1,), (2, 3)), (0,)),
        ((0, 5), ((0,), (2, 3)), (0,)),
        ((5000,), ((7, 1, 0, 4992),), (0,)),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int8])
@pytest.mark.parametrize("ops", [SUMS, INDICES, OTHERS, SUMS + INDICES])
def test_every_grid_comes_to_the_bits_of_the_whole(client, shape, chunks, axes, dtype, ops):
    x = array(shape, dtype)
    ops = [op for op in ops if x.size or op in ("sum", "std", "count_nonzero")]
    if not ops:
        pytest.skip("an empty array has no minimum and no index")
    whole = client.reduce(x, ops, axes)
    needed, results = reduced_by_blocks(client, x, chunks, axes, ops)
    for where, found in results:
        for op in ops:
            assert np.asarray(found[op]).tobytes() == whole[op][where].tobytes()
    # The chunks that an index needs are fit for themselves: nothing is moved twice.
    assert blocks_of(x.shape, needed, axes, ops)[1] == needed
    if set(ops).isdisjoint(INDICES):
        assert needed == chunks


GRIDS = [
    ((61, 47), ((13, 1, 30, 17), (5, 40, 1, 1))),
    ((11, 23, 17), ((1, 3, 7), (10, 1, 12), (2, 1, 13, 1))),
]


@pytest.mark.parametrize("shape, chunks", GRIDS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_float_array_in_any_grid_comes_to_the_exact_results(client, shape, chunks, dtype):
    x = array(shape, dtype)
    ops = ("sum", "mean", "var")
    all_axes = range(len(shape))
    for axes in itertools.chain(*(itertools.combinations(all_axes, n + 1) for n in all_axes)):
        whole = client.reduce(x, ops, axes)
        needed, results = reduced_by_blocks(client, x, chunks, axes, ops)
        assert needed == chunks
        for where, found in results:
            for op in ops:
                assert np.asarray(found[op]).tobytes() == whole[op][where].tobytes()
        rows = np.moveaxis(x, axes, range(len(axes))).reshape(-1, whole["sum"].size)
        for at in {0, rows.shape[1] // 2, rows.shape[1] - 1}:
            for op in ops:
                exact = result(op, rows[:, at], np.dtype(dtype).name)
                assert float(np.ravel(whole[op])[at]) == exact


@pytest.mark.parametrize(
    "chunks, axes, ops, expected",
    [
        (((100, 100), (32, 32)), (0, 1), ["sum"], None),
        (((1, 199), (63, 1)), (0,), ["var"], None),
        (((100, 100), (64,)), (0,), ["argmax"], None),
        (((1, 199), (63, 1)), (0,), ["argmax"], None),
        (((7, 193), (64,)), (0, 1), ["argmax"], None),
        (((100, 100), (32, 32)), (1,), ["argmax"], None),
        (((100, 100), (32, 32)), (0, 1), ["argmax"], ((50,) * 4, (64,))),
        (((100, 100), (32, 32)), (0, 1), ["sum", "argmin"], ((50,) * 4, (64,))),
    ],
)
def test_chunks_are_left_alone_but_for_an_index_and_then_keep_their_weight(
    chunks, axes, ops, expected
):
    assert blocks_of((200, 64), chunks, axes, ops)[1] == (expected or chunks)
