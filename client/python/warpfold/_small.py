"""Small calls that any server may answer.

A process that hangs keeps its connections, and its kernel takes bytes for it: without a question
a call to it waits for its deadline. So small calls have a connection of their own, whose silent
servers are asked by PINGs whether they are there. One that does not say so loses the connection,
its calls are tried again, and a connection to it is made again only once it speaks, so that later
calls go elsewhere. What moves many bytes is not asked: a PING waits behind them, and its answer
would come late. It learns from small calls, and from one of its own that came to its deadline:
Channels.connect_anew.

Some servers take PINGs for abuse and hang up, and a server that is there may be slow to say so:
no call is cut in a loop. The first "too many pings" ends the questions for good, and a call that
is cut twice has its client give servers more time.
"""

from __future__ import annotations

import grpc

from ._channel import Channel, Channels
from ._io import Io

__all__ = ["SMALL_MESSAGE_BYTES_MAX", "SmallCall"]

# On a link slower than 2 Mbit/s such a message takes longer than the silence after which servers
# are asked, and PINGs begin to wait behind such messages.
SMALL_MESSAGE_BYTES_MAX = 64 << 10
# gRPC has one code for all that ends a connection; these are its words from 1.51 to 1.80. Those of
# a GOAWAY frame are HTTP/2's, from servers of other libraries.
_TOO_MANY_PINGS = ("Too many pings", "too_many_pings")
_PING_UNANSWERED = ("keepalive watchdog timeout", "ping timeout")


class SmallCall:
    """Not for several threads."""

    def __init__(self, channels: Channels, io: Io, method: str, message: bytes) -> None:
        self._channels = channels
        self._io = io
        self._method = method
        self._message = message
        self._cuts = 0  # attempts that ended because a PING was not answered

    async def attempt(self, timeout: float) -> bytes:
        """Raises grpc.RpcError."""
        channel = self._channels.small
        try:
            return await self._io.unary(getattr(channel, self._method), self._message, timeout)
        except grpc.RpcError as failure:
            if failure.code() is grpc.StatusCode.UNAVAILABLE:
                self._learn(channel, failure.details() or "")
            raise

    def _learn(self, channel: Channel, words: str) -> None:
        if any(said in words for said in _TOO_MANY_PINGS):
            self._channels.stop_asking()
        elif any(said in words for said in _PING_UNANSWERED):
            self._channels.connect_anew()
            self._cuts += 1
            if self._cuts % 2 == 0:
                self._channels.ask_less_hastily(channel)
