"""What may be cut into parts whose bytes lie in a row, and how large their states may be."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

from ._contract import DTYPES
from ._dtypes import FLOAT8

__all__ = ["Run", "StateBytes", "outermost_run", "state_bytes"]

_FLOATS = {name for name in DTYPES if "float" in name}
_SUMS = {"sum", "mean", "var", "std"}
_SQUARES = {"l2_norm", "var", "std"}
# The most that a sum takes: every digit between the smallest element and the sum of 2^63 of the
# largest. And the most that a sum of squares takes.
_SUM_BYTES_MAX = {
    **dict.fromkeys(("float16", *FLOAT8), 20),
    **{"bfloat16": 48, "float32": 48, "float64": 276},
}
_SQUARE_SUM_BYTES_MAX = {
    **dict.fromkeys(("float16", *FLOAT8), 24),
    **{"bfloat16": 84, "float32": 84, "float64": 540},
}
_INTEGER_SUM_BYTES_MAX = 20
_INTEGER_SQUARE_SUM_BYTES_MAX = 28
# What they take of most data: of a million float64 elements, the largest 2^20 times the smallest,
# 5 digits of 4 bytes, or of squares 7, after 4 bytes of flags and places.
_SUM_BYTES_COMMON = 24
_SQUARE_SUM_BYTES_COMMON = 32
_FLOAT_PRODUCT_BYTES = 33
_OTHER_BYTES_MAX = 16  # an index and a key, or the product of integers
_NAN_COUNT_BYTES = 8


class Run(NamedTuple):
    """The outermost reduced dimension and those behind it as long as they are reduced, too."""

    dimensions: tuple[int, ...]  # those longer than 1
    length: int  # indices


def outermost_run(shape: Sequence[int], axes: Collection[int] | None) -> Run | None:
    """`axes` in [0, rank), None or none at all for all. None when nothing longer than 1 is reduced,
    or there are no elements."""
    if 0 in shape:
        return None
    longer = [i for i, length in enumerate(shape) if length > 1]
    reduced = [i for i in longer if not axes or i in axes]
    if not reduced:
        return None
    run = []
    for i in longer[longer.index(reduced[0]) :]:
        if i not in reduced:
            break
        run.append(i)
    return Run(tuple(run), math.prod(shape[i] for i in run))


class StateBytes(NamedTuple):
    """What a state's values take for an element of the results."""

    common: int  # of most data
    most: int  # of any


def state_bytes(dtype: str, ops: Collection[str], omit_nan: bool) -> StateBytes:
    """`dtype` by NumPy's name. What several ops have in common is in a state once."""
    names = set(ops)
    sum_max = _SUM_BYTES_MAX.get(dtype, _INTEGER_SUM_BYTES_MAX)
    squares_max = _SQUARE_SUM_BYTES_MAX.get(dtype, _INTEGER_SQUARE_SUM_BYTES_MAX)
    sums = bool(names & _SUMS) + ("l1_norm" in names)
    squares = bool(names & _SQUARES)
    others = len(names - _SUMS - _SQUARES - {"l1_norm", "prod"}) * _OTHER_BYTES_MAX
    if "prod" in names:
        others += _FLOAT_PRODUCT_BYTES if dtype in _FLOATS else _OTHER_BYTES_MAX
    if omit_nan and dtype in _FLOATS:
        others += _NAN_COUNT_BYTES
    return StateBytes(
        common=sums * min(sum_max, _SUM_BYTES_COMMON)
        + squares * min(squares_max, _SQUARE_SUM_BYTES_COMMON)
        + others,
        most=sums * sum_max + squares * squares_max + others,
    )
