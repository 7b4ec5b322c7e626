"""What a client does for a call, once for both clients: which RPCs, in which order, how often.

How a tensor travels is chosen in `reduction` and `put`, and nowhere else: in one message, by a
stream, by several streams, through shared memory, or not at all because the server has it already
or can reach it where it is.
"""

from __future__ import annotations

import contextlib
import logging
import weakref
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from . import _contract
from ._answer import Reduction, check_version, parse_message
from ._arrays import Axis
from ._attempts import Deadline
from ._channel import Channel, Channels
from ._cuda_array import CudaArray
from ._cuda_driver import CudaError
from ._cuda_memory import CudaMemory, Region
from ._describe import check_each, describe_calls
from ._dtypes import dtype_number
from ._errors import (
    NotFoundError,
    OutOfRangeError,
    UnimplementedError,
    WarpfoldError,
    wrong_server,
)
from ._forms import Form
from ._info import ServerInfo, parse_info
from ._io import Io
from ._options import (
    STRIPE_BYTES_MAX,
    STRIPE_THRESHOLD_BYTES,
    STRIPES_PER_CONNECTION,
    Options,
    ttl_ms,
)
from ._pieces import Sender, in_pieces, merged
from ._progress import Meter, Progress
from ._regions import Regions
from ._request import ReduceCall, checked_states, demanding, payload_of, plan_merge
from ._retry import RetryPolicy
from ._rpcs import ONCE, Rpcs
from ._shared import SharedMemory
from ._stripes import Stripes, stripes_of
from ._tables import columns_of, numbers_of

__all__ = ["Flows"]

_log = logging.getLogger("warpfold")
# For the end of a tensor that its time to live ends as well: nobody shall wait for it.
_LEAVE_TIMEOUT_S = 1.0
_REFUSED_MAX_S = 1.0  # of the waits of `delete`


