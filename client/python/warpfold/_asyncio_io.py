"""How the asyncio client waits."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
from collections.abc import Coroutine, Sequence
from typing import Any, Callable, TypeVar

import grpc

from ._attempts import Deadline, Silence
from ._io import Io
from ._request import Upload

__all__ = ["AsyncioIo"]

T = TypeVar("T")


class AsyncioIo:
    """For the running event loop."""

    async def unary(self, method: Any, message: bytes, timeout: float) -> bytes:
        return await _finished(method.future(message, timeout=timeout))

    async def stream(self, method: Any, upload: Upload, deadline: Deadline) -> bytes:
        return await _finished(method.future(upload), deadline)

    async def work(self, task: Callable[[], T]) -> T:
        """On another thread. A task that was begun is waited for, cancelled or not."""
        working = asyncio.get_running_loop().run_in_executor(None, task)
        try:
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            while not working.done():
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.wait([working])
            raise

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def parallel(
        self, works: Sequence[Callable[[Io], Coroutine[Any, Any, None]]], deadline: Deadline
    ) -> None:
        tasks = [asyncio.ensure_future(work(self)) for work in works]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _finished(call: grpc.Future, deadline: Deadline | None = None) -> bytes:
    """The call's answer, awaited; raises grpc.RpcError. A cancelled task cancels the call.

    `deadline` is for calls that gRPC has told none.
    """
    done: concurrent.futures.Future[grpc.Future] = concurrent.futures.Future()
    done.set_running_or_notify_cancel()  # from here on gRPC alone ends it
    call.add_done_callback(done.set_result)
    waiting = asyncio.wrap_future(done)
    try:
        while deadline is not None and not waiting.done():
            if not deadline.time_left_s():
                raise Silence(deadline)
            await asyncio.wait([waiting], timeout=deadline.time_left_s())
        await waiting
    except (asyncio.CancelledError, Silence):
        call.cancel()
        raise
    answer: bytes = call.result()
    return answer
