"""Who made the shared memory that a server has, and whether they still live.

A region outlives its client, and a killed process ends none. So each client holds a lock on a file
beside its segments, which the system lets go with the process, and its regions' names begin with
the file's: whoever finds the lock free may end them.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets

from ._segments import FOLDER, key_of

__all__ = ["Owner", "dead_owners"]

_SUFFIX = ".lock"


class Owner:
    """A client, by its file. Not for several threads at a time."""

    def __init__(self, prefix: str, name: str | None = None) -> None:
        """A new one, or the one of that name. OSError when it lives, or its file is another's."""
        self.name = name or f"warpfold-{secrets.token_hex(16)}"
        self._path = FOLDER + key_of(prefix, self.name + _SUFFIX)
        flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
        if name is None:
            flags |= os.O_CREAT | os.O_EXCL
        self._descriptor = os.open(self._path, flags, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException:
            os.close(self._descriptor)
            raise

    def end(self) -> None:
        with contextlib.suppress(OSError):
            os.unlink(self._path)
        os.close(self._descriptor)

    def leave(self) -> None:
        """Lets the lock go and leaves the file: a later client ends the regions that are left."""
        os.close(self._descriptor)


def dead_owners(prefix: str) -> list[Owner]:
    """Those on this host whose processes are gone; for the caller to `end`."""
    key = key_of(prefix, "")
    pattern = re.compile(re.escape(key[1:]) + r"(warpfold-[0-9a-f]{32})" + re.escape(_SUFFIX))
    found = []
    for file in os.listdir(FOLDER):
        match = pattern.fullmatch(file)
        if match:
            with contextlib.suppress(OSError):
                found.append(Owner(prefix, match.group(1)))
    return found
