"""Who made the shared memory that a server has, and whether they still live.

A region outlives its client, and a killed process ends none. So each client holds a lock on a file
beside its segments, which the system lets go with the process, and its regions' names begin with
the file's: whoever finds the lock free may end them, as far as the server knows both as one caller.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import secrets

from ._segments import FOLDER, key_of

__all__ = ["Owner", "dead_owners"]

_SUFFIX = ".lock"


class Owner:
    """A client, by its file. Not for several threads at a time."""

    def __init__(self, prefix: str, token_file: str | None, name: str | None = None) -> None:
        """A new one, or the one of that name. OSError when it lives, or its file is another's."""
        self.name = name or _stem(token_file) + secrets.token_hex(12)
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


def _stem(token_file: str | None) -> str:
    """How the names of one caller's begin: to the server the regions of others are not there."""
    caller = hashlib.blake2b((token_file or "").encode(), digest_size=4).hexdigest()
    return f"warpfold-{caller}"


def dead_owners(prefix: str, token_file: str | None) -> list[Owner]:
    """The caller's on this host whose processes are gone; to `end`."""
    key = key_of(prefix, "")
    name = f"({_stem(token_file)}[0-9a-f]{{24}})"
    pattern = re.compile(re.escape(key[1:]) + name + re.escape(_SUFFIX))
    found = []
    for file in os.listdir(FOLDER):
        match = pattern.fullmatch(file)
        if match:
            with contextlib.suppress(OSError):
                found.append(Owner(prefix, token_file, match.group(1)))
    return found
