"""What both clients are beside their functions: the other end of an address."""

from __future__ import annotations

from typing import Any

import grpc

from ._channel import Channels
from ._flows import Flows
from ._info import ServerInfo
from ._io import Io
from ._options import Options
from ._token import read_token

__all__ = ["Connected"]


class Connected:
    """Pickles by its address: what comes of the bytes has connections of its own."""

    def __init__(
        self, target: str, credentials: grpc.ChannelCredentials | None, options: Options, io: Io
    ) -> None:
        if not isinstance(credentials, (grpc.ChannelCredentials, type(None))):
            raise TypeError(
                f"credentials are {credentials!r}, but must be grpc.ChannelCredentials, such as "
                "grpc.ssl_channel_credentials()"
            )
        self.target = target
        self._options = options
        self._has_credentials = credentials is not None
        token = None if options.token_file is None else read_token(options.token_file)
        channels = Channels(target, credentials, options.pings(), token)
        self._flows = Flows(target, options, channels, io)

    def __repr__(self) -> str:
        words = [f"target={self.target!r}"]
        server = self._flows.server
        if server is not None:
            devices = ", ".join(f"{device.name}: {device.model}" for device in server.devices)
            words += [f"backend={server.backend!r}", f"device={devices!r}"]
        if self._flows.closed:
            words.append("closed")
        return f"<{type(self).__name__} {' '.join(words)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        if self._has_credentials:
            raise TypeError(
                "a client with credentials does not pickle, because gRPC's credentials do not; "
                "connect in the other process"
            )
        return _connected_anew, (type(self), self.target, self._options, self._flows.server)


def _connected_anew(kind: Any, target: str, options: Options, server: ServerInfo) -> Any:
    """Asks the server nothing: it is as the pickled client knew it."""
    client = kind(target, None, options)
    client._flows.server = server
    return client
