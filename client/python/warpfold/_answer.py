"""The server's answer as NumPy values, believed only as far as it was asked."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple, Union

import numpy as np
from google.protobuf.message import DecodeError

from . import _contract
from ._catalogue import TRAILING_DIMS
from ._dtypes import dtype_named, on_wire
from ._errors import FailedPreconditionError, InternalError
from ._request import ReduceCall

__all__ = [
    "Descriptions",
    "Floating",
    "Integer",
    "Number",
    "Reduction",
    "Timing",
    "Values",
    "check_version",
    "combined",
    "parse_answer",
    "parse_message",
]

# Of results over all axes; the least and the greatest of booleans are numbers by their types alone.
Number = Union[np.floating[Any], np.integer[Any]]
Floating = np.floating[Any]  # of means and their like, whatever the elements are
Integer = np.integer[Any]
# Of other results. A scalar has an array's attributes and methods, and is typed as one, too: which
# of the two it is follows from a shape, which no type has.
Values = np.ndarray[Any, np.dtype[Any]]


class Timing(NamedTuple):
    """Where the time went on the server. Stages may overlap."""

    receive_ns: int
    queue_ns: int
    host_to_device_ns: int
    kernel_ns: int
    device_to_host_ns: int
    total_ns: int


class Reduction(dict[str, Values]):
    """Results by op, in the order asked, and how they came about.

    Where a large tensor travelled in several pieces, timings are their sums.
    """

    def __init__(
        self,
        results: dict[str, Values],
        request_id: str,
        device: str,
        timing: Timing,
        attempts: int,
        state: bytes = b"",
        numerics_version: int = 0,
    ) -> None:
        super().__init__(results)
        self.request_id = request_id
        self.device = device  # as ServerInfo.devices names it
        self.timing = timing
        self.attempts = attempts
        self.state = state  # of a part, instead of results
        self.numerics_version = numerics_version  # of the rules for numbers: ServerInfo has it, too


Descriptions = dict[Any, Reduction]  # by the names of a mapping's tensors


def parse_message(kind: Any, data: bytes) -> Any:
    """InternalError when `data` is none of the kind."""
    try:
        return kind.FromString(data)
    except DecodeError as error:
        name = kind.DESCRIPTOR.name
        raise InternalError(f"the server's answer is not a {name}: {error}") from error


def parse_answer(call: ReduceCall, data: bytes, attempts: int) -> Reduction:
    """InternalError when `data` is not an answer to `call`; ValueError by `refuses_all_nan`."""
    message = parse_message(_contract.ReduceResponse, data)
    ops = () if call.request.return_state else call.ops
    if len(message.results) != len(ops):
        raise InternalError(f"the server answered {len(message.results)} results to {len(ops)} ops")
    if bool(message.state) != call.request.return_state:
        raise InternalError("the server answered a state to a call for results, or none to one")
    check_version(message, call.request.required_numerics_version)
    times = message.timing
    timing = Timing(
        times.receive_ns,
        times.queue_ns,
        times.host_to_device_ns,
        times.kernel_ns,
        times.device_to_host_ns,
        times.total_ns,
    )
    values = {op: _value(op, call, result) for op, result in zip(ops, message.results)}
    if call.refuses_all_nan and any(np.any(index < 0) for index in values.values()):
        raise ValueError("All-NaN slice encountered")
    return Reduction(
        values,
        message.request_id,
        message.device,
        timing,
        attempts,
        message.state,
        message.numerics_version,
    )


def check_version(message: Any, required: int) -> None:
    """FailedPreconditionError when an answer is not of the required numerics_version, if any.

    A server that is older than these does not know that one is asked for.
    """
    if required not in (0, message.numerics_version):
        raise FailedPreconditionError(
            f"required_numerics_version: {required} is asked for, but the answer has version "
            f"{message.numerics_version}"
        )


def combined(values: dict[str, Values], pieces: Iterable[Reduction]) -> Reduction:
    """`values`, which came about by way of the pieces.

    FailedPreconditionError when these are of several numerics_versions.
    """
    pieces = list(pieces)
    versions = sorted({piece.numerics_version for piece in pieces})
    if len(versions) > 1:
        raise FailedPreconditionError(
            f"numerics_version: the pieces of one answer have {' and '.join(map(str, versions))}, "
            "because the servers go by different rules for numbers; "
            "connect(..., required_numerics_version=) asks for one"
        )
    return Reduction(
        values,
        pieces[0].request_id,
        ", ".join(sorted({piece.device for piece in pieces} - {""})),
        Timing(*map(sum, zip(*(piece.timing for piece in pieces)))),
        max(piece.attempts for piece in pieces),
        numerics_version=versions[0],
    )


def _value(op: str, call: ReduceCall, result: Any) -> Any:
    """A NumPy scalar where the result has no dimensions, as NumPy's functions return."""
    shape = tuple(result.tensor.shape)
    own = TRAILING_DIMS.get(op, 0)
    kept = shape[: len(shape) - own]
    name = _contract.DTYPE_NAMES.get(result.tensor.dtype)
    is_asked = result.spec.op == _contract.OPS[op] and kept == call.result_shape
    if is_asked and name is not None and result.trailing_dims == own:
        dtype = dtype_named(name)
        if len(result.data) == dtype.itemsize * math.prod(shape):
            values = np.frombuffer(result.data, dtype=on_wire(dtype))
            if not shape:
                return values[0]
            return values.astype(dtype).reshape(shape)  # a copy, the caller's to write to
    raise InternalError(
        f"the server's result (op {result.spec.op}, {name} {shape}, {result.trailing_dims} "
        f"dimensions of its own, {len(result.data)} bytes) is not one to {op} of shape "
        f"{call.result_shape}"
    )
