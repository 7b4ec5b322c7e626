"""What `connect` was told, and what follows from it for the transport."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ._info import Limits
from ._request import ReduceCall
from ._retry import RetryPolicy

DEFAULT_TIMEOUT_S = 300.0
DEFAULT_RETRY = RetryPolicy()
# Above this a tensor is streamed. Microseconds by stream / in one message, on 2 cores over loopback
# (CPU backend, grpcio 1.85, 2026-11-21): 1 MiB 1510 / 740, 2 MiB 2500 / 3670, 4 MiB 3630 / 8150.
DEFAULT_STREAM_THRESHOLD_BYTES = 1 << 20
# There, 256 MiB took 1.51, 1.14, 1.11 and 1.11 times the C++ client's time in chunks of 256 KiB,
# 512 KiB, 1 MiB and 2 MiB.
DEFAULT_CHUNK_BYTES = 1 << 20


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
