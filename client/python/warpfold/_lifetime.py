"""Whether a client may still be used."""

from __future__ import annotations

import os


class Lifetime:
    """A client's own process, and whether the client was closed there. Threads share it."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self.closed = False

    @property
    def forked(self) -> bool:
        return os.getpid() != self._pid

    def check(self) -> None:
        if self.forked:
            raise RuntimeError(
                f"this client belongs to process {self._pid}, and its connection did not survive "
                "the fork; connect again in this process"
            )
        if self.closed:
            raise RuntimeError("the client is closed")