class Flows:
    """Any number of threads may use one at a time, as far as its Io lets them."""

    def __init__(self, target: str, options: Options, channels: Channels, io: Io) -> None:
        self.target = target
        self._rpcs = Rpcs(target, options, channels, io)
        self._regions = Regions(self._rpcs)
        self._shared = SharedMemory(self._rpcs, self._regions)
        self._cuda = CudaMemory(self._rpcs, self._regions)
        # Regions.end_all is called at the end of the process.
        weakref.finalize(self, self._regions.forget).atexit = False

    @property
    def server(self) -> ServerInfo | None:
        """What the server said of itself when the client connected; None before."""
        info: ServerInfo | None = getattr(self._rpcs, "info", None)
        return info

    @server.setter
    def server(self, info: ServerInfo) -> None:
        self._rpcs.info = info

    @property
    def closed(self) -> bool:
        return self._rpcs.channels.closed

    async def connect(self) -> None:
        self.server = await self.info(self._rpcs.options.retry.to_connect())

    async def close(self) -> None:
        """Ends the calls in progress. A second one, and one in a forked child, does nothing."""
        if not self._rpcs.channels.closed:
            await self._rpcs.io.work(self._regions.end_all)
        self._rpcs.channels.close()

    async def info(self, retry: RetryPolicy | None = None) -> ServerInfo:
        rpcs = self._rpcs
        try:
            data, _ = await rpcs.anywhere(
                rpcs.io, "get_info", b"", rpcs.deadline(None), retry=retry
            )
        except UnimplementedError as error:
            raise wrong_server(self.target, error) from None
        return parse_info(data, self.target)

    async def value(self, call: ReduceCall, form: Form | None, **options: Any) -> Any:
        """The value of the call's only op."""
        value = (await self.reduction(call, **options))[call.ops[0]]
        return value if form is None else form(value)

    async def reduction(
        self, call: ReduceCall, *, timeout: float | None = None, progress: Progress | None = None
    ) -> Reduction:
        deadline = self._rpcs.deadline(timeout)
        io = self._rpcs.io
        call = demanding(call, self._rpcs.options.required_version())
        if call.payload is None:
            return await self._rpcs.named(io, call, deadline)
        if isinstance(call.payload, CudaArray):
            answer = await self._cuda.reduction(call, deadline)
            if answer is not None:
                return answer
            call = call._replace(payload=payload_of(await io.work(call.payload.on_host)))
        answer = await self._shared.reduction(call, deadline, progress)
        if answer is not None:
            return answer
        meter = Meter(call.payload_bytes, progress)
        connections = self._rpcs.options.connections
        if connections > 1 and call.payload_bytes >= STRIPE_THRESHOLD_BYTES:
            few = connections * STRIPES_PER_CONNECTION
            many = max(few, -(-call.payload_bytes // STRIPE_BYTES_MAX))
            limits = self._rpcs.info.limits
            # The states of many may outweigh the payload.
            stripes = stripes_of(call, many, limits) or stripes_of(call, few, limits)
            if stripes is not None:
                return await self._striped(call, stripes, deadline, meter)
        return await self._rpcs.sent(io, 0, call, deadline, meter)

    async def _striped(
        self, call: ReduceCall, stripes: Stripes, deadline: Deadline, meter: Meter
    ) -> Reduction:
        def over(connection: int) -> Sender:
            return lambda io, piece: self._rpcs.sent(io, connection, piece, deadline, meter)

        senders = [over(connection) for connection in range(self._rpcs.options.connections)]
        return await in_pieces(self._rpcs, call, stripes, senders, deadline)

    async def share(self, array: CudaArray, timeout: float | None) -> Region:
        try:
            return await self._cuda.taken(array, self._rpcs.deadline(timeout))
        except CudaError as error:
            raise NotImplementedError(str(error)) from error

    async def unshare(self, array: CudaArray, region: Region) -> None:
        """In a forked child it does nothing."""
        if self._rpcs.channels.are_ours():
            await self._cuda.give_back(region, array)

    async def describe(
        self, x: Any, axis: Axis, **options: Any
    ) -> Reduction | dict[Any, Reduction]:
        tensors = columns_of(x)
        if tensors is None:
            return await self._described(x, axis, **options)
        check_each(tensors, axis, self._rpcs.info, numbers_of(x))
        return {name: await self._described(one, axis, **options) for name, one in tensors.items()}

    async def _described(self, x: Any, axis: Axis, **options: Any) -> Reduction:
        call, without_sum = describe_calls(x, axis, self._rpcs.info)
        try:
            return await self.reduction(call, **options)
        except OutOfRangeError:
            if without_sum is None:
                raise
            return await self.reduction(without_sum, **options)

    async def state(self, call: ReduceCall, **options: Any) -> bytes:
        return (await self.reduction(call, **options)).state

    async def merge(
        self, states: Iterable[bytes], request_id: str, timeout: float | None
    ) -> Reduction:
        own = checked_states(states)
        return await merged(self._rpcs, own, None, request_id, self._rpcs.deadline(timeout))

    async def merge_states(
        self, states: Iterable[bytes], request_id: str, timeout: float | None
    ) -> bytes:
        rpcs = self._rpcs
        required = rpcs.options.required_version()
        message = plan_merge(checked_states(states), request_id, required, return_state=True)
        data, _ = await rpcs.anywhere(rpcs.io, "merge", message, rpcs.deadline(timeout))
        answer = parse_message(_contract.ReduceResponse, data)
        check_version(answer, required)
        state: bytes = answer.state
        return state

    async def put(
        self,
        array: np.ndarray[Any, Any],
        ttl: float | None,
        readers: str | Iterable[str],
        request_id: str,
        *,
        timeout: float | None = None,
        progress: Progress | None = None,
    ) -> tuple[str, float]:
        """The id of the tensor, and its time to live in seconds. A failure leaves none."""
        deadline = self._rpcs.deadline(timeout)
        request = _contract.CreateTensorRequest(request_id=request_id)
        request.tensor.dtype = dtype_number(array.dtype)
        request.tensor.shape.extend(array.shape)
        request.ttl_ms = 0 if ttl is None else ttl_ms(ttl)
        request.readers.extend([readers] if isinstance(readers, str) else readers)
        data, _ = await self._rpcs.plain("create_tensor", request.SerializeToString(), deadline)
        created = parse_message(_contract.CreateTensorResponse, data)
        header = _contract.WriteTensorHeader(request_id=request_id, tensor_id=created.tensor_id)
        try:
            await self._write(header, payload_of(array), deadline, Meter(array.nbytes, progress))
        except BaseException:
            with contextlib.suppress(Exception):
                await self._delete(created.tensor_id, self._rpcs.deadline(_LEAVE_TIMEOUT_S), ONCE)
            raise
        return created.tensor_id, created.ttl_ms / 1000

    async def delete(self, tensor_id: str, timeout: float | None) -> None:
        """Nothing when it is gone already, and little patience where nobody listens.

        A server that starts again has none of the tensors of the one before.
        """
        retry = self._rpcs.options.retry
        patience_s = _REFUSED_MAX_S if retry.refused_max_s is None else retry.refused_max_s
        hasty = replace(retry, refused_max_s=min(patience_s, _REFUSED_MAX_S))
        await self._delete(tensor_id, self._rpcs.deadline(timeout), hasty)

    async def leave(self, tensor_id: str, *, failed: bool) -> bool:
        """Whether the tensor of a block is gone, or the block failed: one short attempt.

        No WarpfoldError: the time to live ends what cannot be reached. RuntimeError when the client
        is closed, and the block did not fail.
        """
        try:
            await self._delete(tensor_id, self._rpcs.deadline(_LEAVE_TIMEOUT_S), ONCE)
        except WarpfoldError as error:
            if not failed:  # the error of the block says more
                _log.warning("a tensor stays on %s for its time to live: %s", self.target, error)
            return False
        except RuntimeError:
            if not failed:
                raise
            return False
        return True

    async def _delete(
        self, tensor_id: str, deadline: Deadline, retry: RetryPolicy | None = None
    ) -> None:
        message = _contract.DeleteTensorRequest(tensor_id=tensor_id).SerializeToString()
        with contextlib.suppress(NotFoundError):
            await self._rpcs.plain("delete_tensor", message, deadline, retry)

    async def _write(
        self, header: Any, payload: memoryview, deadline: Deadline, meter: Meter
    ) -> None:
        """All of the payload, in a range a connection when it is large."""
        if not payload:
            return
        count = self._rpcs.options.connections if len(payload) >= STRIPE_THRESHOLD_BYTES else 1
        step = -(-len(payload) // count)

        async def write(channel: Channel, start: int, io: Io) -> None:
            part = payload[start : start + step]
            own = _contract.WriteTensorHeader()
            own.CopyFrom(header)
            own.offset_bytes, own.size_bytes = start, len(part)
            head = own.SerializeToString()
            await self._rpcs.streamed(
                io, "write_tensor", lambda: channel, head, part, deadline, meter
            )

        if count == 1:
            await write(self._rpcs.channels.first, 0, self._rpcs.io)
            return
        starts = range(0, len(payload), step)
        channels = self._rpcs.channels.several(len(starts))
        await self._rpcs.io.parallel(
            [partial(write, channel, start) for channel, start in zip(channels, starts)], deadline
        )
