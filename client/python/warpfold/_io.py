"""How a client waits: the asyncio client awaits, and the blocking client's Io waits inside, so that
its flows never suspend."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import Any, Callable, Protocol, TypeVar

from ._attempts import Deadline
from ._request import Upload

__all__ = ["Io"]

T = TypeVar("T")


class Io(Protocol):
    """Flows and RPCs are coroutines over it."""

    async def unary(self, method: Any, message: bytes, timeout: float) -> bytes:
        """Raises grpc.RpcError."""

    async def stream(self, method: Any, upload: Upload, deadline: Deadline) -> bytes:
        """Raises grpc.RpcError, which is Silence when the deadline has passed."""

    async def sleep(self, seconds: float) -> None: ...

    async def work(self, task: Callable[[], T]) -> T:
        """The outcome of a task that takes milliseconds without waiting for an RPC of ours."""

    async def parallel(
        self, works: Sequence[Callable[[Io], Coroutine[Any, Any, None]]], deadline: Deadline
    ) -> None:
        """All of them at a time, by an Io each. A failure or an interrupt ends the others.

        Each ends by the deadline, which may move meanwhile.
        """
