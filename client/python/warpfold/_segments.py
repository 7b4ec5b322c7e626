"""A piece of memory that this process shares with a server on the same host.

No RPCs here: _shared has the server read it.
"""

from __future__ import annotations

import mmap
import os
import secrets
from typing import Any

import numpy as np

__all__ = ["FOLDER", "Segment", "key_of"]

FOLDER = "/dev/shm"  # where POSIX shared memory is on Linux, which the servers run on


def key_of(prefix: str, name: str) -> str:
    """The name of a segment under the server's prefix. OSError when nothing is."""
    key = "/" + prefix.lstrip("/") + name
    if "/" in key[1:]:  # no server's word makes files elsewhere
        raise OSError(f"{prefix!r} begins no name of a segment")
    return key


class Segment:
    """Not for several threads at a time."""

    def __init__(self, prefix: str, owner: str, size: int, mode: int) -> None:
        """Takes the memory. OSError when the system has not so much, or no name that begins so."""
        self.name = f"{owner}-{secrets.token_hex(8)}"  # that nobody else has
        self.key = key_of(prefix, self.name)
        self.proven = False  # it has been reduced
        self.lost = False  # the server has it no longer
        self._path = FOLDER + self.key
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self._path, flags, 0o600)
        try:
            os.fchmod(descriptor, mode)  # past the umask
            # All of it now: a page that is missing later is a SIGBUS.
            os.posix_fallocate(descriptor, 0, size)
            self._bytes = np.frombuffer(mmap.mmap(descriptor, size), np.uint8)
        except BaseException:
            self.unlink()
            raise
        finally:
            os.close(descriptor)

    def unlink(self) -> None:
        """Takes the name away; the memory goes with the last who has it."""
        os.unlink(self._path)

    def name_in(self, source: Any, size: int) -> None:
        """Says in a Source of a request that it is its first bytes."""
        source.memory.name = self.name
        source.memory.size_bytes = size

    def fill(self, payload: memoryview) -> None:
        """Lets other threads run meanwhile."""
        self._bytes[: len(payload)] = np.frombuffer(payload, np.uint8)
