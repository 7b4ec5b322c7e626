"""The client for asyncio: the names of `warpfold`, awaited.

>>> import asyncio
>>> import warpfold.aio
>>> async def total(x):
...     async with warpfold.aio.connect(server) as client:  # server: "host:port"
...         return await client.sum(x)
>>> print(asyncio.run(total([1, 2, 3])))
6

What `connect` returns is awaited, too, for a client without a block: `client = await connect()`.
`progress` is called on another thread than the event loop's.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Coroutine, Generator, Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, SupportsIndex

import grpc
import numpy as np

from ._answer import Descriptions, Floating, Integer, Number, Reduction, Values
from ._arrays import Axis, Real, as_tensor, shareable
from ._asyncio_io import AsyncioIo
from ._connected import Connected
from ._contexts import AsyncContext
from ._contract import Op
from ._functions import Functions
from ._info import ServerInfo
from ._options import (
    DEFAULT_CHUNK_BYTES,
    DEFAULT_CONNECTIONS,
    DEFAULT_PING_AFTER_S,
    DEFAULT_PING_TIMEOUT_S,
    DEFAULT_RETRY,
    DEFAULT_SHARED_MEMORY_MODE,
    DEFAULT_STREAM_THRESHOLD_BYTES,
    DEFAULT_TIMEOUT_S,
    Options,
)
from ._remote import Remote, Shared
from ._request import Offset, plan, plan_part
from ._retry import RetryPolicy
from ._target import chosen_target
from ._token import chosen_token_file
from ._words import check_words

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._words import CallOptions

__all__ = ["Client", "Connecting", "RemoteTensor", "SharedTensor", "connect"]


def __dir__() -> list[str]:
    return [*__all__, *(name for name in globals() if name.startswith("__"))]


def connect(
    target: str | None = None,
    *,
    credentials: grpc.ChannelCredentials | None = None,
    timeout: float = DEFAULT_TIMEOUT_S,
    retry: RetryPolicy = DEFAULT_RETRY,
    stream_threshold_bytes: int = DEFAULT_STREAM_THRESHOLD_BYTES,
    chunk_bytes: int = DEFAULT_CHUNK_BYTES,
    connections: int = DEFAULT_CONNECTIONS,
    shared_memory_mode: int | None = DEFAULT_SHARED_MEMORY_MODE,
    ping_after: float | None = DEFAULT_PING_AFTER_S,
    ping_timeout: float = DEFAULT_PING_TIMEOUT_S,
    required_numerics_version: int | None = None,
    token_file: str | os.PathLike[str] | None = None,
) -> Connecting:
    """warpfold.connect, for the running event loop.

    `async with connect() as client` closes the client, `client = await connect()` leaves it open.
    """

    async def connected() -> Client:
        options = Options(
            timeout,
            retry,
            stream_threshold_bytes,
            chunk_bytes,
            connections,
            shared_memory_mode,
            ping_after,
            ping_timeout,
            required_numerics_version,
            chosen_token_file(token_file),
        )
        client = Client(chosen_target(target), credentials, options)
        try:
            await client._flows.connect()
        except BaseException:
            await client.close()
            raise
        return client

    connected.__qualname__ = "connect"
    return Connecting(connected())


class Connecting(Coroutine[Any, Any, "Client"]):
    """What `connect` returns: a coroutine whose outcome is the client, and a block's client."""

    def __init__(self, flow: Coroutine[Any, Any, Client]) -> None:
        self._flow = flow
        self._client: Client | None = None

    def __await__(self) -> Generator[Any, Any, Client]:
        return self._flow.__await__()

    def send(self, value: Any) -> Any:
        return self._flow.send(value)

    def throw(self, *error: Any) -> Any:
        return self._flow.throw(*error)

    def close(self) -> None:
        self._flow.close()

    async def __aenter__(self) -> Client:
        self._client = await self
        return self._client

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._client is not None
        await self._client.__aexit__(kind, error, traceback)


