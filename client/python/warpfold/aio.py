"""The client for asyncio: the names of `warpfold`, awaited.

>>> import asyncio
>>> import warpfold.aio
>>> async def total(x):
...     async with await warpfold.aio.connect(server) as client:  # server: "host:port"
...         return await client.sum(x)
>>> print(asyncio.run(total([1, 2, 3])))
6

`progress` is called on another thread than the event loop's.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Awaitable
from types import TracebackType
from typing import Any, Callable

import grpc

from ._answer import Reduction, parse_answer
from ._arrays import Axis
from ._attempts import Attempts
from ._channel import Channel
from ._describe import describe_calls
from ._errors import OutOfRangeError, UnimplementedError, wrong_server
from ._functions import Functions
from ._info import ServerInfo, parse_info
from ._options import (
    DEFAULT_CHUNK_BYTES,
    DEFAULT_RETRY,
    DEFAULT_STREAM_THRESHOLD_BYTES,
    DEFAULT_TIMEOUT_S,
    Options,
    by_stream,
)
from ._request import Progress, ReduceCall, Upload
from ._retry import RetryPolicy

__all__ = ["Client", "connect"]


async def connect(
    target: str,
    *,
    credentials: grpc.ChannelCredentials | None = None,
    timeout: float = DEFAULT_TIMEOUT_S,
    retry: RetryPolicy = DEFAULT_RETRY,
    stream_threshold_bytes: int = DEFAULT_STREAM_THRESHOLD_BYTES,
    chunk_bytes: int = DEFAULT_CHUNK_BYTES,
) -> Client:
    """warpfold.connect, for the running event loop."""
    options = Options(timeout, retry, stream_threshold_bytes, chunk_bytes)
    client = Client(target, credentials, options)
    try:
        client._info = await client.info()
    except BaseException:
        await client.close()
        raise
    return client


class Client(Functions[Awaitable[Any], Awaitable[Reduction]]):
    __doc__ = Functions.__doc__

    # Made by `connect`. Any number of tasks may use a client at a time. Not a forked child.

    def __init__(
        self, target: str, credentials: grpc.ChannelCredentials | None, options: Options
    ) -> None:
        self.target = target
        self._options = options
        self._channel = Channel(target, credentials)
        self._info: ServerInfo

    async def info(self) -> ServerInfo:
        """warpfold.Client.info."""
        attempts = Attempts(self.target, self._options, None)
        try:
            get_info = self._channel.get_info
            data = await self._attempt(
                attempts, lambda t: _finished(get_info.future(b"", timeout=t))
            )
        except UnimplementedError as error:
            raise wrong_server(self.target, error) from error
        return parse_info(data, self.target)

    async def describe(
        self,
        x: Any,
        axis: Axis = None,
        *,
        timeout: float | None = None,
        progress: Progress | None = None,
    ) -> Reduction:
        """warpfold.Client.describe."""
        call, without_sum = describe_calls(x, axis, self._info)
        try:
            return await self._reduction(call, timeout=timeout, progress=progress)
        except OutOfRangeError:
            if without_sum is None:
                raise
            return await self._reduction(without_sum, timeout=timeout, progress=progress)

    async def close(self) -> None:
        """Ends the client; calls in progress fail. A second call does nothing."""
        self._channel.close()

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def _value(
        self,
        call: ReduceCall,
        *,
        timeout: float | None = None,
        progress: Progress | None = None,
    ) -> Any:
        return (await self._reduction(call, timeout=timeout, progress=progress))[call.ops[0]]

    async def _reduction(
        self,
        call: ReduceCall,
        *,
        timeout: float | None = None,
        progress: Progress | None = None,
    ) -> Reduction:
        attempts = Attempts(self.target, self._options, timeout)
        if by_stream(call, self._options, self._info.limits):
            data = await self._attempt(attempts, lambda t: self._send_stream(call, progress, t))
        else:
            message = call.unary_message()
            data = await self._attempt(
                attempts, lambda t: _finished(self._channel.reduce.future(message, timeout=t))
            )
            if progress is not None:
                progress(len(call.payload), len(call.payload))
        return parse_answer(call, data, attempts.count)

    async def _attempt(
        self, attempts: Attempts, send: Callable[[float], Awaitable[bytes]]
    ) -> bytes:
        """Sends until there is an answer, or the failure is final."""
        while True:
            self._channel.check()
            try:
                return await send(attempts.time_left_s())
            except grpc.RpcError as failure:
                delay_s = attempts.delay_after_s(failure)
            await asyncio.sleep(delay_s)

    async def _send_stream(
        self, call: ReduceCall, progress: Progress | None, timeout: float
    ) -> bytes:
        upload = Upload(call, self._options.chunk_bytes, progress)
        try:
            return await _finished(self._channel.reduce_stream.future(upload, timeout=timeout))
        finally:
            if upload.error is not None:
                raise upload.error from None


async def _finished(call: grpc.Future) -> bytes:
    """The call's answer, awaited; raises grpc.RpcError. A cancelled task cancels the call."""
    done: concurrent.futures.Future[grpc.Future] = concurrent.futures.Future()
    done.set_running_or_notify_cancel()  # from here on gRPC alone ends it
    call.add_done_callback(done.set_result)
    try:
        await asyncio.wrap_future(done)
    except asyncio.CancelledError:
        call.cancel()
        raise
    answer: bytes = call.result()
    return answer
