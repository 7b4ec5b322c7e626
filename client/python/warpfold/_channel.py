"""The connections of a client: the methods it calls, and whether they may still be called.

Both clients use gRPC's threaded channel. grpc.aio would replace a status that the server sends
before the last chunk by its own "Internal error from Core" (github.com/grpc/grpc/issues/36066;
with grpcio 1.85 in 5 of 25 runs of this package's tests), and a refused stream would lose its
code and its RetryInfo.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

import grpc

from . import _contract
from ._heap import keep_freed_memory

__all__ = ["Channel", "Channels", "Pings"]

_ARGUMENTS = [
    ("grpc.max_receive_message_length", 1 << 30),  # gRPC's own default is 4 MiB
    ("grpc.max_send_message_length", -1),
    ("grpc.enable_retries", 0),  # _retry says why
    ("grpc.use_local_subchannel_pool", 1),  # a connection of its own, not a shared one
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2000),
]
_STALLED_MS = 10_000
# gRPC gives up a connection whose bytes stay unacknowledged for the keepalive timeout, once
# keepalive is on. The ping itself is not wanted: servers take frequent ones for abuse.
_PATIENT = [
    ("grpc.keepalive_time_ms", 30 * 60 * 1000),
    ("grpc.keepalive_timeout_ms", _STALLED_MS),
]
_TURNS = [("grpc.lb_policy_name", "round_robin")]  # gRPC's own way is to stay with the first
_SPREAD: list[tuple[str, Any]] = [*_PATIENT, *_TURNS]
_ANEW_S = 1.0  # between two times


class Pings(NamedTuple):
    """When the server of a small call is asked whether it is there."""

    after_ms: int  # of silence
    timeout_ms: int  # for its answer

    def arguments(self) -> list[tuple[str, int]]:
        return [
            ("grpc.keepalive_time_ms", self.after_ms),
            ("grpc.keepalive_timeout_ms", self.timeout_ms),
            # Later versions go by this one; 1.80 never sets the timer of the other.
            ("grpc.http2.ping_timeout_ms", self.timeout_ms),
            ("grpc.http2.max_pings_without_data", 0),  # any number: a call may wait long
            # gRPC sends no ping within 1 s of the last, and those that measure the bandwidth count:
            # the first call to a server that has just stopped took 1.4 s with them and 0.7 without.
            # Small calls need no large windows.
            ("grpc.http2.bdp_probe", 0),
        ]


class _Authorized:
    """A method of gRPC's whose calls carry the token."""

    def __init__(self, method: Any, token: str) -> None:
        self._method = method
        self._metadata = (("authorization", f"Bearer {token}"),)

    def __call__(self, request: Any, timeout: float | None = None) -> Any:
        return self._method(request, timeout=timeout, metadata=self._metadata)

    def future(self, request: Any, timeout: float | None = None) -> Any:
        return self._method.future(request, timeout=timeout, metadata=self._metadata)


class Channel:
    """One connection, or one to each server. Any number of threads may use one at a time."""

    def __init__(
        self,
        target: str,
        credentials: grpc.ChannelCredentials | None,
        arguments: Sequence[tuple[str, Any]],
        token: str | None,
    ) -> None:
        if credentials is None:
            self._grpc = grpc.insecure_channel(target, [*_ARGUMENTS, *arguments])
        else:
            self._grpc = grpc.secure_channel(target, credentials, [*_ARGUMENTS, *arguments])

        # No serialisers: messages are bytes here.
        def unary(method: str) -> Any:
            return authorized(self._grpc.unary_unary(method))

        def stream(method: str) -> Any:
            return authorized(self._grpc.stream_unary(method))

        def authorized(method: Any) -> Any:
            return method if token is None else _Authorized(method, token)

        self.get_info: Any = unary(_contract.GET_SERVER_INFO_METHOD)
        self.reduce: Any = unary(_contract.REDUCE_METHOD)
        self.reduce_stream: Any = stream(_contract.REDUCE_STREAM_METHOD)
        self.merge: Any = unary(_contract.MERGE_METHOD)
        self.create_tensor: Any = unary(_contract.CREATE_TENSOR_METHOD)
        self.write_tensor: Any = stream(_contract.WRITE_TENSOR_METHOD)
        self.delete_tensor: Any = unary(_contract.DELETE_TENSOR_METHOD)
        self.register_shared_memory: Any = unary(_contract.REGISTER_SHARED_MEMORY_METHOD)
        self.register_cuda_memory: Any = unary(_contract.REGISTER_CUDA_MEMORY_METHOD)
        self.unregister_memory: Any = unary(_contract.UNREGISTER_MEMORY_METHOD)
        self.list_memory: Any = unary(_contract.LIST_MEMORY_METHOD)

    def close(self) -> None:
        self._grpc.close()


