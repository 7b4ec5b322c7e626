"""What `connect` was told, and what follows from it for the transport."""

from __future__ import annotations

import math
import os
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
# An array of at least this many bytes is sent over all of a client's connections at a time. With 4
# of them its pieces are 4 MiB and more, some 2 ms each, a tenth of which a call takes for itself.
STRIPE_THRESHOLD_BYTES = 64 << 20
# More stripes than there are connections, so that a slow one does not keep the others waiting; a
# part still has one node of the canonical tree.
STRIPES_PER_CONNECTION = 4
# One on few processors, because several pay only where a connection is the limit: 256 MiB over
# loopback on 2 busy cores went at 1.5, 1.3 and 0.9 GB/s over 1, 2 and 4 (grpcio 1.51, 2026-11-21).
# Up to 4 on more, where one stream waits for its threads to wake each other between two messages:
# on 16 idle cores it took 1.49 times the C++ client's time (H200 host, 2026-11-21). That 4 are
# right there is reasoned, not measured; bench/service/clients.py does.
DEFAULT_CONNECTIONS = min(max((os.cpu_count() or 1) // 4, 1), 4)
DEFAULT_SHARED_MEMORY_MODE = 0o600


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
    connections: int = DEFAULT_CONNECTIONS
    shared_memory_mode: int | None = DEFAULT_SHARED_MEMORY_MODE

    def __post_init__(self) -> None:
        checked_timeout(self.timeout)
        if self.chunk_bytes < 1:
            raise ValueError(f"chunk_bytes is {self.chunk_bytes}, but must be positive")
        if self.connections < 1:
            raise ValueError(f"connections is {self.connections}, but must be positive")


def ttl_ms(ttl: float) -> int:
    """A time to live as the contract has it, where 0 means the server's own."""
    if not 0.001 <= ttl < math.inf:
        raise ValueError(f"ttl is {ttl}, but must be a positive number of seconds")
    return round(ttl * 1000)


def by_stream(call: ReduceCall, options: Options, limits: Limits) -> bool:
    """Whether a tensor travels in chunks: it is large, or over the server's message limit."""
    size = call.payload_bytes
    message_bytes = call.request.ByteSize() + size
    return size > options.stream_threshold_bytes or 0 < limits.max_message_bytes < message_bytes
