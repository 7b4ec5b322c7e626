"""Arrays on a GPU, reduced where they lie by a server that the same GPU serves.

The allocation that holds an array is registered with the server for as long as a call or a handle
of `Client.share` needs it, and no longer, for CUDA leaves open what happens when memory is freed
that another process has open; whoever needs it holds the array. What cannot go this way is copied
to the host.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import threading
from typing import Any

from . import _contract
from ._answer import Reduction
from ._attempts import Deadline
from ._cuda_array import CudaArray
from ._cuda_driver import Allocation, CudaError, driver
from ._errors import InvalidArgumentError, WarpfoldError
from ._regions import Regions, is_passing
from ._request import ReduceCall
from ._rpcs import ONCE, Rpcs

__all__ = ["CudaMemory", "Region"]

_log = logging.getLogger("warpfold")
# Below it an array that is not shared already is copied: registering and unregistering are two
# calls more, and the server opens the memory and closes it. Microseconds where it lies / copied
# and sent (H200 host, 2026-11-22): 64 KiB 1889 / 810, 256 KiB 1859 / 1279, 1 MiB 2412 / 1955, 256
# MiB 2063 / 316269.
_LEAST_BYTES = 2 << 20


class Region:
    """An allocation that is registered."""

    def __init__(self, allocation: Allocation) -> None:
        self.allocation = allocation
        self.name = secrets.token_hex(16)  # that nobody else has
        self.arrays: list[CudaArray] = []  # that are used, and so held

    def name_in(self, source: Any, array: CudaArray) -> None:
        """Says in a Source of a request that it is an array of the allocation."""
        source.memory.name = self.name
        source.memory.offset_bytes = array.pointer - self.allocation.base
        source.memory.size_bytes = array.nbytes


class CudaMemory:
    """A client's registered allocations. Any number of threads may use it at a time."""

    def __init__(self, rpcs: Rpcs, regions: Regions) -> None:
        self._rpcs = rpcs
        self._regions = regions
        self._lock = threading.Lock()
        self._by_allocation: dict[Allocation, Region] = {}
        self._told: set[type[Exception]] = set()  # why arrays were copied

    async def reduction(self, call: ReduceCall, deadline: Deadline) -> Reduction | None:
        """None when the array has to be copied to the host."""
        array = call.payload
        assert isinstance(array, CudaArray)
        if not array.size or call.request.return_state:  # the server makes no states of it
            return None
        self._rpcs.channels.check()
        try:
            allocation = array.allocation()
            if array.nbytes < _LEAST_BYTES and allocation not in self._by_allocation:
                return None
            region = await self.taken(array, deadline)
        except (CudaError, NotImplementedError, WarpfoldError) as error:
            if isinstance(error, WarpfoldError) and is_passing(error):
                raise
            self._tell(error)
            return None
        try:
            await self._rpcs.io.work(array.wait)
            named = call.at_memory(lambda source: region.name_in(source, array))
            return await self._rpcs.named(self._rpcs.io, named, deadline)
        finally:
            await self.give_back(region, array)

    async def taken(self, array: CudaArray, deadline: Deadline) -> Region:
        """The region that holds the array, for `give_back`.

        CudaError, NotImplementedError and WarpfoldError say why there is none.
        """
        allocation = array.allocation()
        with self._lock:
            region = self._by_allocation.get(allocation)
            if region is not None:
                region.arrays.append(array)
                return region
        if not self._rpcs.info.limits.max_cuda_memory_bytes:
            raise NotImplementedError("the server takes no GPU memory (--max-cuda-memory-bytes)")
        if not allocation.exportable:
            raise NotImplementedError(
                "the array is in memory that CUDA shares with no other process by a handle, as "
                "that of cudaMallocAsync and of PyTorch's expandable_segments"
            )
        region = Region(allocation)
        region.arrays.append(array)
        await self._register(region, deadline)
        with self._lock:
            self._by_allocation.setdefault(allocation, region)  # or another thread was first
        return region

    async def give_back(self, region: Region, array: CudaArray) -> None:
        with self._lock:
            region.arrays.remove(array)
            if region.arrays:
                return
            if self._by_allocation.get(region.allocation) is region:
                del self._by_allocation[region.allocation]
        await self._rpcs.io.work(lambda: self._regions.end([region.name], wait=True))

    async def _register(self, region: Region, deadline: Deadline) -> None:
        message = _contract.RegisterCudaMemoryRequest(
            name=region.name,
            handle=driver().handle(region.allocation.base),
            size_bytes=region.allocation.size,
        )
        for ordinal in self._ordinals(region.allocation.device):
            message.device_ordinal = ordinal
            with contextlib.suppress(InvalidArgumentError):  # not that one
                await self._regions.register("register_cuda_memory", message, deadline, ONCE)
                return
        raise NotImplementedError(
            f"none of the server's GPUs opens the memory: {self._rpcs.target} is on another host, "
            "or does not see this GPU"
        )

    def _ordinals(self, device: int) -> list[int]:
        """The server's numbers of a GPU that this process calls `device`, the likeliest first."""
        known = {f"cuda:{n}": n for n in range(len(self._rpcs.info.devices))}
        numbers = [known[d.name] for d in self._rpcs.info.devices if d.name in known]
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
        likely = device
        if device < len(visible) and visible[device].strip().isdigit():
            likely = int(visible[device])
        return sorted(numbers, key=lambda number: number != likely)

    def _tell(self, why: Exception) -> None:
        """Once of a kind: it is slow, and somebody's setting."""
        if type(why) not in self._told:
            self._told.add(type(why))
            _log.warning("%s: arrays on a GPU are copied to the host: %s", self._rpcs.target, why)
