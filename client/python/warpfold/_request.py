"""One call's messages, written so that the payload is copied once.

A request is a small protobuf message followed by a field of bytes: the array's memory. Joining the
two here, instead of handing the payload to protobuf, keeps the copies at one: into the message
that gRPC's `bytes` interface demands. `data` and `chunk` are field 15 and come last, so the result
is exactly what protobuf would have written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, SupportsIndex, Union, cast

import numpy as np

from . import _contract
from ._arrays import Axis, Real, as_operand, normalized_axes, real, truth, whole
from ._catalogue import PARAMS
from ._contract import Op
from ._cuda_array import CudaArray
from ._dtypes import dtype_named, dtype_number, result_dtype
from ._forms import Form, Out, widened
from ._shaped import Named

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = [
    "Offset",
    "ReduceCall",
    "Upload",
    "call_of_state",
    "checked_ops",
    "checked_states",
    "copy_of",
    "demanding",
    "field_prefix",
    "form_of",
    "payload_of",
    "plan",
    "plan_merge",
    "plan_part",
    "result_shape",
]

_HEADER_FIELD = 1  # ReduceStreamRequest.header, WriteTensorRequest.header
_PAYLOAD_FIELD = 15  # ReduceRequest.data and the two's chunk

_INDEX_OPS = {"argmin", "argmax"}
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
    request: Any  # the ReduceRequest but for its `data`; nobody changes it
    payload: memoryview | CudaArray | None  # None: the request names what the server has
    result_shape: tuple[int, ...]
    refuses_all_nan: bool = False  # an index of no number is a ValueError, as in NumPy

    @property
    def tensor(self) -> Any:
        """The TensorSpec of the values."""
        return self.request.sources[0].tensor

    @property
    def payload_bytes(self) -> int:
        return 0 if self.payload is None else self.payload.nbytes

    @property
    def host_payload(self) -> memoryview:
        assert isinstance(self.payload, memoryview)
        return self.payload

    def unary_message(self) -> bytes:
        head: bytes = self.request.SerializeToString()
        prefix = field_prefix(_PAYLOAD_FIELD, self.payload_bytes)
        return b"".join((head, prefix, self.host_payload))

    def at_memory(self, name_in: Callable[[Any], object]) -> ReduceCall:
        """The same of bytes in a registered region, which `name_in` says in the source."""
        request = copy_of(self.request)
        name_in(request.sources[0])
        return self._replace(request=request, payload=None)


def plan(
    x: Any,
    ops: Sequence[str],
    axis: Axis,
    keepdims: bool,
    *,
    omit_nan: bool = False,
    ddof: Real = 0,
    request_id: str = "",
    is_part: bool = False,
) -> ReduceCall:
    """Checks the arguments as NumPy would; TypeError and ValueError when they are wrong.

    `is_part`: of a larger array. No element may be missing, as for ops that say where one is, and
    there has to be an axis along which there are parts.
    """
    names = checked_ops(ops)
    keepdims = truth("keepdims", keepdims)
    remote = isinstance(x, Named)
    whole_array = is_part or not _INDEX_OPS.isdisjoint(names)
    tensor = x if remote else as_operand(x, whole=whole_array)
    shape = tensor.shape
    scalar_has_one = omit_nan or _NO_AXIS_OF_A_SCALAR.isdisjoint(names)
    axes = normalized_axes(axis, len(shape), scalar_has_one=scalar_has_one)
    if axes == () and is_part:
        raise ValueError("axis is (): there is no axis to reduce, along which there are parts")
    if axes == ():  # NumPy's "over no axis"; the contract's empty list means all
        if not isinstance(x, Named) or x.reshapes:
            shape, axes, keepdims = (*shape, 1), (len(shape),), False
        elif shape:
            axes, keepdims = (_axis_of_one(shape),), True
    # Only floats have NaN; a server without OMIT still answers nansum of integers.
    omit_nan = omit_nan and tensor.dtype.kind not in "biu"
    request = _request_of(
        names, dtype_number(tensor.dtype), shape, axes, keepdims, omit_nan, real("ddof", ddof)
    )
    if remote or request_id:
        request = copy_of(request)
        request.request_id = request_id
    if remote:
        x.name_in(request.sources[0])
    return ReduceCall(
        ops=names,
        request=request,
        payload=None if remote else payload_of(tensor),
        result_shape=result_shape(shape, axes, keepdims),
    )


def _axis_of_one(shape: Sequence[int]) -> int:
    """The axis along which each element is reduced by itself."""
    if 1 not in shape:
        raise ValueError(
            f"axis is (), but a tensor on the server of shape {tuple(shape)} has no axis of length "
            "1 to reduce; pass the array itself"
        )
    return list(shape).index(1)


@lru_cache(maxsize=256)  # a third of a small call's time is spent around its RPC
def _request_of(
    ops: tuple[str, ...],
    dtype: int | None,
    shape: tuple[int, ...],
    axes: tuple[int, ...] | None,
    keepdims: bool,
    omit_nan: bool,
    correction: float,
) -> Any:
    request = _contract.ReduceRequest(axes=axes or (), keepdims=keepdims)
    for name in ops:
        spec = request.ops.add(op=_contract.OPS[name])
        if PARAMS.get(name) == "variance":
            spec.variance.correction = correction
    tensor = request.sources.add().tensor
    tensor.dtype = dtype
    tensor.shape.extend(shape)
    if omit_nan:
        request.nan_policy = _contract.NAN_POLICY_OMIT
    return request


def form_of(function: str, call: ReduceCall, dtype: DTypeLike | None, out: Out) -> Form | None:
    """What to make of the result of the call's only op; None: nothing."""
    if dtype is None and out is None:
        return None
    elements = dtype_named(_contract.DTYPE_NAMES[call.tensor.dtype])
    own = result_dtype(call.ops[0], elements)
    return widened(function, own, call.result_shape, dtype, out)


