"""How the blocks of a chunked array are parts of it; nothing here needs Dask.

An array is cut along the first of its reduced axes alone (`rows`), at the places where the order
allows it: its blocks are then parts as the contract has them. Where no op depends on the order, the
elements that are reduced are one run in whatever order, and the blocks of any grid are parts of it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ._parts import depends_on_order, outermost_run

__all__ = ["Blocks", "Chunks", "Part", "blocks_of"]

Chunks = tuple[tuple[int, ...], ...]
_INDEX_OPS = {"argmin", "argmax"}  # independent of the order of additions, not of the elements'


class Part(NamedTuple):
    """The arguments of Client.reduce_part."""

    x: np.ndarray[Any, Any]
    axis: tuple[int, ...]
    whole_shape: tuple[int, ...]
    offset: int


class Blocks(NamedTuple):
    """An array's blocks, whose lengths along kept axes are those of arrays of their own."""

    shape: tuple[int, ...]
    axes: tuple[int, ...]  # reduced ones, ascending
    rows: int | None  # the axis that is cut; None: a grid of unordered blocks

    def part(self, x: np.ndarray[Any, Any], starts: Sequence[int]) -> Part:
        """The block `x`, whose first element is at `starts`."""
        if self.rows is None:
            return self._of_grid(x, starts)
        whole = tuple(self.shape[i] if i in self.axes else n for i, n in enumerate(x.shape))
        behind = itertools.takewhile(
            lambda i: i in self.axes or whole[i] == 1, range(self.rows + 1, len(whole))
        )
        row_indices = math.prod(whole[i] for i in behind)
        return Part(x, self.axes, whole, starts[self.rows] * row_indices)

    def _of_grid(self, x: np.ndarray[Any, Any], starts: Sequence[int]) -> Part:
        """Reduced elements in front, as one axis; blocks follow each other in C order."""
        offset = 0
        taken = 1  # of the axes so far, the block's elements
        for place, axis in enumerate(self.axes):
            further = math.prod(self.shape[i] for i in self.axes[place + 1 :])
            offset += taken * starts[axis] * further
            taken *= x.shape[axis]
        kept = [n for i, n in enumerate(x.shape) if i not in self.axes]
        flat = np.moveaxis(x, self.axes, range(len(self.axes))).reshape(taken, *kept)
        whole = math.prod(self.shape[i] for i in self.axes)
        return Part(flat, (0,), (whole, *kept), offset)


def blocks_of(
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    chunks: Chunks,
    axes: Sequence[int],
    ops: Sequence[str],
) -> tuple[Blocks, Chunks]:
    """What the blocks are, and the chunks that they need: often the array's own.

    `axes` are one or more, in [0, rank).
    """
    axes = tuple(sorted(axes))
    ordered = depends_on_order(dtype, ops)
    if not ordered and _INDEX_OPS.isdisjoint(ops):
        return Blocks(shape, axes, None), chunks
    run = outermost_run(shape, axes, dtype, ops)
    rows = run.dimensions[0] if run else -1
    needed = list(chunks)
    for axis, lengths in enumerate(chunks):
        if axis in axes and axis != rows:
            needed[axis] = (shape[axis],)
        elif ordered and axis not in axes and axis > axes[0]:
            needed[axis] = _without_ones(lengths)
    if run is None:
        return Blocks(shape, axes, axes[0]), tuple(needed)
    row_indices = run.length // shape[rows]
    step = run.unit // math.gcd(run.unit, row_indices)
    if tuple(needed[axis] for axis in axes if axis != rows) == tuple(
        chunks[axis] for axis in axes if axis != rows
    ):
        needed[rows] = _snapped(chunks[rows], step)
    else:  # whole rows are wider than blocks were: as many as weigh the same
        row_elements = math.prod(max(c) for i, c in enumerate(needed) if i != rows)
        target = math.prod(max(c) for c in chunks) // row_elements // step * step
        needed[rows] = _even(shape[rows], max(step, target))
    return Blocks(shape, axes, rows), tuple(needed)


def _snapped(lengths: Sequence[int], step: int) -> tuple[int, ...]:
    """The cuts moved to the nearest multiples of `step`."""
    ends = list(itertools.accumulate(lengths))
    cuts = {(2 * end + step) // (2 * step) * step for end in ends[:-1]}
    places = sorted({0, ends[-1], *(cut for cut in cuts if cut < ends[-1])})
    return tuple(b - a for a, b in zip(places, places[1:]))


def _even(length: int, step: int) -> tuple[int, ...]:
    return tuple(min(step, length - start) for start in range(0, length, step))


def _without_ones(lengths: Sequence[int]) -> tuple[int, ...]:
    """Each chunk of length 1 joined to the one before it, or after it if it is the first."""
    joined: list[int] = []
    for length in lengths:
        if joined and (length == 1 or joined[-1] == 1):
            joined[-1] += length
        else:
            joined.append(length)
    return tuple(joined)
