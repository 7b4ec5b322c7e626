"""The attempts of one RPC: how long each may take, and what follows a failure.

No input or output here: _flows sends and waits, and asks this what comes next.
"""

from __future__ import annotations

import logging
import time

import grpc

from ._errors import error_of, was_refused
from ._retry import Retrier, RetryPolicy, pushback_s

__all__ = ["Attempts", "Deadline", "Silence"]


_log = logging.getLogger("warpfold")
_KEEPS = "create_tensor"  # the RPC
_ROOM = "tensors that end make room: by delete(), the end of their `with` block, or a shorter ttl="


class Deadline:
    """The end of a call, which may be several RPCs: its timeout after the last progress.

    Progress is what moves many bytes: of a call of one message it is the end of the timeout. Any
    number of threads may use one at a time.
    """

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self.went_on()

    def went_on(self) -> None:
        self._at = time.monotonic() + self.timeout_s

    def time_left_s(self) -> float:
        return max(0.0, self._at - time.monotonic())


class Silence(grpc.RpcError):  # type: ignore[misc]  # gRPC has no types
    """How a stream fails that made no progress until the deadline: gRPC was told none."""

    def __init__(self, deadline: Deadline) -> None:
        super().__init__()
        self._details = f"Deadline Exceeded: no progress for {deadline.timeout_s:g} s"

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.DEADLINE_EXCEEDED

    def details(self) -> str:
        return self._details

    def trailing_metadata(self) -> tuple[()]:
        return ()


class Attempts:
    """Not for several threads."""

    def __init__(
        self,
        name: str,
        target: str,
        policy: RetryPolicy,
        deadline: Deadline,
        *,
        quiet: bool = False,  # no word in the log: its error says as much, and soon
    ) -> None:
        self._name = name
        self._quiet = quiet
        self._target = target
        self._retrier = Retrier(policy)
        self._deadline = deadline
        self._before: grpc.RpcError | None = None  # how the attempt before this one failed

    @property
    def count(self) -> int:
        return self._retrier.attempts

    def time_left_s(self) -> float:
        return self._deadline.time_left_s()

    def error(self, failure: grpc.RpcError) -> Exception:
        """What to raise for a failure that is final."""
        return error_of(failure, self._target, self.count, self._before)

    def delay_after_s(self, failure: grpc.RpcError) -> float:
        """The wait before the next attempt; raises the RPC's error when there is none."""
        pushback = pushback_s(failure.trailing_metadata() or ())
        delay = self._retrier.next_delay_s(
            failure.code(), pushback, self.time_left_s(), refused=was_refused(failure)
        )
        if delay is None:
            raise self.error(failure) from None  # which says as much
        if self._before is None and not self._quiet:
            reason = failure.details() or failure.code().name
            # A server that is full, and says until when, is no fault: room comes by itself, but in
            # its memory for tensors, where someone has to make it.
            level = logging.WARNING if pushback is None else logging.INFO
            if self._name == _KEEPS and failure.code() is grpc.StatusCode.RESOURCE_EXHAUSTED:
                level, reason = logging.WARNING, f"{reason}; {_ROOM}"
            _log.log(level, "retrying %s of %s: %s", self._name, self._target, reason)
        self._before = failure
        return delay
