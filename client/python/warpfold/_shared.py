"""Host arrays by way of shared memory: copied once, into pages that the server reads.

A client has a few slots of one size, each a segment that is registered with the server once and
used again and again, because pages cost more to make and to register than to fill. An array that
is larger than a slot goes in pieces, one of which is copied while another is reduced.

Nobody is asked whether the server is on this host: one that allows shared memory either finds the
segment or says that it does not. What cannot go this way goes by a message or a stream.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from functools import partial

import grpc

from . import _contract
from ._answer import Reduction
from ._attempts import Deadline
from ._errors import WarpfoldError, is_other_version
from ._io import Io
from ._pieces import in_pieces
from ._progress import Meter, Progress
from ._regions import Regions, is_passing
from ._request import ReduceCall
from ._rpcs import ONCE, Rpcs
from ._segments import Segment
from ._stripes import Stripes, cut_to

__all__ = ["SharedMemory"]

_log = logging.getLogger("warpfold")
# Microseconds by message or stream / through a slot (2026-11-21): on 2 cores (CPU backend, grpcio
# 1.51) 64 KiB 376 / 330, 256 KiB 443 / 348, 1 MiB 877 / 507, 4 MiB 4779 / 1348; on an H200 host of
# 16 (grpcio 1.84) 549 / 433, 899 / 653, 1415 / 831, 4187 / 1059. The first use of a slot of 16 MiB
# takes some 6 ms more, which are made up for after 25 arrays of 256 KiB, or 60 of 64 KiB.
_LEAST_BYTES = 256 << 10
# There, 256 MiB took 55, 31, 26 and 31 ms through two slots of 4, 16, 32 and 64 MiB.
_SLOT_BYTES = 16 << 20
_SLOTS_OF_A_CALL = 2  # one is filled while the server reads the other
_SLOTS_MAX = 16  # of a client
# The server has no such region, or its segment shrank: the array travels by itself.
_LOST = {grpc.StatusCode.NOT_FOUND, grpc.StatusCode.FAILED_PRECONDITION}


class SharedMemory:
    """A client's slots. Any number of threads may use it at a time."""

    def __init__(self, rpcs: Rpcs, regions: Regions) -> None:
        self._rpcs = rpcs
        self._regions = regions
        self._lock = threading.Lock()
        self._idle: list[Segment] = []
        self._count = 0  # of idle ones, those in use and those being made
        self._refused = rpcs.options.shared_memory_mode is None  # no more are made

    async def reduction(
        self, call: ReduceCall, deadline: Deadline, progress: Progress | None
    ) -> Reduction | None:
        """None when the array has to go another way."""
        if call.payload_bytes < _LEAST_BYTES or not self._rpcs.info.shared_memory_prefix:
            return None
        self._rpcs.channels.check()  # a forked child may find the lock taken for good
        stripes = None
        if call.payload_bytes > _SLOT_BYTES:
            stripes = cut_to(call, _SLOT_BYTES, self._rpcs.info.limits)
            if stripes is None:
                return None
        slots = [await self._taken(deadline)]
        try:
            if stripes is not None and slots[0] is not None:
                slots.append(await self._taken(deadline))
            held = [slot for slot in slots if slot is not None]
            return await self._reduced(call, stripes, held, deadline, progress) if held else None
        finally:
            with self._lock:
                for slot in slots:
                    if slot is not None:
                        self._put_back(slot)

    async def _reduced(
        self,
        call: ReduceCall,
        stripes: Stripes | None,
        slots: list[Segment],
        deadline: Deadline,
        progress: Progress | None,
    ) -> Reduction | None:
        meter = Meter(call.payload_bytes, progress)
        try:
            if stripes is None:
                return await self._through(slots[0], deadline, meter, self._rpcs.io, call)
            senders = [partial(self._through, slot, deadline, meter) for slot in slots]
            return await in_pieces(self._rpcs, call, stripes, senders, deadline)
        except WarpfoldError as error:
            if error.code not in _LOST or is_other_version(error):
                raise
            for slot in slots:
                slot.lost = True
            if not any(slot.proven for slot in slots):  # whoever answers has not what we registered
                self._refuse(error)
            return None

    async def _through(
        self, slot: Segment, deadline: Deadline, meter: Meter, io: Io, call: ReduceCall
    ) -> Reduction:
        payload = call.host_payload
        await io.work(lambda: slot.fill(payload))
        named = call.at_memory(lambda source: slot.name_in(source, len(payload)))
        answer = await self._rpcs.named(io, named, deadline)
        slot.proven = True
        meter.stream()(len(payload))
        return answer

    async def _taken(self, deadline: Deadline) -> Segment | None:
        with self._lock:
            if self._idle:
                return self._idle.pop()
            if self._refused or self._count >= _SLOTS_MAX:
                return None
            self._count += 1
        slot = None
        try:
            slot = await self._made(deadline)
        finally:
            if slot is None:
                with self._lock:
                    self._count -= 1
        return slot

    def _put_back(self, slot: Segment) -> None:
        if slot.lost:
            self._count -= 1
            self._regions.end([slot.name])
        else:
            self._idle.append(slot)

    async def _made(self, deadline: Deadline) -> Segment | None:
        prefix, mode = self._rpcs.info.shared_memory_prefix, self._rpcs.options.shared_memory_mode
        assert mode is not None
        made: list[Segment] = []  # a task that is cancelled meanwhile gets none returned
        try:
            owner = await self._regions.owner(prefix, deadline)
            await self._rpcs.io.work(lambda: made.append(Segment(prefix, owner, _SLOT_BYTES, mode)))
            (slot,) = made
            message = _contract.RegisterSharedMemoryRequest(
                name=slot.name, key=slot.key, size_bytes=_SLOT_BYTES
            )
            await self._regions.register("register_shared_memory", message, deadline, ONCE)
            return slot
        except WarpfoldError as error:  # first: some are OSErrors, too
            if not is_passing(error):
                self._refuse(error)
            return None
        except OSError as error:
            self._refuse(error)
            return None
        finally:
            for slot in made:
                with contextlib.suppress(OSError):
                    slot.unlink()

    def _refuse(self, error: Exception) -> None:
        self._refused = True
        _log.info("%s: arrays go without shared memory: %s", self._rpcs.target, error)
