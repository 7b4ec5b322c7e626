"""What a client does for a call, once for both clients: which RPCs, in which order, how often.

The flows are coroutines over an `Io`, which alone knows how to wait: the asyncio client awaits
them, and the blocking client's Io waits inside, so that its flows never suspend.

How a tensor travels is chosen in `reduction` and `put`, and nowhere else: in one message, by a
stream, by several streams, or not at all because it is on the server already.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Sequence
from typing import Any, Callable, Protocol, TypeVar

import grpc
import numpy as np

from . import _contract
from ._answer import Reduction, combined, parse_answer, parse_message
from ._arrays import Axis, as_tensor, dtype_number
from ._attempts import Attempts, Deadline
from ._channel import Channel, Channels
from ._describe import describe_calls
from ._errors import NotFoundError, OutOfRangeError, UnimplementedError, wrong_server
from ._info import ServerInfo, parse_info
from ._options import STRIPE_THRESHOLD_BYTES, Options, by_stream, checked_timeout, ttl_ms
from ._progress import Meter, Progress
from ._request import ReduceCall, Upload, call_of_state, payload_of, plan_merge
from ._stripes import Stripes, laid_together, stripes_of

T = TypeVar("T")
_DELETE_TIMEOUT_S = 2.0  # after a failed put; its time to live ends what cannot be reached


class Io(Protocol):
    """How to wait."""

    async def unary(self, method: Any, message: bytes, timeout: float) -> bytes:
        """Raises grpc.RpcError."""

    async def stream(self, method: Any, upload: Upload, timeout: float) -> bytes:
        """Raises grpc.RpcError."""

    async def sleep(self, seconds: float) -> None: ...

    async def parallel(self, work: Callable[[Io], Coroutine[Any, Any, T]]) -> T:
        """`work` with an Io that waits for several RPCs at a time."""


class Flows:
    """Any number of threads may use one at a time, as far as its Io lets them."""

    def __init__(self, target: str, options: Options, channels: Channels, io: Io) -> None:
        self.target = target
        self._options = options
        self._channels = channels
        self._io = io
        self._info: ServerInfo

    async def connect(self) -> None:
        self._info = await self.info()

    async def info(self) -> ServerInfo:
        try:
            data, _ = await self._plain("get_info", b"", self._deadline(None))
        except UnimplementedError as error:
            raise wrong_server(self.target, error) from error
        return parse_info(data, self.target)

    async def value(self, call: ReduceCall, **options: Any) -> Any:
        """The value of the call's only op."""
        return (await self.reduction(call, **options))[call.ops[0]]

    async def reduction(
        self, call: ReduceCall, *, timeout: float | None = None, progress: Progress | None = None
    ) -> Reduction:
        deadline = self._deadline(timeout)
        meter = Meter(call.payload_bytes, progress)
        if call.payload_bytes >= STRIPE_THRESHOLD_BYTES:
            stripes = stripes_of(call, self._options.connections, self._info.limits)
            if stripes is not None:
                return await self._striped(call, stripes, deadline, meter)
        return await self._sent(self._io, self._channels.first, call, deadline, meter)

    async def describe(self, x: Any, axis: Axis, **options: Any) -> Reduction:
        call, without_sum = describe_calls(x, axis, self._info)
        try:
            return await self.reduction(call, **options)
        except OutOfRangeError:
            if without_sum is None:
                raise
            return await self.reduction(without_sum, **options)

    async def state(self, call: ReduceCall, **options: Any) -> bytes:
        return (await self.reduction(call, **options)).state

    async def merge(
        self, states: Sequence[bytes], request_id: str, timeout: float | None
    ) -> Reduction:
        return await self._merged(states, None, request_id, self._deadline(timeout))

    async def merge_states(
        self, states: Sequence[bytes], request_id: str, timeout: float | None
    ) -> bytes:
        message = plan_merge(states, request_id, return_state=True)
        data, _ = await self._plain("merge", message, self._deadline(timeout))
        state: bytes = parse_message(_contract.ReduceResponse, data).state
        return state

    async def put(
        self,
        array: np.ndarray[Any, Any],
        ttl: float | None,
        request_id: str,
        *,
        timeout: float | None = None,
        progress: Progress | None = None,
    ) -> tuple[str, float]:
        """The id of the tensor, and its time to live in seconds. A failure leaves none."""
        deadline = self._deadline(timeout)
        request = _contract.CreateTensorRequest(request_id=request_id)
        request.tensor.dtype = dtype_number(array.dtype)
        request.tensor.shape.extend(array.shape)
        request.ttl_ms = 0 if ttl is None else ttl_ms(ttl)
        data, _ = await self._plain("create_tensor", request.SerializeToString(), deadline)
        created = parse_message(_contract.CreateTensorResponse, data)
        header = _contract.WriteTensorHeader(request_id=request_id, tensor_id=created.tensor_id)
        try:
            await self._write(header, payload_of(array), deadline, Meter(array.nbytes, progress))
        except BaseException:
            with contextlib.suppress(Exception):
                await self.delete(created.tensor_id, _DELETE_TIMEOUT_S)
            raise
        return created.tensor_id, created.ttl_ms / 1000

    async def delete(self, tensor_id: str, timeout: float | None) -> None:
        """Nothing when it is gone already."""
        message = _contract.DeleteTensorRequest(tensor_id=tensor_id).SerializeToString()
        with contextlib.suppress(NotFoundError):
            await self._plain("delete_tensor", message, self._deadline(timeout))

    async def _write(
        self, header: Any, payload: memoryview, deadline: Deadline, meter: Meter
    ) -> None:
        """All of the payload, in a range a connection when it is large."""
        if not payload:
            return
        count = self._options.connections if len(payload) >= STRIPE_THRESHOLD_BYTES else 1
        step = -(-len(payload) // count)

        async def write(io: Io, channel: Channel, start: int) -> None:
            part = payload[start : start + step]
            own = _contract.WriteTensorHeader()
            own.CopyFrom(header)
            own.offset_bytes, own.size_bytes = start, len(part)
            head = own.SerializeToString()
            await self._streamed(io, channel.write_tensor, head, part, deadline, meter)

        if count == 1:
            await write(self._io, self._channels.first, 0)
            return
        starts = range(0, len(payload), step)
        channels = self._channels.several(len(starts))
        await self._io.parallel(
            lambda io: together([write(io, *where) for where in zip(channels, starts)])
        )

    async def _striped(
        self, call: ReduceCall, stripes: Stripes, deadline: Deadline, meter: Meter
    ) -> Reduction:
        channels = self._channels.several(self._options.connections)
        answers: list[Any] = [None] * len(stripes.calls)
        waiting = list(enumerate(stripes.calls))[::-1]

        async def send(io: Io, channel: Channel) -> None:
            while waiting:
                place, piece = waiting.pop()
                answers[place] = await self._sent(io, channel, piece, deadline, meter)

        await self._io.parallel(lambda io: together([send(io, channel) for channel in channels]))
        if not stripes.are_parts:
            return combined(laid_together(call, answers), answers)
        states = [answer.state for answer in answers]
        merged = await self._merged(states, call, call.request.request_id, deadline)
        return combined(merged, [merged, *answers])

    async def _merged(
        self, states: Sequence[bytes], call: ReduceCall | None, request_id: str, deadline: Deadline
    ) -> Reduction:
        message = plan_merge(states, request_id, return_state=False)
        data, attempts = await self._plain("merge", message, deadline)
        # The server has checked that there are states, and of one reduction.
        return parse_answer(call or call_of_state(states[0]), data, attempts)

    async def _sent(
        self, io: Io, channel: Channel, call: ReduceCall, deadline: Deadline, meter: Meter
    ) -> Reduction:
        """Over one connection."""
        if call.payload is None:
            data, attempts = await self._answered(
                io, deadline, lambda t: io.unary(channel.reduce, call.unary_message(), t)
            )
        elif by_stream(call, self._options, self._info.limits):
            head = call.request.SerializeToString()
            data, attempts = await self._streamed(
                io, channel.reduce_stream, head, call.payload, deadline, meter
            )
        else:
            message = call.unary_message()
            data, attempts = await self._answered(
                io, deadline, lambda t: io.unary(channel.reduce, message, t)
            )
            meter.stream()(len(call.payload))
        return parse_answer(call, data, attempts)

    async def _streamed(
        self,
        io: Io,
        method: Any,
        head: bytes,
        payload: memoryview,
        deadline: Deadline,
        meter: Meter,
    ) -> tuple[bytes, int]:
        tell = meter.stream()

        async def send(timeout: float) -> bytes:
            upload = Upload(head, payload, self._options.chunk_bytes, tell)
            try:
                return await io.stream(method, upload, timeout)
            finally:
                if upload.error is not None:
                    raise upload.error from None

        return await self._answered(io, deadline, send)

    async def _plain(self, method: str, message: bytes, deadline: Deadline) -> tuple[bytes, int]:
        """A small message, by the name of its method."""
        send = getattr(self._channels.first, method)
        return await self._answered(self._io, deadline, lambda t: self._io.unary(send, message, t))

    async def _answered(
        self, io: Io, deadline: Deadline, send: Callable[[float], Coroutine[Any, Any, bytes]]
    ) -> tuple[bytes, int]:
        """Sends until there is an answer, or the failure is final. Also: the attempts it took."""
        attempts = Attempts(self.target, self._options.retry, deadline)
        while True:
            self._channels.check()
            try:
                return await send(deadline.time_left_s()), attempts.count
            except grpc.RpcError as failure:
                if self._channels.closed:  # that ended it
                    raise attempts.error(failure) from failure
                delay_s = attempts.delay_after_s(failure)
            await io.sleep(delay_s)

    def _deadline(self, timeout: float | None) -> Deadline:
        return Deadline(self._options.timeout if timeout is None else checked_timeout(timeout))


async def together(works: Sequence[Coroutine[Any, Any, None]]) -> None:
    """All of them at a time. The first failure, or a cancellation, ends the others."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
