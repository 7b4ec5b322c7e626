"""The blocking client."""

from __future__ import annotations

import os
from collections.abc import Coroutine, Iterable, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

import grpc
import numpy as np

from ._answer import Descriptions, Floating, Integer, Number, Reduction, Values
from ._arrays import Axis, Real, as_tensor, shareable
from ._blocking_io import BlockingIo, Latch, run
from ._connected import Connected
from ._contexts import Context
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

__all__ = ["Client", "RemoteTensor", "SharedTensor", "connect"]


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
) -> Client:
    """Connects to the server at `target` and asks what it is: "host:port", "host", "unix:/PATH".

    Without one the environment's WARPFOLD_TARGET says where, else it is "localhost"; without a port
    it is 50051. A client pickles, by its address, unless it has credentials: what comes of the
    bytes has connections of its own, and asks the server nothing before its first call.

    `credentials` switch TLS on, such as grpc.ssl_channel_credentials(). `timeout`, in seconds,
    is how long a call may go without progress, retries included: one that moves many bytes may take
    as long as they move, and one of a single message ends within it. Tensors over
    `stream_threshold_bytes` are sent in chunks of `chunk_bytes`, smaller ones in one message; those
    of 64 MiB and more over up to `connections` connections at a time, with the same result bits. On
    a server that allows shared memory and is on this host, those of 256 KiB and more go through
    segments of this process's, whose permissions are `shared_memory_mode`: the server's user has to
    be able to read them, and for GPUs to read them in place, to write them. None: never. A server
    that is silent for `ping_after` seconds while a small call waits, of up to 64 KiB, is asked
    whether it is there; if it has not said so after another `ping_timeout`, the call is tried
    again, on another server where the target is several. None: never.
    `required_numerics_version` names the rules for numbers by which every answer has to come about:
    a server whose `info().numerics_version` is another refuses reductions with
    FailedPreconditionError. None: any. `token_file` holds the token by which a server that asks
    for one knows its caller; without one the environment's WARPFOLD_TOKEN_FILE says where. Without
    TLS whoever sees the network can use it. It is read when the client is made, here and where a
    pickled one arrives.

    Raises UnavailableError when nothing answers, WrongServerError when it is not warpfold.
    """
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
        run(client._flows.connect())
    except BaseException:
        client.close()
        raise
    return client


