"""The attempts of one call: how long each may take, and what follows a failure.

No input or output here: _client and aio send and wait, and ask this what comes next.
"""

from __future__ import annotations

import time

import grpc

from ._errors import error_of
from ._options import Options, checked_timeout
from ._retry import Retrier, pushback_s


class Attempts:
    """Not for several threads."""

    def __init__(self, target: str, options: Options, timeout: float | None) -> None:
        timeout = options.timeout if timeout is None else checked_timeout(timeout)
        self._target = target
        self._give_up_at = time.monotonic() + timeout
        self._retrier = Retrier(options.retry)

    @property
    def count(self) -> int:
        return self._retrier.attempts

    def time_left_s(self) -> float:
        return max(0.0, self._give_up_at - time.monotonic())

    def delay_after_s(self, failure: grpc.RpcError) -> float:
        """The wait before the next attempt; raises the call's error when there is none."""
        pushback = pushback_s(failure.trailing_metadata() or ())
        delay = self._retrier.next_delay_s(failure.code(), pushback, self.time_left_s())
        if delay is None:
            raise error_of(failure, self._target, self.count) from failure
        return delay