def copy_of(request: Any) -> Any:
    copy = _contract.ReduceRequest()
    copy.CopyFrom(request)
    return copy


# Of a part: where it begins in the whole, for each axis, or along the first that is reduced.
Offset = Union[SupportsIndex, Sequence[SupportsIndex]]


def plan_part(call: ReduceCall, whole_shape: Sequence[SupportsIndex], offset: Offset) -> ReduceCall:
    """The same of a part of a tensor of `whole_shape`; the server says what is wrong with it."""
    request = copy_of(call.request)
    request.return_state = True
    lengths = _whole_numbers("whole_shape", whole_shape)
    request.part.whole_shape.extend(lengths)
    request.part.offset.extend(_starts(offset, request.axes, len(lengths)))
    return call._replace(request=request)


def _starts(offset: Offset, axes: Sequence[int], rank: int) -> list[int]:
    if np.ndim(cast("Any", offset)):
        return _whole_numbers("offset", cast("Sequence[SupportsIndex]", offset))
    starts = [0] * rank
    (start,) = _whole_numbers("offset", [cast("SupportsIndex", offset)])
    first = min(axes, default=0)
    if first < rank:
        starts[first] = start
    return starts


def _whole_numbers(name: str, values: Sequence[SupportsIndex]) -> list[int]:
    """TypeError and ValueError name what is none, or does not fit the contract's 64 bits."""
    if not np.ndim(cast("Any", values)):
        raise TypeError(f"{name} is {values!r}, but must be a sequence of whole numbers")
    numbers = [whole(name, value) for value in values]
    for number in numbers:
        if not -(2**63) <= number < 2**63:
            raise ValueError(f"{name} has {number}, which does not fit 64 bits")
    return numbers


def demanding(call: ReduceCall, version: int) -> ReduceCall:
    """The same, to be answered by that numerics_version alone; 0: by any."""
    if not version:
        return call
    request = copy_of(call.request)
    request.required_numerics_version = version
    return call._replace(request=request)


