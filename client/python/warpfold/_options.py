"""What `connect` was told, and what follows from it for the transport."""

from __future__ import annotations

import math
import numbers
import operator
import os
from dataclasses import dataclass

from ._channel import Pings
from ._info import Limits
from ._request import ReduceCall
from ._retry import RetryPolicy

__all__ = [
    "DEFAULT_CHUNK_BYTES",
    "DEFAULT_CONNECTIONS",
    "DEFAULT_PING_AFTER_S",
    "DEFAULT_PING_TIMEOUT_S",
    "DEFAULT_RETRY",
    "DEFAULT_SHARED_MEMORY_MODE",
    "DEFAULT_STREAM_THRESHOLD_BYTES",
    "DEFAULT_TIMEOUT_S",
    "Options",
    "STRIPES_PER_CONNECTION",
    "STRIPE_BYTES_MAX",
    "STRIPE_THRESHOLD_BYTES",
    "by_stream",
    "checked_timeout",
    "ttl_ms",
]

DEFAULT_TIMEOUT_S = 300.0
DEFAULT_RETRY = RetryPolicy()
# Above this a tensor is streamed. Microseconds by stream / in one message: H200 host, 16 cores
# (grpcio 1.84, 2026-11-21) 2 MiB 2690 / 2495, 4 MiB 4187 / 3816, 8 MiB 7265 / 6641, 16 MiB 13303 /
# 13037; CPU backend on 2 cores (1.51) 2459 / 2023, 4779 / 4143, 8817 / 7176, 16120 / 16377.
DEFAULT_STREAM_THRESHOLD_BYTES = 8 << 20
# 256 MiB over one connection in chunks of 1, 4 and 8 MiB: 208, 165 and 157 ms on the H200 host; on
# 2 cores in 1, 2 and 4 MiB 275, 207 and 264 ms, another time 218 and 202 in 2 and 4.
DEFAULT_CHUNK_BYTES = 4 << 20
# An array of at least this many bytes is sent over all of a client's connections at a time.
STRIPE_THRESHOLD_BYTES = 64 << 20
# So many pieces or more, so that a slow connection does not keep the others waiting.
STRIPES_PER_CONNECTION = 4
# And of at most so many bytes, so that each is one message: 256 MiB over 4 connections took 104 ms
# on the H200 host as 16 streams of 1 MiB chunks, 81 as 4 streams of 4 MiB chunks, 96, 83 and 80 as
# messages of 2, 4 and 8 MiB (C++'s one stream: 79), and, another time, 78 of 8 and 102 of 16.
STRIPE_BYTES_MAX = 8 << 20
# One on few processors, because several pay only where a connection is the limit: 256 MiB over
# loopback on 2 busy cores went at 1.5, 1.3 and 0.9 GB/s over 1, 2 and 4 (grpcio 1.51, 2026-11-21).
# Up to 4 on more: there, messages of 4 MiB over 1, 2, 3, 4, 6 and 8 took 263, 120, 79, 72, 72 and
# 75 ms.
DEFAULT_CONNECTIONS = min(max((os.cpu_count() or 1) // 4, 1), 4)
DEFAULT_SHARED_MEMORY_MODE = 0o600
# When the server of a small call is asked whether it is there, and how long it may take to say so:
# together, and with a retry's backoff, less than a second.
DEFAULT_PING_AFTER_S = 0.3
DEFAULT_PING_TIMEOUT_S = 0.5
# gRPC counts the nanoseconds from 1970 in 64 bits, which end in 2262: a later deadline has passed.
_TIMEOUT_MAX_S = 100 * 365 * 24 * 3600.0
_PING_MAX_S = 3600  # gRPC counts the milliseconds in 32 bits
_VERSION_MAX = 2**32 - 1  # the contract has 32 bits for it


def _check_number(name: str, value: object) -> None:
    if not isinstance(value, numbers.Real):
        kind = type(value).__name__
        raise TypeError(f"{name} is {value!r}, a {kind}, but must be a number of seconds")


def checked_timeout(timeout: float) -> float:
    """No more than a century."""
    _check_number("timeout", timeout)
    if not 0 < timeout < math.inf:
        raise ValueError(f"timeout is {timeout}, but must be a positive number of seconds")
    return min(timeout, _TIMEOUT_MAX_S)


@dataclass(frozen=True)
class Options:
    timeout: float
    retry: RetryPolicy
    stream_threshold_bytes: int
    chunk_bytes: int
    connections: int = DEFAULT_CONNECTIONS
    shared_memory_mode: int | None = DEFAULT_SHARED_MEMORY_MODE
    ping_after: float | None = DEFAULT_PING_AFTER_S
    ping_timeout: float = DEFAULT_PING_TIMEOUT_S
    required_numerics_version: int | None = None  # None, as 0, is any
    token_file: str | None = None

    def __post_init__(self) -> None:
        self.required_version()
        checked_timeout(self.timeout)
        if self.chunk_bytes < 1:
            raise ValueError(f"chunk_bytes is {self.chunk_bytes}, but must be positive")
        if self.connections < 1:
            raise ValueError(f"connections is {self.connections}, but must be positive")
        for name in ("ping_after", "ping_timeout"):
            value = getattr(self, name)
            if value is not None:
                _check_number(name, value)
            if value is not None and not 0.001 <= value <= _PING_MAX_S:
                raise ValueError(
                    f"{name} is {value}, but must be from 0.001 to {_PING_MAX_S} seconds"
                )

    def required_version(self) -> int:
        """As the contract has it, where 0 means any."""
        given = self.required_numerics_version
        name = "required_numerics_version"
        if given is None:
            return 0
        try:
            version = operator.index(given)
        except TypeError:
            kind = type(given).__name__
            raise TypeError(f"{name} is {given!r}, a {kind}, but must be a whole number") from None
        if not 0 <= version <= _VERSION_MAX:
            raise ValueError(f"{name} is {version}, but must be from 0 to {_VERSION_MAX}")
        return version

    def pings(self) -> Pings | None:
        if self.ping_after is None:
            return None
        return Pings(round(self.ping_after * 1000), round(self.ping_timeout * 1000))


def ttl_ms(ttl: float) -> int:
    """A time to live as the contract has it, where 0 means the server's own."""
    _check_number("ttl", ttl)
    if not 0.001 <= ttl < math.inf:
        raise ValueError(f"ttl is {ttl}, but must be a positive number of seconds")
    return round(ttl * 1000)


def by_stream(call: ReduceCall, options: Options, limits: Limits) -> bool:
    """Whether a tensor travels in chunks: it is large, or over the server's message limit."""
    size = call.payload_bytes
    message_bytes = call.request.ByteSize() + size
    return size > options.stream_threshold_bytes or 0 < limits.max_message_bytes < message_bytes
