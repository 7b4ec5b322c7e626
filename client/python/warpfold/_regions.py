"""A client's memory that is registered with the server, so that none is left there.

A region lives until somebody ends it, not until its client goes: those that are still there when a
client is closed, forgotten or at the end of its process are ended then. What a killed process
leaves in shared memory the next client ends that shares.
"""

from __future__ import annotations

import atexit
import contextlib
import threading
import weakref
from collections.abc import Collection
from typing import Any

import grpc

from . import _contract
from ._answer import parse_message
from ._attempts import Deadline
from ._errors import WarpfoldError
from ._owners import Owner, dead_owners
from ._retry import RetryPolicy
from ._rpcs import ONCE, Rpcs

_END_TIMEOUT_S = 2.0
_PASSING = {
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.DEADLINE_EXCEEDED,
}


def is_passing(error: WarpfoldError) -> bool:
    """Whether a registration may succeed later, as far as its failure tells."""
    return error.code in _PASSING


class Regions:
    """Any number of threads may use one at a time."""

    def __init__(self, rpcs: Rpcs) -> None:
        self._rpcs = rpcs
        self._lock = threading.Lock()
        self._names: set[str] = set()
        self._ended = False
        self._owner: Owner | None = None
        _living.add(self)

    async def owner(self, prefix: str, deadline: Deadline) -> str:
        """How names of regions in shared memory begin. The first call ends what the dead left.

        OSError when the system has no such files.
        """
        with self._lock:
            if self._owner is not None:
                return self._owner.name
            self._owner = own = Owner(prefix)
        dead = await self._rpcs.io.work(lambda: dead_owners(prefix))
        try:
            if dead:
                with contextlib.suppress(WarpfoldError):
                    await self._end_those_of({owner.name for owner in dead}, deadline)
        finally:
            for owner in dead:
                owner.end()
        return own.name

    async def _end_those_of(self, owners: Collection[str], deadline: Deadline) -> None:
        data, _ = await self._rpcs.plain("list_memory", b"", deadline, ONCE)
        listed = parse_message(_contract.ListMemoryResponse, data).regions
        names = [r.name for r in listed if r.name.rpartition("-")[0] in owners]
        await self._rpcs.io.work(lambda: self.end(names, wait=True))

    async def register(
        self, method: str, message: Any, deadline: Deadline, retry: RetryPolicy | None = None
    ) -> None:
        """A failure of any kind leaves none."""
        name = message.name
        with self._lock:
            self._names.add(name)
        try:
            await self._rpcs.plain(method, message.SerializeToString(), deadline, retry)
        except BaseException:
            self.end([name])  # an answer may have been lost
            raise
        if self._ended:  # closed meanwhile
            self.end([name])

    def end(self, names: Collection[str], *, wait: bool = False) -> None:
        """Raises nothing: what cannot be reached stays with the server."""
        with self._lock:
            self._names.difference_update(names)
        deadline = Deadline(_END_TIMEOUT_S)
        unregister = self._rpcs.channels.first.unregister_memory
        # Who waits may do so at the end of the process, where gRPC gets no thread for a future.
        call = unregister if wait else unregister.future
        for name in names:
            message = _contract.UnregisterMemoryRequest(name=name).SerializeToString()
            with contextlib.suppress(grpc.RpcError, ValueError):  # ValueError: it is closed
                call(message, timeout=deadline.time_left_s())

    def end_all(self) -> None:
        """Waits for the server, some two seconds at most. In a forked child it does nothing."""
        if self._rpcs.channels.are_ours():
            with self._lock:
                names, self._ended = list(self._names), True
                owner, self._owner = self._owner, None
            self.end(names, wait=True)
            if owner is not None:
                owner.end()

    def forget(self) -> None:
        """For a finaliser, which runs wherever Python likes: the call is another thread's."""
        if (self._names or self._owner) and self._rpcs.channels.are_ours():
            threading.Thread(target=self.end_all, name="warpfold", daemon=True).start()


_living: weakref.WeakSet[Regions] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    for regions in list(_living):
        regions.end_all()
