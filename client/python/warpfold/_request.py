"""A request, planned before anything is sent, and its bytes.

Protobuf's own serialiser would copy the payload into a message and out of it again. Here the
fields before the payload are serialised, and the payload is joined to them in one copy, the one
that gRPC's `bytes` interface demands. `data` and `chunk` are field 15 and come last, so the result
is exactly what protobuf would have written.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any, Callable, NamedTuple, SupportsIndex

import numpy as np

from . import _contract
from ._arrays import Axis, as_tensor, dtype_number, normalized_axes

Progress = Callable[[int, int], object]  # (bytes_done, bytes_total)

_HEADER_FIELD = 1  # ReduceStreamRequest.header
_PAYLOAD_FIELD = 15  # ReduceRequest.data, ReduceStreamRequest.chunk

# NumPy's other functions, and all its nan* functions, reduce a scalar along axis 0 or -1.
_NO_AXIS_OF_A_SCALAR = {"mean", "var", "std", "l1_norm", "l2_norm"}


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field_prefix(field: int, size: int) -> bytes:
    """The tag and length that announce `size` bytes in `field`, which is at most 15."""
    return bytes([field << 3 | 2]) + _varint(size)


class ReduceCall(NamedTuple):
    """One tensor and what is asked about it."""

    ops: tuple[str, ...]
    head: bytes  # a ReduceRequest without a source
    payload: memoryview
    result_shape: tuple[int, ...]
    refuses_all_nan: bool = False  # an index of no number is a ValueError, as in NumPy

    def unary_message(self) -> bytes:
        prefix = field_prefix(_PAYLOAD_FIELD, len(self.payload))
        return b"".join((self.head, prefix, self.payload))

    def stream_messages(self, chunk_bytes: int) -> Iterator[bytes]:
        yield field_prefix(_HEADER_FIELD, len(self.head)) + self.head
        for start in range(0, len(self.payload), chunk_bytes):
            chunk = self.payload[start : start + chunk_bytes]
            yield b"".join((field_prefix(_PAYLOAD_FIELD, len(chunk)), chunk))


def plan(
    x: Any,
    ops: Sequence[str],
    axis: Axis,
    keepdims: bool,
    *,
    omit_nan: bool = False,
    ddof: SupportsIndex = 0,
    request_id: str = "",
) -> ReduceCall:
    """Checks the arguments as NumPy would; TypeError and ValueError when they are wrong."""
    names = _checked_ops(ops)
    array = as_tensor(x)
    shape = array.shape
    scalar_has_one = omit_nan or _NO_AXIS_OF_A_SCALAR.isdisjoint(names)
    axes = normalized_axes(axis, array.ndim, scalar_has_one=scalar_has_one)
    if axes == ():  # NumPy's "over no axis"; the contract's empty list means all
        shape, axes, keepdims = (*shape, 1), (array.ndim,), False
    request = _contract.ReduceRequest(
        request_id=request_id,
        tensor=_contract.TensorSpec(dtype=dtype_number(array.dtype), shape=shape),
        ops=[_contract.OPS[name] for name in names],
        axes=axes or (),
        keepdims=keepdims,
        correction=operator.index(ddof),
    )
    # Only floats have NaN; a server without OMIT still answers nansum of integers.
    if omit_nan and array.dtype.kind not in "biu":
        request.nan_policy = _contract.NAN_POLICY_OMIT
    return ReduceCall(
        ops=names,
        head=request.SerializeToString(),
        payload=array.reshape(-1).view(np.uint8).data,
        result_shape=_result_shape(shape, axes, keepdims),
    )


def _checked_ops(ops: Sequence[str]) -> tuple[str, ...]:
    if isinstance(ops, str):
        raise TypeError(f"ops is a list of names, not the string {ops!r}")
    names = tuple(ops)
    for name in names:
        if name not in _contract.OPS:
            raise ValueError(f"op {name!r} is none of {', '.join(_contract.OPS)}")
    if not names or len(set(names)) < len(names):
        raise ValueError(f"ops must be one or more, none twice: {list(names)}")
    return names


def _result_shape(
    shape: tuple[int, ...], axes: tuple[int, ...] | None, keepdims: bool
) -> tuple[int, ...]:
    reduced = range(len(shape)) if axes is None else axes
    if keepdims:
        return tuple(1 if i in reduced else length for i, length in enumerate(shape))
    return tuple(length for i, length in enumerate(shape) if i not in reduced)


class Upload(Iterator[bytes]):
    """The messages of one ReduceStream, telling `progress` of each that gRPC has taken.

    An exception of the callback ends the messages and stays in `error`: gRPC would log it and
    hide it, so the client raises it.
    """

    def __init__(self, call: ReduceCall, chunk_bytes: int, progress: Progress | None) -> None:
        self.error: BaseException | None = None
        self._messages = call.stream_messages(chunk_bytes)
        self._chunk_bytes = chunk_bytes
        self._total = len(call.payload)
        self._taken = -1  # messages; the first is the header
        self._progress = progress

    def __next__(self) -> bytes:
        # gRPC asks for a message when it has taken the one before.
        if self._progress is not None and self._taken > 0:
            done = min(self._taken * self._chunk_bytes, self._total)
            try:
                self._progress(done, self._total)
            except BaseException as error:
                self.error = error
                raise StopIteration from None
        self._taken += 1
        return next(self._messages)