class Client(
    AsyncContext,
    Connected,
    Functions[
        Awaitable[Number],
        Awaitable[Floating],
        Awaitable[Integer],
        Awaitable[np.bool_],
        Awaitable[Values],
        Awaitable[Reduction],
        Awaitable[Descriptions],
    ],
):
    __doc__ = Functions.__doc__

    # Made by `connect`. Any number of tasks may use a client at a time. Not a forked child.

    def __init__(
        self, target: str, credentials: grpc.ChannelCredentials | None, options: Options
    ) -> None:
        super().__init__(target, credentials, options, AsyncioIo())

    async def info(self) -> ServerInfo:
        """warpfold.Client.info."""
        return await self._flows.info()

    async def put(
        self,
        x: Any,
        *,
        ttl: float | None = None,
        readers: str | Iterable[str] = (),
        request_id: str = "",
        **call: Unpack[CallOptions],
    ) -> RemoteTensor:
        """warpfold.Client.put."""
        check_words("put", call)
        array = as_tensor(x)
        placed = await self._flows.put(array, ttl, readers, request_id, **call)
        return RemoteTensor(self, array.shape, array.dtype.newbyteorder("="), *placed)

    async def share(self, x: Any, *, timeout: float | None = None) -> SharedTensor:
        """warpfold.Client.share."""
        array = shareable(x)
        return SharedTensor(self, array, await self._flows.share(array, timeout))

    async def reduce_part(
        self,
        x: Any,
        ops: Sequence[Op],
        axis: Axis = None,
        *,
        whole_shape: Sequence[SupportsIndex],
        offset: Offset,
        keepdims: bool = False,
        omit_nan: bool = False,
        ddof: Real = 0,
        request_id: str = "",
        **call: Unpack[CallOptions],
    ) -> bytes:
        """warpfold.Client.reduce_part."""
        check_words("reduce_part", call)
        planned = plan(
            x,
            ops,
            axis,
            keepdims,
            omit_nan=omit_nan,
            ddof=ddof,
            request_id=request_id,
            is_part=True,
        )
        return await self._flows.state(plan_part(planned, whole_shape, offset), **call)

    async def merge(
        self, states: Iterable[bytes], *, request_id: str = "", timeout: float | None = None
    ) -> Reduction:
        """warpfold.Client.merge."""
        return await self._flows.merge(states, request_id, timeout)

    async def merge_states(
        self, states: Iterable[bytes], *, request_id: str = "", timeout: float | None = None
    ) -> bytes:
        """warpfold.Client.merge_states."""
        return await self._flows.merge_states(states, request_id, timeout)

    async def close(self) -> None:
        """Ends the client; calls in progress fail. A second call does nothing."""
        await self._flows.close()

    async def _leave(self, failed: bool) -> None:
        await self.close()

    def _do(self, flow: Coroutine[Any, Any, Any], function: str) -> Any:
        # What Python calls it when nobody awaits it.
        flow.__qualname__ = f"{type(self).__name__}.{function}"  # type: ignore[attr-defined]
        return flow


class SharedTensor(
    AsyncContext,
    Shared[
        Awaitable[Number],
        Awaitable[Floating],
        Awaitable[Integer],
        Awaitable[np.bool_],
        Awaitable[Values],
        Awaitable[Reduction],
        Awaitable[Descriptions],
    ],
):
    """warpfold.SharedTensor; what it answers is awaited."""

    async def release(self) -> None:
        """warpfold.SharedTensor.release."""
        if self._region is not None:
            region, self._region = self._region, None
            await self._client._flows.unshare(self._array, region)

    async def _leave(self, failed: bool) -> None:
        await self.release()


class RemoteTensor(
    AsyncContext,
    Remote[
        Awaitable[Number],
        Awaitable[Floating],
        Awaitable[Integer],
        Awaitable[np.bool_],
        Awaitable[Values],
        Awaitable[Reduction],
        Awaitable[Descriptions],
    ],
):
    """warpfold.RemoteTensor; what it answers is awaited: await np.sum(tensor, axis=0)."""

    async def delete(self, *, timeout: float | None = None) -> None:
        """warpfold.RemoteTensor.delete."""
        if not self._deleted:
            await self._client._flows.delete(self._id, timeout)
            self._deleted = True

    async def _leave(self, failed: bool) -> None:
        if not self._deleted:
            self._deleted = await self._client._flows.leave(self._id, failed=failed)