class Channels:
    """A client's connections, each of which connects by its first call.

    Where the target is several servers, what a call needs may lie on one of them: `first`, and
    `several` for large uploads, stay with one. Of those that any server may answer, `small` is for
    small calls (_small) and `spread_at` for the others: they take turns. A call goes on by a
    connection that has been replaced meanwhile, which ends with it.

    Any number of threads may use one at a time.
    """

    def __init__(
        self,
        target: str,
        credentials: grpc.ChannelCredentials | None,
        pings: Pings | None,
        token: str | None = None,
    ) -> None:
        keep_freed_memory()
        self._pid = os.getpid()
        self._target = target
        self._credentials = credentials
        self._token = token
        self._lock = threading.Lock()
        self.closed = False
        self._pings = pings
        self._living: weakref.WeakSet[Channel] = weakref.WeakSet()
        self.first = self._channel(_PATIENT)
        self._several = [self.first]
        # Now: what makes one takes locks, which an interrupt of a call may leave taken.
        self._spread = [self._channel(_SPREAD)]
        self._anew_from = 0.0
        self.small: Channel
        self._connect_small()

    def several(self, count: int) -> list[Channel]:
        """`count` of them, of which those not yet there are made."""
        self.check()  # first: a forked child may find the lock taken for good
        with self._lock:
            self.check()
            return self._made(self._several, count, _PATIENT)

    def spread_at(self, index: int) -> Channel:
        """One of them, made when it is first asked for."""
        self.check()
        made = self._spread
        if index < len(made):
            return made[index]
        with self._lock:
            self.check()
            return self._made(self._spread, index + 1, _SPREAD)[index]

    def ask_less_hastily(self, too_hasty: Channel) -> None:
        """Servers get four times the time to say that they are there, by a new connection.

        They are not asked at all when that comes to the ten seconds after which a stalled
        connection is given up. Nothing when `too_hasty` is `small` no longer.
        """
        with self._lock:
            if self.closed or self._pings is None or self.small is not too_hasty:
                return
            longer = Pings(4 * self._pings.after_ms, 4 * self._pings.timeout_ms)
            self._pings = longer if longer.timeout_ms < _STALLED_MS else None
            self._connect_small()

    def stop_asking(self) -> None:
        """No server is asked any more whether it is there."""
        with self._lock:
            if self.closed or self._pings is None:
                return
            self._pings = None
            self._connect_small()

    def connect_anew(self) -> None:
        """For when a server may hang, whose connections stay and by which nobody is asked.

        Calls of `spread_at` that begin from now on go by new ones, and such a server gets none.
        Nothing within a second of the last time.
        """
        with self._lock:
            now = time.monotonic()
            if self.closed or now < self._anew_from:
                return
            self._anew_from = now + _ANEW_S
            self._spread = [self._channel(_SPREAD)]
            if self._pings is None:
                self._connect_small()

    def _connect_small(self) -> None:
        arguments = _PATIENT if self._pings is None else self._pings.arguments()
        self.small = self._channel([*arguments, *_TURNS])

    def _channel(self, arguments: Sequence[tuple[str, Any]]) -> Channel:
        made = Channel(self._target, self._credentials, arguments, self._token)
        self._living.add(made)
        return made

    def _made(
        self, made: list[Channel], count: int, arguments: Sequence[tuple[str, Any]]
    ) -> list[Channel]:
        while len(made) < count:
            made.append(self._channel(arguments))
        return made[:count]

    def are_ours(self) -> bool:
        """Whether this process made them, and is no forked child of the one that did."""
        return os.getpid() == self._pid

    def check(self) -> None:
        """RuntimeError when they were closed, or belong to another process."""
        if not self.are_ours():
            raise RuntimeError(
                f"this client belongs to process {self._pid}, and its connection did not survive "
                "the fork; connect again in this process"
            )
        if self.closed:
            raise RuntimeError("the client is closed")

    def close(self) -> None:
        """Ends the calls in progress. A second call, and one in a forked child, does nothing."""
        if not self.are_ours():
            return
        with self._lock:
            if not self.closed:
                self.closed = True
                for channel in self._living:
                    channel.close()
