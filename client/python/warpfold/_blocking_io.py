"""How the blocking client waits."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Coroutine, Sequence
from typing import Any, Callable, TypeVar

import grpc

from ._rpcs import Io
from ._request import Upload

T = TypeVar("T")
_SLICE_S = 0.1  # of a wait, for an interrupt that comes just before one does not end it
# From here on a message of several at a time is sent by a blocking call, which nothing can cancel.
# 256 MiB in 8 MiB over 4 connections took 80 ms so and 99 by futures, whose calls gRPC hands to a
# thread of its own (H200 host, 2026-11-22; C++'s one stream 79).
_BLOCKING_BYTES_MIN = 1 << 20
# For what such a call may take to end after another's failure. It holds nothing but a copy.
_GRACE_S = 1.0


def run(flow: Coroutine[Any, Any, T]) -> T:
    """The outcome of a flow over a BlockingIo, which never suspends."""
    try:
        flow.send(None)
    except StopIteration as done:
        outcome: T = done.value
        return outcome
    raise AssertionError("a blocking flow suspended")


class BlockingIo:
    """Any number of threads may use one at a time."""

    def __init__(self, closing: threading.Event) -> None:
        self._closing = closing

    async def unary(self, method: Any, message: bytes, timeout: float) -> bytes:
        answer: bytes = method(message, timeout=timeout)
        return answer

    async def stream(self, method: Any, upload: Upload, timeout: float) -> bytes:
        return _finished(method.future(upload, timeout=timeout))

    async def work(self, task: Callable[[], T]) -> T:
        return task()

    async def sleep(self, seconds: float) -> None:
        self._closing.wait(seconds)

    async def parallel(self, works: Sequence[Callable[[Io], Coroutine[Any, Any, None]]]) -> None:
        """Each on a thread of its own."""
        ended = threading.Event()
        outcomes: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()

        def begin(work: Callable[[Io], Coroutine[Any, Any, None]]) -> None:
            try:
                run(work(_OneOfSeveral(ended)))
                outcomes.put(None)
            except BaseException as error:
                outcomes.put(error)

        threads = [
            threading.Thread(target=begin, args=(work,), name="warpfold", daemon=True)
            for work in works
        ]
        for thread in threads:
            thread.start()
        try:
            for _ in threads:
                error = _taken_from(outcomes)
                if error is not None:
                    raise error
        except BaseException:
            ended.set()
            until = time.monotonic() + _GRACE_S
            for thread in threads:
                thread.join(max(0.0, until - time.monotonic()))
            raise


class _OneOfSeveral(BlockingIo):
    """For one of several flows at a time, all of which end when `ended` is set."""

    def __init__(self, ended: threading.Event) -> None:
        super().__init__(closing=ended)
        self._ended = ended

    async def unary(self, method: Any, message: bytes, timeout: float) -> bytes:
        self._go_on()
        if len(message) < _BLOCKING_BYTES_MIN:
            return _finished(method.future(message, timeout=timeout), self._ended)
        answer: bytes = method(message, timeout=timeout)
        self._go_on()
        return answer

    async def stream(self, method: Any, upload: Upload, timeout: float) -> bytes:
        self._go_on()
        return _finished(method.future(upload, timeout=timeout), self._ended)

    def _go_on(self) -> None:
        if self._ended.is_set():
            raise _Ended


class _Ended(Exception):
    """Another flow failed, or was interrupted."""


def _finished(call: grpc.Future, ended: threading.Event | None = None) -> bytes:
    """The call's answer; raises grpc.RpcError. An interrupt cancels the call, and so does `ended`.

    A blocking stream that is interrupted leaves the thread behind that gRPC draws its messages
    with. And a call's own result() waits with a lock that gRPC takes for every message: an
    interrupt can leave it locked (1 of some 80 did), and later streams of the client never end.
    """
    done: queue.SimpleQueue[Any] = queue.SimpleQueue()
    call.add_done_callback(done.put)
    try:
        _taken_from(done, ended)
        answer: bytes = call.result()
        return answer
    except BaseException:
        call.cancel()
        raise


def _taken_from(waiting: queue.SimpleQueue[T], ended: threading.Event | None = None) -> T:
    """The next of a queue. An interrupt ends the wait, and so does `ended`, which raises _Ended."""
    while True:
        with contextlib.suppress(queue.Empty):
            return waiting.get(timeout=_SLICE_S)
        if ended is not None and ended.is_set():
            raise _Ended
