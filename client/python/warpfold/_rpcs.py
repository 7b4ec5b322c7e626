"""The RPCs of a call, tried again by the contract's rules: coroutines over an `Io`."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Callable

import grpc

from ._answer import Reduction, parse_answer
from ._attempts import Attempts, Deadline
from ._channel import Channel, Channels
from ._errors import DeadlineExceededError
from ._info import ServerInfo
from ._io import Io
from ._options import Options, by_stream, checked_timeout
from ._progress import Meter
from ._request import ReduceCall, Upload
from ._retry import RetryPolicy
from ._small import SMALL_MESSAGE_BYTES_MAX, SmallCall

__all__ = ["ONCE", "Rpcs"]

ONCE = RetryPolicy(attempts_max=1)


class Rpcs:
    """Any number of threads may use one at a time, as far as its Io lets them."""

    info: ServerInfo  # set when the client connects

    def __init__(self, target: str, options: Options, channels: Channels, io: Io) -> None:
        self.target = target
        self.options = options
        self.channels = channels
        self.io = io

    def deadline(self, timeout: float | None) -> Deadline:
        return Deadline(checked_timeout(self.options.timeout if timeout is None else timeout))

    async def plain(
        self, method: str, message: bytes, deadline: Deadline, retry: RetryPolicy | None = None
    ) -> tuple[bytes, int]:
        """A message to the server that has what it names. Also: the attempts it took."""
        send = getattr(self.channels.first, method)
        return await self._answered(
            method, self.io, lambda t: self.io.unary(send, message, t), deadline, retry
        )

    async def anywhere(
        self,
        io: Io,
        method: str,
        message: bytes,
        deadline: Deadline,
        *,
        connection: int = 0,
        retry: RetryPolicy | None = None,
    ) -> tuple[bytes, int]:
        """A message that any server answers, by the name of its method. Also: the attempts.

        One that is not small goes by that of the connections.
        """
        if len(message) <= SMALL_MESSAGE_BYTES_MAX:
            attempt = SmallCall(self.channels, io, method, message).attempt
        else:

            async def attempt(timeout: float) -> bytes:
                send = getattr(self.channels.spread_at(connection), method)
                return await io.unary(send, message, timeout)

        try:
            return await self._answered(method, io, attempt, deadline, retry)
        except DeadlineExceededError:
            self.channels.connect_anew()
            raise

    async def named(self, io: Io, call: ReduceCall, deadline: Deadline) -> Reduction:
        """A call whose tensor the server has: its source is set in the request."""
        message = call.request.SerializeToString()
        method = self.channels.first.reduce
        data, attempts = await self._answered(
            "reduce", io, lambda t: io.unary(method, message, t), deadline
        )
        return parse_answer(call, data, attempts)

    async def sent(
        self, io: Io, connection: int, call: ReduceCall, deadline: Deadline, meter: Meter
    ) -> Reduction:
        """A call with its payload, by that of the connections if it is not small."""
        if by_stream(call, self.options, self.info.limits):
            head = call.request.SerializeToString()
            try:
                data, attempts = await self.streamed(
                    io,
                    "reduce_stream",
                    lambda: self.channels.spread_at(connection),
                    head,
                    call.host_payload,
                    deadline,
                    meter,
                )
            except DeadlineExceededError:
                self.channels.connect_anew()
                raise
        else:
            data, attempts = await self.anywhere(
                io, "reduce", call.unary_message(), deadline, connection=connection
            )
            meter.stream()(call.payload_bytes)
        return parse_answer(call, data, attempts)

    async def streamed(
        self,
        io: Io,
        method: str,
        channel: Callable[[], Channel],
        head: bytes,
        payload: memoryview,
        deadline: Deadline,
        meter: Meter,
    ) -> tuple[bytes, int]:
        """A stream, by the name of its method. Each attempt asks for its connection."""
        tell = meter.stream()
        most = 0

        def told(done: int) -> None:
            # What an attempt before had sent as well is no progress: a call that fails again and
            # again at one place ends.
            nonlocal most
            if done > most:
                most = done
                deadline.went_on()
            tell(done)

        async def send(_: float) -> bytes:
            upload = Upload(head, payload, self.options.chunk_bytes, told)
            try:
                return await io.stream(getattr(channel(), method), upload, deadline)
            finally:
                if upload.error is not None:
                    raise upload.error from None

        return await self._answered(method, io, send, deadline)

    async def _answered(
        self,
        method: str,
        io: Io,
        send: Callable[[float], Coroutine[Any, Any, bytes]],
        deadline: Deadline,
        retry: RetryPolicy | None = None,
    ) -> tuple[bytes, int]:
        """Sends until there is an answer, or the failure is final."""
        policy = retry or self.options.retry
        # A policy of its own is that of connecting, which ends soon.
        attempts = Attempts(method, self.target, policy, deadline, quiet=retry is not None)
        while True:
            self.channels.check()
            try:
                return await send(deadline.time_left_s()), attempts.count
            except grpc.RpcError as failure:
                if self.channels.closed:  # that ended it
                    raise attempts.error(failure) from None
                delay_s = attempts.delay_after_s(failure)
            except ValueError:  # gRPC's, when the client was closed after the check above
                self.channels.check()
                raise
            await io.sleep(delay_s)
