"""A large array as several smaller calls, which travel over several connections.

The bits are those of one call. Where the outermost dimension is kept, its slices are reductions of
their own, and their results lie behind each other. Where it is reduced, its ranges are parts, whose
states Merge joins. Uploading to a resident tensor over several connections would serve as well, but
takes memory on the server for all of it and reduces nothing before the last byte.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from . import _contract
from ._info import Limits
from ._parts import outermost_run, state_bytes
from ._request import ReduceCall, copy_of, plan_part, result_shape

__all__ = ["Stripes", "cut_to", "laid_together", "stripes_of"]

# Of the payload: else as many bytes come back and go again. By the size that states have of most
# data. Of float64 whose exponents differ widely it may be fifteen times that, which costs time and
# nothing else.
_STATES_SHARE_MAX = 1 / 8


class Stripes(NamedTuple):
    calls: list[ReduceCall]
    are_parts: bool  # to be merged; otherwise their results lie behind each other


def stripes_of(call: ReduceCall, count: int, limits: Limits) -> Stripes | None:
    """Some `count` of them. None when the call cannot be cut, or not with profit."""
    shape = tuple(call.tensor.shape)
    longer = [i for i, length in enumerate(shape) if length > 1]
    if count < 2 or not longer or not call.payload_bytes or call.request.return_state:
        return None
    if call.request.axes and longer[0] not in call.request.axes:
        return _slices(call, shape, longer[0], count)
    return _parts(call, shape, count, limits)


def cut_to(call: ReduceCall, piece_bytes: int, limits: Limits) -> Stripes | None:
    """Stripes of at most so many bytes. None as stripes_of, and when there are none."""
    count = -(-call.payload_bytes // piece_bytes)
    for times in (1, 2):  # rounded to whole indices, a piece may be larger than its share
        stripes = stripes_of(call, times * count, limits)
        if stripes is None or max(c.payload_bytes for c in stripes.calls) <= piece_bytes:
            return stripes
    return None


def _slices(call: ReduceCall, shape: tuple[int, ...], axis: int, count: int) -> Stripes:
    rows = -(-shape[axis] // count)

    def slice_at(start: int) -> ReduceCall:
        own = _with(shape, axis, min(rows, shape[axis] - start))
        results = result_shape(own, tuple(call.request.axes), call.request.keepdims)
        return _piece(call, shape[axis], start, own)._replace(result_shape=results)

    return Stripes([slice_at(start) for start in range(0, shape[axis], rows)], are_parts=False)


def _parts(call: ReduceCall, shape: tuple[int, ...], count: int, limits: Limits) -> Stripes | None:
    run = outermost_run(shape, call.request.axes)
    if run is None:
        return None
    step = -(-run.length // count)
    parts = -(-run.length // step)
    dtype = _contract.DTYPE_NAMES[call.tensor.dtype]
    omit_nan = call.request.nan_policy == _contract.NAN_POLICY_OMIT
    each = state_bytes(dtype, call.ops, omit_nan)
    elements = math.prod(call.result_shape)
    if elements * each.common * parts > call.payload_bytes * _STATES_SHARE_MAX:
        return None
    # Whatever the data are, the server takes the states: each as an answer, all as one message.
    if elements * each.most > (limits.max_result_bytes or math.inf):
        return None
    if elements * each.most * parts > (limits.max_message_bytes or math.inf):
        return None

    # The run as one dimension, whose ranges are parts that lie in a row.
    first = run.dimensions[0]
    flat = tuple(1 if i in run.dimensions else length for i, length in enumerate(shape))
    whole = _with(flat, first, run.length)

    def part_at(start: int) -> ReduceCall:
        own = _with(flat, first, min(step, run.length - start))
        offset = _with((0,) * len(shape), first, start)
        return plan_part(_piece(call, run.length, start, own), whole, offset)

    return Stripes([part_at(start) for start in range(0, run.length, step)], are_parts=True)


def _with(shape: tuple[int, ...], axis: int, length: int) -> tuple[int, ...]:
    return (*shape[:axis], length, *shape[axis + 1 :])


def _piece(call: ReduceCall, length: int, start: int, shape: tuple[int, ...]) -> ReduceCall:
    """What begins at index `start` of the `length` that the payload has outermost."""
    index_bytes = call.payload_bytes // length
    size = math.prod(shape) * (call.payload_bytes // math.prod(call.tensor.shape))
    request = copy_of(call.request)
    request.sources[0].tensor.shape[:] = shape
    payload = call.host_payload[start * index_bytes : start * index_bytes + size]
    return call._replace(request=request, payload=payload)


def laid_together(call: ReduceCall, values: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The results of slices, one behind the other."""

    def joined(results: list[Any]) -> Any:
        own = np.shape(results[0])[len(call.result_shape) :]  # dimensions of the op's own
        return np.concatenate([np.ravel(x) for x in results]).reshape(call.result_shape + own)

    return {op: joined([value[op] for value in values]) for op in call.ops}
