"""How the blocks of a chunked array are parts of it; nothing here needs Dask.

Results do not depend on the elements' order, so those that are reduced are one run in whatever
order, and the blocks of any grid are parts of it. Not so an index, which counts in C order: for
argmin and argmax an array is cut along the first of its reduced axes alone (`rows`), anywhere.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ._parts import outermost_run

__all__ = ["Blocks", "Chunks", "Part", "blocks_of"]

Chunks = tuple[tuple[int, ...], ...]
_INDEX_OPS = {"argmin", "argmax"}


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
    rows: int | None  # the axis that is cut; None: any of the reduced ones

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
    shape: tuple[int, ...], chunks: Chunks, axes: Sequence[int], ops: Sequence[str]
) -> tuple[Blocks, Chunks]:
    """What the blocks are, and the chunks that they need: but for an index, the array's own.

    `axes` are one or more, in [0, rank).
    """
    axes = tuple(sorted(axes))
    if _INDEX_OPS.isdisjoint(ops):
        return Blocks(shape, axes, None), chunks
    run = outermost_run(shape, axes)
    rows = run.dimensions[0] if run else axes[0]
    needed = list(chunks)
    for axis in axes:
        if axis != rows or run is None:
            needed[axis] = (shape[axis],)
    if run is not None and any(needed[axis] != chunks[axis] for axis in axes):
        # Whole rows are wider than blocks were: as many as weigh the same.
        row_elements = math.prod(max(c) for i, c in enumerate(needed) if i != rows)
        target = math.prod(max(c) for c in chunks) // row_elements
        needed[rows] = _even(shape[rows], max(1, target))
    return Blocks(shape, axes, rows), tuple(needed)


def _even(length: int, step: int) -> tuple[int, ...]:
    return tuple(min(step, length - start) for start in range(0, length, step))
