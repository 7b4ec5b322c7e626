"""How the blocking client waits."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Coroutine
from concurrent import futures
from typing import Any, Callable, TypeVar

import grpc

from ._asyncio_io import AsyncioIo
from ._rpcs import Io
from ._request import Upload

T = TypeVar("T")
_SLICE_S = 0.1  # of a wait, for an interrupt that comes just before one does not end it


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

    async def parallel(self, work: Callable[[Io], Coroutine[Any, Any, T]]) -> T:
        """On an event loop of its own, for the caller's thread may have one that runs."""
        begun: queue.SimpleQueue[tuple[Any, Any]] = queue.SimpleQueue()

        async def begin() -> T:
            begun.put((asyncio.get_running_loop(), asyncio.current_task()))
            return await work(AsyncioIo())

        with futures.ThreadPoolExecutor(1, "warpfold") as thread:
            working = thread.submit(asyncio.run, begin())
            try:
                outcome: T = _waited_for(working)
                return outcome
            except BaseException:
                loop, task = begun.get()
                with contextlib.suppress(RuntimeError):  # it is over
                    loop.call_soon_threadsafe(task.cancel)
                raise


def _finished(call: grpc.Future) -> bytes:
    """The call's answer; raises grpc.RpcError. An interrupt cancels the call.

    A blocking stream that is interrupted leaves the thread behind that gRPC draws its messages
    with.
    """
    try:
        answer: bytes = _waited_for(call)
        return answer
    except BaseException:
        call.cancel()
        raise


def _waited_for(future: Any) -> Any:
    """The outcome of a future of gRPC's or Python's.

    Its own result() waits with a lock that gRPC takes for every message: an interrupt can leave it
    locked (1 of some 80 did), and later streams of the client never end.
    """
    done: queue.SimpleQueue[Any] = queue.SimpleQueue()
    future.add_done_callback(done.put)
    while True:
        with contextlib.suppress(queue.Empty):
            done.get(timeout=_SLICE_S)
            break
    return future.result()
