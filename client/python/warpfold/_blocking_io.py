"""How the blocking client waits.

Signals interrupt the main thread wherever its Python code is. In gRPC's that may leave a lock
taken which gRPC needs for every message of a call, or for every call. So futures are another
thread's, and the main thread waits for it by what is one step of C. It sends single messages
itself: another thread would add 18 us to the 133 of a small call (2 cores, grpcio 1.51,
2026-11-23), and 70 000 interrupts of such calls left no lock taken.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Coroutine, Sequence
from typing import Any, Callable, TypeVar

import grpc

from ._attempts import Deadline, Silence
from ._errors import error_of
from ._io import Io
from ._request import Upload

__all__ = ["BlockingIo", "Latch", "run"]

T = TypeVar("T")
_SLICE_S = 0.1  # of a wait, for an interrupt that comes just before one does not end it
# From here on a message of several at a time is sent by a blocking call, which nothing can cancel.
# 256 MiB in 8 MiB over 4 connections took 80 ms so and 99 by futures, whose calls gRPC hands to a
# thread of its own (H200 host, 2026-11-22; C++'s one stream 79).
_BLOCKING_BYTES_MIN = 1 << 20
# For what such a call may take to end after another's failure, and any call after its deadline. It
# holds nothing but a copy.
_GRACE_S = 1.0


def run(flow: Coroutine[Any, Any, T]) -> T:
    """The outcome of a flow over a BlockingIo, which never suspends."""
    try:
        flow.send(None)
    except StopIteration as done:
        outcome: T = done.value
        return outcome
    raise AssertionError("a blocking flow suspended")


class Latch:
    """Set once. Any number of threads may use one at a time.

    An interrupt can leave the lock of a threading.Event taken, and whoever sets it waits for good.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def set(self) -> None:
        with contextlib.suppress(RuntimeError):  # it is set
            self._lock.release()

    def is_set(self) -> bool:
        return not self._lock.locked()

    def wait(self, timeout_s: float) -> None:
        """Returns when it is set, or the time has passed."""
        if self._lock.acquire(timeout=timeout_s):
            self.set()


class BlockingIo:
    """Any number of threads may use one at a time."""

    def __init__(self, closing: Latch) -> None:
        self._closing = closing

    async def unary(self, method: Any, message: bytes, timeout: float) -> bytes:
        answer: bytes = method(message, timeout=timeout)
        return answer

    async def stream(self, method: Any, upload: Upload, deadline: Deadline) -> bytes:
        answers: list[bytes] = []

        async def send(io: Io) -> None:
            answers.append(await io.stream(method, upload, deadline))

        await self.parallel([send], deadline)
        return answers[0]

    async def work(self, task: Callable[[], T]) -> T:
        return task()

    async def sleep(self, seconds: float) -> None:
        self._closing.wait(seconds)

    async def parallel(
        self, works: Sequence[Callable[[Io], Coroutine[Any, Any, None]]], deadline: Deadline
    ) -> None:
        """Each on a thread of its own."""
        ended = Latch()
        outcomes: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        over: list[None] = []  # one for each outcome, taken or not

        def begin(work: Callable[[Io], Coroutine[Any, Any, None]]) -> None:
            outcome: BaseException | None = None
            try:
                run(work(_OneOfSeveral(ended)))
            except BaseException as error:
                outcome = error
            over.append(None)
            outcomes.put(outcome)

        begun = 0
        try:
            for work in works:
                threading.Thread(target=begin, args=(work,), name="warpfold", daemon=True).start()
                begun += 1
            for _ in works:
                try:
                    error = _taken_from(outcomes, deadline)
                except Silence as late:
                    raise error_of(late) from None
                if error is not None:
                    raise error
        except BaseException:
            ended.set()
            grace = Deadline(_GRACE_S)
            # Not by Thread.join, which an interrupt can leave with a lock taken as well.
            with contextlib.suppress(queue.Empty):
                while len(over) < begun:
                    outcomes.get(timeout=grace.time_left_s())
            raise


class _OneOfSeveral(BlockingIo):
    """For one of several flows at a time, all of which end when `ended` is set."""

    def __init__(self, ended: Latch) -> None:
        super().__init__(closing=ended)
        self._ended = ended

    async def unary(self, method: Any, message: bytes, timeout: float) -> bytes:
        self._go_on()
        if len(message) < _BLOCKING_BYTES_MIN:
            call = method.future(message, timeout=timeout)
            return _finished(call, Deadline(timeout), self._ended)
        answer: bytes = method(message, timeout=timeout)
        self._go_on()
        return answer

    async def stream(self, method: Any, upload: Upload, deadline: Deadline) -> bytes:
        self._go_on()
        return _finished(method.future(upload), deadline, self._ended, grace_s=0.0)

    def _go_on(self) -> None:
        if self._ended.is_set():
            raise _Ended


class _Ended(Exception):
    """Another flow failed, or was interrupted."""


class _Failure(grpc.RpcError):  # type: ignore[misc]  # gRPC has no types
    """What a call said of its failure, without the call, whose methods take its lock."""

    def __init__(self, call: Any) -> None:
        super().__init__(call.details())
        self._code = call.code()
        self._details = call.details()
        self._trailers = call.trailing_metadata()

    def code(self) -> grpc.StatusCode:
        code: grpc.StatusCode = self._code
        return code

    def details(self) -> str:
        details: str = self._details
        return details

    def trailing_metadata(self) -> Any:
        return self._trailers


def _finished(call: Any, deadline: Deadline, ended: Latch, grace_s: float = _GRACE_S) -> bytes:
    """The call's answer; raises grpc.RpcError. `ended` cancels the call. Not on the main thread.

    The deadline ends it too, after the grace that gRPC has for doing so by itself.
    """
    done: queue.SimpleQueue[None] = queue.SimpleQueue()
    try:
        call.add_done_callback(lambda _: done.put(None))
        _taken_from(done, deadline, ended, grace_s)
        if call.exception() is not None:
            raise _Failure(call)
        answer: bytes = call.result()
        return answer
    except BaseException:
        call.cancel()
        raise
    finally:
        del call  # a traceback has this frame, and who drops the call takes its lock


def _taken_from(
    waiting: queue.SimpleQueue[T],
    deadline: Deadline,
    ended: Latch | None = None,
    grace_s: float = _GRACE_S,
) -> T:
    """The next of a queue. An interrupt ends the wait, and so does `ended`, which raises _Ended.

    Silence when nothing else has ended the wait so long after the deadline.
    """
    over: Deadline | None = None  # of the grace
    while True:
        left_s = deadline.time_left_s()
        if left_s > 0:
            over = None
        elif over is None:
            over = Deadline(grace_s)
        wait_s = left_s if over is None else over.time_left_s()
        with contextlib.suppress(queue.Empty):
            return waiting.get(timeout=min(_SLICE_S, wait_s))
        if ended is not None and ended.is_set():
            raise _Ended
        if over is not None and not over.time_left_s():
            raise Silence(deadline)
