"""`with` and `async with`: a client or a handle ends with its block."""

from __future__ import annotations

from types import TracebackType
from typing import TypeVar

__all__ = ["AsyncContext", "Context"]

ContextT = TypeVar("ContextT", bound="Context")
AsyncContextT = TypeVar("AsyncContextT", bound="AsyncContext")


class Context:
    def _leave(self, failed: bool) -> None:
        """At the end of the block, or when it `failed`."""
        raise NotImplementedError

    def __enter__(self: ContextT) -> ContextT:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._leave(kind is not None)


class AsyncContext:
    async def _leave(self, failed: bool) -> None:
        """At the end of the block, or when it `failed`."""
        raise NotImplementedError

    async def __aenter__(self: AsyncContextT) -> AsyncContextT:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._leave(kind is not None)
