"""The connection of a client: its methods, and whether they may still be called.

Both clients use gRPC's threaded channel. grpc.aio would replace a status that the server sends
before the last chunk by its own "Internal error from Core" (github.com/grpc/grpc/issues/36066;
with grpcio 1.85 in 5 of 25 runs of this package's tests), and a refused stream would lose its
code and its RetryInfo.
"""

from __future__ import annotations

import os
from typing import Any

import grpc

from . import _contract

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
    """Any number of threads may use one at a time."""

    def __init__(self, target: str, credentials: grpc.ChannelCredentials | None) -> None:
        self._pid = os.getpid()
        self._closed = False
        if credentials is None:
            self._grpc = grpc.insecure_channel(target, _ARGUMENTS)
        else:
            self._grpc = grpc.secure_channel(target, credentials, _ARGUMENTS)
        # No serialisers: messages are bytes here.
        self.get_info: Any = self._grpc.unary_unary(_contract.GET_SERVER_INFO_METHOD)
        self.reduce: Any = self._grpc.unary_unary(_contract.REDUCE_METHOD)
        self.reduce_stream: Any = self._grpc.stream_unary(_contract.REDUCE_STREAM_METHOD)

    def check(self) -> None:
        """RuntimeError when the channel was closed, or belongs to another process."""
        if os.getpid() != self._pid:
            raise RuntimeError(
                f"this client belongs to process {self._pid}, and its connection did not survive "
                "the fork; connect again in this process"
            )
        if self._closed:
            raise RuntimeError("the client is closed")

    def close(self) -> None:
        """Ends the calls in progress. A second call, and one in a forked child, does nothing."""
        if os.getpid() == self._pid and not self._closed:
            self._closed = True
            self._grpc.close()
