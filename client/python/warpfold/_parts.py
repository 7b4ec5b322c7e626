"""Where a tensor may be cut into parts whose states merge to the bits of the whole.

The rule is that of `Part` in reduction.proto; docs/order.md says why.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Run", "depends_on_order", "outermost_run"]

_NEVER_ORDERED = {
    "min",
    "max",
    "argmin",
    "argmax",
    "any",
    "all",
    "count_nonzero",
    "nan_count",
    "inf_count",
}
_UNORDERED_OF_INTEGERS = _NEVER_ORDERED | {"sum", "mean", "prod", "l1_norm"}
_UNORDERED_OF_SHORT_INTEGERS = _UNORDERED_OF_INTEGERS | {"l2_norm", "var", "std"}
_COLUMN_LEAF = 8  # indices
_ROW_TILE_BYTES = 4096


class Run(NamedTuple):
    """The outermost reduced run of a tensor: parts are ranges of its indices."""

    dimensions: tuple[int, ...]  # those longer than 1
    length: int  # indices
    inner: int  # elements behind each index
    unit: int  # cuts fall at multiples of it, and at the end


def depends_on_order(dtype: np.dtype[Any], ops: Collection[str]) -> bool:
    """Whether any of the ops rounds on its way."""
    if dtype.kind not in "biu":
        return not _NEVER_ORDERED.issuperset(ops)
    if dtype.itemsize > 2:
        return not _UNORDERED_OF_INTEGERS.issuperset(ops)
    return not _UNORDERED_OF_SHORT_INTEGERS.issuperset(ops)


def outermost_run(
    shape: Sequence[int], axes: Collection[int] | None, dtype: np.dtype[Any], ops: Collection[str]
) -> Run | None:
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
    inner = math.prod(shape[run[-1] + 1 :])
    if not depends_on_order(dtype, ops) or len(reduced) > len(run):
        unit = 1
    else:
        unit = _COLUMN_LEAF if inner > 1 else _ROW_TILE_BYTES // dtype.itemsize
    return Run(tuple(run), math.prod(shape[i] for i in run), inner, unit)
