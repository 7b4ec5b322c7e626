"""The connections of a client: the methods it calls, and whether they may still be called.

Both clients use gRPC's threaded channel. grpc.aio would replace a status that the server sends
before the last chunk by its own "Internal error from Core" (github.com/grpc/grpc/issues/36066;
with grpcio 1.85 in 5 of 25 runs of this package's tests), and a refused stream would lose its
code and its RetryInfo.
"""

from __future__ import annotations

import os
import threading
from typing import Any

import grpc

from . import _contract
from ._heap import keep_freed_memory

_ARGUMENTS = [
    ("grpc.max_receive_message_length", 1 << 30),  # gRPC's own default is 4 MiB
    ("grpc.max_send_message_length", -1),
    ("grpc.enable_retries", 0),  # _retry says why
    ("grpc.use_local_subchannel_pool", 1),  # a connection of its own, not a shared one
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2000),
    # gRPC gives up a connection whose bytes stay unacknowledged for the keepalive timeout, once
    # keepalive is on. The ping itself is not wanted: servers take frequent ones for abuse.
    ("grpc.keepalive_time_ms", 30 * 60 * 1000),
    ("grpc.keepalive_timeout_ms", 10_000),
]


class Channel:
    """One connection. Any number of threads may use one at a time."""

    def __init__(self, target: str, credentials: grpc.ChannelCredentials | None) -> None:
        if credentials is None:
            self._grpc = grpc.insecure_channel(target, _ARGUMENTS)
        else:
            self._grpc = grpc.secure_channel(target, credentials, _ARGUMENTS)
        # No serialisers: messages are bytes here.
        unary, stream = self._grpc.unary_unary, self._grpc.stream_unary
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
    """A client's connections: the first, for all calls, and more of them for large uploads.

    Any number of threads may use one at a time.
    """

    def __init__(self, target: str, credentials: grpc.ChannelCredentials | None) -> None:
        keep_freed_memory()
        self._pid = os.getpid()
        self._target = target
        self._credentials = credentials
        self._lock = threading.Lock()
        self.closed = False
        self.first = Channel(target, credentials)
        self._all = [self.first]

    def several(self, count: int) -> list[Channel]:
        """`count` of them, of which those not yet there are made."""
        self.check()  # first: a forked child may find the lock taken for good
        with self._lock:
            self.check()
            while len(self._all) < count:
                self._all.append(Channel(self._target, self._credentials))
            return self._all[:count]

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
                for channel in self._all:
                    channel.close()
