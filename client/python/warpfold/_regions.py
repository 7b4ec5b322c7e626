"""A client's memory that is registered with the server, so that none is left there.

A region lives until somebody ends it, not until its client goes: those that are still there when a
client is closed, forgotten or at the end of its process are ended then. What a killed process
leaves in shared memory, or a server that did not answer, the next client ends that shares.
"""

from __future__ import annotations

import atexit
import contextlib
import queue
import threading
import weakref
from collections.abc import Collection
from typing import Any

import grpc

from . import _contract
from ._answer import parse_message
from ._attempts import Deadline
from ._errors import (
    InvalidArgumentError,
    PermissionDeniedError,
    UnauthenticatedError,
    WarpfoldError,
)
from ._owners import Owner, dead_owners
from ._retry import RetryPolicy
from ._rpcs import ONCE, Rpcs

__all__ = ["Regions", "is_passing"]

_END_TIMEOUT_S = 2.0
_REFUSALS = (InvalidArgumentError, PermissionDeniedError, UnauthenticatedError)
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
        self._names: set[str] = set()  # that the server has or may have
        self._busy = 0  # registrations, and endings that nobody waits for
        self._idled: queue.SimpleQueue[None] = queue.SimpleQueue()  # one for each, once ended
        self._ending = threading.Lock()  # another thread that closes waits for the first
        self._ended = False
        self._owner: Owner | None = None
        _living.add(self)

    async def owner(self, prefix: str, deadline: Deadline) -> str:
        """How names of regions in shared memory begin. The first call ends what the dead left.

        OSError when the system has no such files.
        """
        token_file = self._rpcs.options.token_file
        with self._lock:
            self._check()
            if self._owner is not None:
                return self._owner.name
            self._owner = own = Owner(prefix, token_file)
        dead: list[Owner] = []  # a task that is cancelled meanwhile gets none returned
        gone = False
        try:
            await self._rpcs.io.work(lambda: dead.extend(dead_owners(prefix, token_file)))
            if dead:
                with contextlib.suppress(WarpfoldError):
                    gone = await self._end_those_of({owner.name for owner in dead}, deadline)
        finally:
            for owner in dead:
                if gone:
                    owner.end()
                else:
                    owner.leave()
        return own.name

    async def _end_those_of(self, owners: Collection[str], deadline: Deadline) -> bool:
        """Whether they are gone."""
        data, _ = await self._rpcs.plain("list_memory", b"", deadline, ONCE)
        listed = parse_message(_contract.ListMemoryResponse, data).regions
        names = [r.name for r in listed if r.name.rpartition("-")[0] in owners]
        return await self._rpcs.io.work(lambda: self._unregistered(names))

    async def register(
        self, method: str, message: Any, deadline: Deadline, retry: RetryPolicy | None = None
    ) -> None:
        """A failure of any kind leaves none. RuntimeError when the client is closed meanwhile."""
        with self._lock:
            self._check()
            self._names.add(message.name)
            self._busy += 1
        try:
            await self._rpcs.plain(method, message.SerializeToString(), deadline, retry)
            self._check()
        except _REFUSALS:  # so there is none, and the name may be registered again
            with self._lock:
                self._names.discard(message.name)
            raise
        except BaseException:
            self.end([message.name])  # an answer may have been lost
            raise
        finally:
            self._idle()

    def end(self, names: Collection[str], *, wait: bool = False) -> None:
        """Raises nothing. What cannot be reached stays with the server."""
        if wait:
            self._unregistered(names)
            return
        with self._lock:
            if self._ended:  # end_all does it
                return
            self._busy += 1

        def end() -> None:
            try:
                self._unregistered(names)
            finally:
                self._idle()

        try:
            threading.Thread(target=end, name="warpfold", daemon=True).start()
        except RuntimeError:  # at the end of the process there are none, and end_all does it
            self._idle()

    def end_all(self) -> None:
        """Waits for the server, some four seconds at most. In a forked child it does nothing."""
        if not self._rpcs.channels.are_ours():
            return
        with self._ending:
            with self._lock:
                busy, self._ended = 0 if self._ended else self._busy, True
            deadline = Deadline(_END_TIMEOUT_S)
            with contextlib.suppress(queue.Empty):
                while busy:
                    self._idled.get(timeout=deadline.time_left_s())
                    busy -= 1
            with self._lock:
                names = list(self._names)
                owner, self._owner = self._owner, None
            gone = self._unregistered(names) and not self._busy
            if owner is not None and gone:
                owner.end()
            elif owner is not None:
                owner.leave()

    def _check(self) -> None:
        if self._ended:
            raise RuntimeError("the client is closed")

    def _idle(self) -> None:
        with self._lock:
            self._busy -= 1
            if self._ended:
                self._idled.put(None)

    def _unregistered(self, names: Collection[str]) -> bool:
        """Whether the server has none of them any longer, as far as it answers within seconds."""
        deadline = Deadline(_END_TIMEOUT_S)
        # Not by a future: at the end of the process gRPC gets no thread for one.
        unregister = self._rpcs.channels.first.unregister_memory
        gone = True
        for name in names:
            message = _contract.UnregisterMemoryRequest(name=name).SerializeToString()
            try:
                unregister(message, timeout=deadline.time_left_s())
            except grpc.RpcError as failure:
                if failure.code() is not grpc.StatusCode.NOT_FOUND:
                    gone = False
                    continue
            except ValueError:  # the channel is closed
                gone = False
                continue
            with self._lock:
                self._names.discard(name)
        return gone

    def forget(self) -> None:
        """For a finaliser, which runs wherever Python likes: the call is another thread's."""
        if (self._names or self._owner) and self._rpcs.channels.are_ours():
            threading.Thread(target=self.end_all, name="warpfold", daemon=True).start()


_living: weakref.WeakSet[Regions] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    for regions in list(_living):
        regions.end_all()