class Client(
    Context,
    Connected,
    Functions[Number, Floating, Integer, np.bool_, Values, Reduction, Descriptions],
):
    __doc__ = Functions.__doc__

    # Made by `connect`. Any number of threads may use a client at a time. Not a forked child, which
    # can take a pickled one.

    def __init__(
        self, target: str, credentials: grpc.ChannelCredentials | None, options: Options
    ) -> None:
        self._closing = Latch()
        super().__init__(target, credentials, options, BlockingIo(self._closing))

    def info(self) -> ServerInfo:
        """What the server is now: version, devices, limits, ops and dtypes.

        >>> "sum" in client.info().ops
        True
        """
        return run(self._flows.info())

    def put(
        self,
        x: Any,
        *,
        ttl: float | None = None,
        readers: str | Iterable[str] = (),
        request_id: str = "",
        **call: Unpack[CallOptions],
    ) -> RemoteTensor:
        """Uploads `x` once, to be reduced any number of times without travelling again.

        >>> with client.put(np.arange(6.0).reshape(2, 3)) as tensor:
        ...     print(np.sum(tensor, axis=0), tensor.max(), list(client.describe(tensor))[:5])
        [3. 5. 7.] 5.0 ['sum', 'mean', 'std', 'min', 'max']

        `ttl`: seconds without use after which the server lets it go; its own
        `info().limits.resident_ttl_ms` unless said otherwise. Of more than that the rest is kept
        while nobody else needs the room. While the server has no room, the call waits for other
        tensors to end, by `delete`, the end of their `with` block or their `ttl`, and the log
        `warpfold` warns of it; after its `timeout`, ResourceExhaustedError.

        `readers`: on a server that asks who calls, the callers who may reduce the tensor, too, by
        the name or names that they have there, or "any".
        """
        check_words("put", call)
        array = as_tensor(x)
        placed = run(self._flows.put(array, ttl, readers, request_id, **call))
        return RemoteTensor(self, array.shape, array.dtype.newbyteorder("="), *placed)

    def share(self, x: Any, *, timeout: float | None = None) -> SharedTensor:
        """Has the server reach `x`, an array on a GPU of its host, until the handle is released.

        with client.share(gradient) as shared:
            norm, least = np.linalg.norm(shared), shared.min()

        Reductions of arrays on a GPU do that by themselves, each time anew; of what is shared, or
        lies in the same allocation, they take one call less to begin and one to end. The handle
        holds `x`; what was written is seen by reductions that begin afterwards.

        Raises TypeError when `x` is on no GPU, and NotImplementedError when the server cannot
        reach it.
        """
        array = shareable(x)
        return SharedTensor(self, array, run(self._flows.share(array, timeout)))

    def reduce_part(
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
        """The state of `x`, a part of a larger array; `merge` makes results of all parts' states.

        >>> x = np.arange(6000.0)
        >>> parts = [(x[:1234], 0), (x[1234:], 1234)]
        >>> states = [
        ...     client.reduce_part(part, ["sum", "max"], whole_shape=x.shape, offset=offset)
        ...     for part, offset in parts
        ... ]
        >>> print(client.merge(states)["sum"], client.sum(x))
        17997000.0 17997000.0

        A part is a block of the whole, cut anywhere along the axes that are reduced, as long as the
        whole along the others; it may be empty. `offset` is the index in the whole at which it
        begins, for each axis; one number is that of the lowest axis that is reduced. States are
        bytes that any server merges: they can be kept and sent.
        """
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
        return run(self._flows.state(plan_part(planned, whole_shape, offset), **call))

    def merge(
        self, states: Iterable[bytes], *, request_id: str = "", timeout: float | None = None
    ) -> Reduction:
        """The results from the states of all parts of an array, in any order.

        They have the bits of `reduce` of the whole. The parts do not overlap, and nothing is
        missing. A state has no checksum: one whose bytes were changed may be merged.
        """
        return run(self._flows.merge(states, request_id, timeout))

    def merge_states(
        self, states: Iterable[bytes], *, request_id: str = "", timeout: float | None = None
    ) -> bytes:
        """The state of parts that make up a block of the array, from theirs, in any order.

        For states that are too many for one call: some 30,000 of one number each, or 64 MiB.
        """
        return run(self._flows.merge_states(states, request_id, timeout))

    def close(self) -> None:
        """Ends the client; calls in progress fail. A second call does nothing."""
        run(self._flows.close())
        self._closing.set()

    def _leave(self, failed: bool) -> None:
        self.close()

    def _do(self, flow: Coroutine[Any, Any, Any], function: str) -> Any:
        return run(flow)


class SharedTensor(
    Context, Shared[Number, Floating, Integer, np.bool_, Values, Reduction, Descriptions]
):
    __doc__ = Shared.__doc__

    def release(self) -> None:
        """Lets the server forget the array, once the calls that use it are over. A second call
        does nothing."""
        if self._region is not None:
            region, self._region = self._region, None
            run(self._client._flows.unshare(self._array, region))

    def _leave(self, failed: bool) -> None:
        self.release()


class RemoteTensor(
    Context, Remote[Number, Floating, Integer, np.bool_, Values, Reduction, Descriptions]
):
    __doc__ = Remote.__doc__

    def delete(self, *, timeout: float | None = None) -> None:
        """Ends the tensor now, once the calls that use it are over. A second call does nothing.

        Where nobody listens it is tried for a second: a server that starts again has no tensors.
        """
        if not self._deleted:
            run(self._client._flows.delete(self._id, timeout))
            self._deleted = True

    def _leave(self, failed: bool) -> None:
        if not self._deleted:
            self._deleted = run(self._client._flows.leave(self._id, failed=failed))
