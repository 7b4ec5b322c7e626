"""When to try a failed call again, and after how long: the contract's retry column.

gRPC's own retries are off: they keep a call's messages and give up silently past 256 KiB. A
reduction changes nothing on the server and a write writes the same bytes, so sending one again is
always safe.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Callable, Union

import grpc
from google.protobuf.message import DecodeError

from . import _contract

__all__ = ["Retrier", "RetryPolicy", "Trailers", "pushback_s"]

# CANCELLED is gRPC's answer to a call that reaches a server while it shuts down: who cancels a call
# of ours does not ask here. ABORTED: another call is in the way, often an earlier attempt of this
# one that the server has not yet seen end.
_PASSING = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.ABORTED}

Trailers = Iterable[tuple[str, Union[str, bytes]]]


@dataclass(frozen=True)
class RetryPolicy:
    """How often, and how patiently, calls are tried again that may succeed later."""

    # The first one included; 1 never retries. None: as many as the call's timeout has room for, of
    # `connect` five, so that nothing at the target is said soon.
    attempts_max: int | None = None
    # The same of attempts that found no server (UNAVAILABLE) alone, for callers who have another.
    # None: as many as attempts_max says.
    unavailable_max: int | None = None
    # How long a call waits for a server while each connection is refused, because nobody listens
    # there: long enough for one that is started again. grpcio 1.51 found such a one 8 s after it
    # had come back, 1.80 2 s. None: as long as the others let it, and so does connecting.
    refused_max_s: float | None = 20.0
    backoff_first_s: float = 0.05
    backoff_max_s: float = 2.0
    backoff_factor: float = 2.0
    jitter: float = 0.2  # each delay is multiplied by a number from [1 - jitter, 1 + jitter]

    def __post_init__(self) -> None:
        for name in ("attempts_max", "unavailable_max"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} is {value}, but a call takes one")
        if self.refused_max_s is not None and not self.refused_max_s >= 0:
            raise ValueError(f"refused_max_s is {self.refused_max_s}, but must not be negative")

    def to_connect(self) -> RetryPolicy:
        attempts_max = 5 if self.attempts_max is None else self.attempts_max
        return replace(self, attempts_max=attempts_max, refused_max_s=None)


def pushback_s(trailers: Trailers) -> float | None:
    """How long the server asked to wait. Negative means "do not retry".

    The trailer grpc-retry-pushback-ms wins over the google.rpc.RetryInfo detail. As gRPC defines
    it (proposal A6), a trailer that cannot be read forbids retries.
    """
    values = {key: value for key, value in trailers}  # dict() fails on an old grpc.aio.Metadata
    if "grpc-retry-pushback-ms" in values:
        try:
            return int(values["grpc-retry-pushback-ms"]) / 1000
        except ValueError:
            return -1.0
    try:
        status = _contract.Status.FromString(values.get("grpc-status-details-bin", b""))
    except DecodeError:  # the server's code and message still stand
        return None
    for detail in status.details:
        info = _contract.RetryInfo()
        if detail.Unpack(info):
            return float(info.retry_delay.seconds + info.retry_delay.nanos / 1e9)
    return None


class Retrier:
    """One call's retries. Not for several threads."""

    # A generator of its own would cost every call the 30 us of seeding one.
    def __init__(
        self, policy: RetryPolicy, uniform: Callable[[float, float], float] = random.uniform
    ) -> None:
        self.attempts = 1
        self._unavailable = 0
        self._refused_s = 0.0  # waited since the last attempt that was not refused
        self._policy = policy
        self._backoff_s = policy.backoff_first_s
        self._uniform = uniform

    def next_delay_s(
        self,
        code: grpc.StatusCode,
        pushback: float | None,
        time_left_s: float,
        *,
        refused: bool = False,
    ) -> float | None:
        """The wait before the next attempt, or None when the failure is final.

        `refused`: nobody listens at any address. That takes no time: the waits are all there is.
        """
        full = code is grpc.StatusCode.RESOURCE_EXHAUSTED
        if not full and code not in _PASSING:
            return None
        if full and pushback is None:  # over a limit: it will never fit
            return None
        if pushback is not None and pushback < 0:
            return None
        self._unavailable += code is grpc.StatusCode.UNAVAILABLE
        unavailable_max = self._policy.unavailable_max
        if unavailable_max is not None and self._unavailable >= unavailable_max:
            return None
        attempts_max = self._policy.attempts_max
        if attempts_max is not None and self.attempts >= attempts_max:
            return None
        jitter = self._policy.jitter
        delay = self._backoff_s * self._uniform(1 - jitter, 1 + jitter)
        if pushback is not None:
            # Never earlier than asked; the rest spreads clients that were refused together.
            delay = pushback + min(delay, pushback / 4)
        if delay >= time_left_s:
            return None
        self._refused_s = self._refused_s + delay if refused else 0.0
        refused_max_s = self._policy.refused_max_s
        if refused_max_s is not None and self._refused_s > refused_max_s:
            return None
        self.attempts += 1
        grown = self._backoff_s * self._policy.backoff_factor
        self._backoff_s = min(grown, self._policy.backoff_max_s)
        return delay
