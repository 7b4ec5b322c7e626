"""The client for asyncio: the names of `warpfold`, awaited.

>>> import asyncio
>>> import warpfold.aio
>>> async def total(x):
...     async with await warpfold.aio.connect(server) as client:  # server: "host:port"
...         return await client.sum(x)
>>> print(asyncio.run(total([1, 2, 3])))
6
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from types import TracebackType
from typing import Any, Callable

import grpc
import grpc.aio

from . import _contract
from ._answer import Reduction, parse_answer
from ._arrays import Axis
from ._attempts import Attempts
from ._describe import describe_calls
from ._errors import OutOfRangeError, UnimplementedError, wrong_server
from ._functions import Functions
from ._info import ServerInfo, parse_info
from ._lifetime import Lifetime
from ._options import (
    CHANNEL_OPTIONS,
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

    # Made by `connect`. Any number of tasks of one event loop may use a client at a time.

    def __init__(
        self, target: str, credentials: grpc.ChannelCredentials | None, options: Options
    ) -> None:
        self.target = target
        self._options = options
        self._lifetime = Lifetime()
        if credentials is None:
            self._channel = grpc.aio.insecure_channel(target, CHANNEL_OPTIONS)
        else:
            self._channel = grpc.aio.secure_channel(target, credentials, CHANNEL_OPTIONS)
        # No serialisers: messages are bytes here.
        self._get_info = self._channel.unary_unary(_contract.GET_SERVER_INFO_METHOD)
        self._reduce_unary = self._channel.unary_unary(_contract.REDUCE_METHOD)
        self._reduce_stream = self._channel.stream_unary(_contract.REDUCE_STREAM_METHOD)
        self._info: ServerInfo

    async def info(self) -> ServerInfo:
        """warpfold.Client.info."""
        attempts = Attempts(self.target, self._options, None)
        try:
            data = await self._attempt(attempts, lambda t: self._get_info(b"", timeout=t))
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
        if not self._lifetime.forked and not self._lifetime.closed:
            self._lifetime.closed = True
            await self._channel.close()

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
            data = await self._attempt(attempts, lambda t: self._reduce_unary(message, timeout=t))
            if progress is not None:
                progress(len(call.payload), len(call.payload))
        return parse_answer(call, data, attempts.count)

    async def _attempt(
        self, attempts: Attempts, send: Callable[[float], Awaitable[bytes]]
    ) -> bytes:
        """Sends until there is an answer, or the failure is final."""
        while True:
            self._lifetime.check()
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
            data: bytes = await self._reduce_stream(upload, timeout=timeout)
            return data
        finally:
            if upload.error is not None:
                raise upload.error from None
