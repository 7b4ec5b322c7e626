"""What `connect` was told, and what follows from it for the transport."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ._info import Limits
from ._request import ReduceCall
from ._retry import RetryPolicy

DEFAULT_TIMEOUT_S = 300.0
DEFAULT_RETRY = RetryPolicy()
# Above this a tensor is streamed.
DEFAULT_STREAM_THRESHOLD_BYTES = 1 << 20
DEFAULT_CHUNK_BYTES = 1 << 20

CHANNEL_OPTIONS: list[tuple[str, int]] = [
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


def checked_timeout(timeout: float) -> float:
    if not 0 < timeout < math.inf:
        raise ValueError(f"timeout is {timeout}, but must be a positive number of seconds")
    return timeout


@dataclass(frozen=True)
class Options:
    timeout: float
    retry: RetryPolicy
    stream_threshold_bytes: int
    chunk_bytes: int

    def __post_init__(self) -> None:
        checked_timeout(self.timeout)
        if self.chunk_bytes < 1:
            raise ValueError(f"chunk_bytes is {self.chunk_bytes}, but must be positive")


def by_stream(call: ReduceCall, options: Options, limits: Limits) -> bool:
    """Whether a tensor travels in chunks: it is large, or over the server's message limit."""
    message_bytes = len(call.head) + len(call.payload)
    return len(call.payload) > options.stream_threshold_bytes or (
        0 < limits.max_message_bytes < message_bytes
    )
