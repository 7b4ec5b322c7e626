"""The blocking client."""

from __future__ import annotations

import contextlib
import queue
import threading
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


def connect(
    target: str,
    *,
    credentials: grpc.ChannelCredentials | None = None,
    timeout: float = DEFAULT_TIMEOUT_S,
    retry: RetryPolicy = DEFAULT_RETRY,
    stream_threshold_bytes: int = DEFAULT_STREAM_THRESHOLD_BYTES,
    chunk_bytes: int = DEFAULT_CHUNK_BYTES,
) -> Client:
    """Connects to the server at `target`, "host:port", and asks what it is.

    `credentials` switch TLS on, such as grpc.ssl_channel_credentials(). `timeout`, in seconds,
    bounds every call, retries included. Tensors over `stream_threshold_bytes` are sent in chunks
    of `chunk_bytes`, smaller ones in one message.

    Raises UnavailableError when nothing answers, WrongServerError when it is not warpfold.
    """
    options = Options(timeout, retry, stream_threshold_bytes, chunk_bytes)
    client = Client(target, credentials, options)
    try:
        client._info = client.info()
    except BaseException:
        client.close()
        raise
    return client


class Client(Functions[Any, Reduction]):
    __doc__ = Functions.__doc__

    # Made by `connect`. Any number of threads may use a client at a time. Not a forked child.

    def __init__(
        self, target: str, credentials: grpc.ChannelCredentials | None, options: Options
    ) -> None:
        self.target = target
        self._options = options
        self._channel = Channel(target, credentials)
        self._closing = threading.Event()
        self._info: ServerInfo

    def info(self) -> ServerInfo:
        """What the server is now: version, devices, limits, ops and dtypes.

        >>> "sum" in client.info().ops
        True
        """
        try:
            attempts = Attempts(self.target, self._options, None)
            data = self._attempt(attempts, lambda t: self._channel.get_info(b"", timeout=t))
        except UnimplementedError as error:
            raise wrong_server(self.target, error) from error
        return parse_info(data, self.target)

    def describe(
        self,
        x: Any,
        axis: Axis = None,
        *,
        timeout: float | None = None,
        progress: Progress | None = None,
    ) -> Reduction:
        """The statistics of `x` that the server has, in one pass.

        Leaves out what does not exist: the minimum of nothing, a sum that does not fit its dtype.

        >>> found = client.describe(np.array([1.0, 2.0, 6.0]))
        >>> print(found["min"], found["mean"], found["max"])
        1.0 3.0 6.0
        """
        call, without_sum = describe_calls(x, axis, self._info)
        try:
            return self._reduction(call, timeout=timeout, progress=progress)
        except OutOfRangeError:
            if without_sum is None:
                raise
            return self._reduction(without_sum, timeout=timeout, progress=progress)

    def close(self) -> None:
        """Ends the client; calls in progress fail. A second call does nothing."""
        self._channel.close()
        self._closing.set()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _value(
        self,
        call: ReduceCall,
        *,
        timeout: float | None = None,
        progress: Progress | None = None,
    ) -> Any:
        return self._reduction(call, timeout=timeout, progress=progress)[call.ops[0]]

    def _reduction(
        self,
        call: ReduceCall,
        *,
        timeout: float | None = None,
        progress: Progress | None = None,
    ) -> Reduction:
        attempts = Attempts(self.target, self._options, timeout)
        if by_stream(call, self._options, self._info.limits):
            data = self._attempt(attempts, lambda t: self._send_stream(call, progress, t))
        else:
            message = call.unary_message()
            data = self._attempt(attempts, lambda t: self._channel.reduce(message, timeout=t))
            if progress is not None:
                progress(len(call.payload), len(call.payload))
        return parse_answer(call, data, attempts.count)

    def _attempt(self, attempts: Attempts, send: Callable[[float], bytes]) -> bytes:
        """Sends until there is an answer, or the failure is final."""
        while True:
            self._channel.check()
            try:
                return send(attempts.time_left_s())
            except grpc.RpcError as failure:
                delay_s = attempts.delay_after_s(failure)
            self._closing.wait(delay_s)

    def _send_stream(self, call: ReduceCall, progress: Progress | None, timeout: float) -> bytes:
        upload = Upload(call, self._options.chunk_bytes, progress)
        try:
            return _finished(self._channel.reduce_stream.future(upload, timeout=timeout))
        finally:
            if upload.error is not None:
                raise upload.error from None


def _finished(call: grpc.Future) -> bytes:
    """The call's answer; raises grpc.RpcError. An interrupt cancels the call.

    A blocking stream that is interrupted leaves the thread behind that gRPC draws its messages
    with. And result() waits with a lock that gRPC takes for every message: an interrupt can leave
    it locked (1 of some 80 did), and later streams of the client never end.
    """
    done: queue.SimpleQueue[grpc.Future] = queue.SimpleQueue()
    try:
        call.add_done_callback(done.put)
        while True:
            # In slices, for an interrupt that comes just before the wait does not end it.
            with contextlib.suppress(queue.Empty):
                answer: bytes = done.get(timeout=0.1).result()
                return answer
    except BaseException:
        call.cancel()
        raise