def checked_states(states: Iterable[bytes]) -> list[bytes]:
    """TypeError when they are not bytes."""
    if isinstance(states, (bytes, str)):
        raise TypeError(f"states is one {type(states).__name__}, but must be several states")
    listed = list(states)
    for i, state in enumerate(listed):
        if not isinstance(state, bytes):
            kind = type(state).__name__
            raise TypeError(
                f"states[{i}] is a {kind}, but states are the bytes that reduce_part and "
                "merge_states return"
            )
    return listed


def plan_merge(
    states: Sequence[bytes], request_id: str, required_version: int, *, return_state: bool
) -> bytes:
    request = _contract.MergeRequest(
        request_id=request_id,
        return_state=return_state,
        required_numerics_version=required_version,
    )
    request.states.extend(states)
    message: bytes = request.SerializeToString()
    return message


def call_of_state(state: bytes) -> ReduceCall:
    """The call whose answer merged states of this kind are."""
    partial = _contract.PartialState.FromString(state)
    shape = tuple(partial.tensor.shape)
    return ReduceCall(
        ops=tuple(_contract.OP_NAMES[spec.op] for spec in partial.ops),
        request=_contract.ReduceRequest(),
        payload=None,
        result_shape=result_shape(shape, tuple(partial.axes), partial.keepdims),
    )


def payload_of(array: Any) -> Any:
    """The memory of what as_operand returned: a memoryview, or the CudaArray itself."""
    return array if isinstance(array, CudaArray) else array.reshape(-1).view(np.uint8).data


def checked_ops(ops: Sequence[str]) -> tuple[Op, ...]:
    if isinstance(ops, str):
        raise TypeError(f"ops is a list of names, not the string {ops!r}")
    names = tuple(ops)
    for name in names:
        if name not in _contract.OPS:
            raise ValueError(f"op {name!r} is none of {', '.join(_contract.OPS)}")
    if not names or len(set(names)) < len(names):
        raise ValueError(f"ops must be one or more, none twice: {list(names)}")
    return cast("tuple[Op, ...]", names)


def result_shape(
    shape: Sequence[int], axes: Sequence[int] | None, keepdims: bool
) -> tuple[int, ...]:
    reduced = range(len(shape)) if axes is None else axes
    if keepdims:
        return tuple(1 if i in reduced else length for i, length in enumerate(shape))
    return tuple(length for i, length in enumerate(shape) if i not in reduced)


class Upload(Iterator[bytes]):
    """The messages of one ReduceStream or WriteTensor: a header, then the payload in chunks.

    `tell` is told the bytes that gRPC has taken so far. An exception of it ends the messages and
    stays in `error`: gRPC would log it and hide it, so the client raises it.
    """

    def __init__(
        self,
        header: bytes,
        payload: memoryview,
        chunk_bytes: int,
        tell: Callable[[int], object] = lambda done: None,
    ) -> None:
        self.error: BaseException | None = None
        self._messages = _messages(header, payload, chunk_bytes)
        self._chunk_bytes = chunk_bytes
        self._total = len(payload)
        self._taken = -1  # messages; the first is the header
        self._tell = tell

    def __next__(self) -> bytes:
        # gRPC asks for a message when it has taken the one before.
        if self._taken > 0:
            try:
                self._tell(min(self._taken * self._chunk_bytes, self._total))
            except BaseException as error:
                self.error = error
                raise StopIteration from None
        self._taken += 1
        return next(self._messages)


def _messages(header: bytes, payload: memoryview, chunk_bytes: int) -> Iterator[bytes]:
    yield field_prefix(_HEADER_FIELD, len(header)) + header
    for start in range(0, len(payload), chunk_bytes):
        chunk = payload[start : start + chunk_bytes]
        yield b"".join((field_prefix(_PAYLOAD_FIELD, len(chunk)), chunk))
