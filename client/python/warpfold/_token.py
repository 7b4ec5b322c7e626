"""The token by which a server knows its caller, from the file that holds it."""

from __future__ import annotations

import os
import pathlib

__all__ = ["TOKEN_FILE_VARIABLE", "chosen_token_file", "read_token"]

TOKEN_FILE_VARIABLE = "WARPFOLD_TOKEN_FILE"


def chosen_token_file(token_file: str | os.PathLike[str] | None) -> str | None:
    """`token_file`, else that of the variable. None: there is no token."""
    if token_file is None:
        return os.environ.get(TOKEN_FILE_VARIABLE) or None
    return os.fspath(token_file)


def read_token(path: str) -> str:
    """What is in the file, without the blanks and line ends around it.

    OSError when it cannot be read. ValueError, without the token, when it holds none.
    """
    if not path:
        raise ValueError("token_file is '', and names no file")
    token = pathlib.Path(path).read_bytes().strip()
    if not token:
        raise ValueError(f"token_file is {path!r}, which holds no token")
    if not all(0x21 <= byte <= 0x7E for byte in token):
        raise ValueError(
            f"token_file is {path!r}, but a token is printable characters of ASCII without a blank"
        )
    return token.decode("ascii")
