"""What a client asks NVIDIA's driver about memory that another library allocated.

The driver is the process's own copy of libcuda.so.1, by ctypes: whoever has an array on a GPU has
it loaded already.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint64, c_void_p
from functools import lru_cache
from typing import Any, NamedTuple

__all__ = ["Allocation", "CudaError", "Driver", "driver"]

_HANDLE_BYTES = 64
# CUpointer_attribute
_CONTEXT = 1
_BUFFER_ID = 7
_DEVICE_ORDINAL = 9
_IS_LEGACY_CUDA_IPC_CAPABLE = 10
_RANGE_START = 11
_RANGE_SIZE = 12


class CudaError(RuntimeError):
    """What the driver says."""


class Allocation(NamedTuple):
    """Equal for all arrays in one, and for no two that there ever were in this process."""

    base: int
    size: int
    buffer_id: int
    device: int  # as this process counts them
    exportable: bool  # cudaMalloc's own, not of a pool or of virtual memory management


class Driver:
    """Any number of threads may use one at a time. Everything raises CudaError."""

    def __init__(self, library: Any) -> None:
        self._library = library

    def allocation(self, pointer: int) -> Allocation:
        """That holds the address."""
        return Allocation(
            base=self._attribute(pointer, _RANGE_START),
            size=self._attribute(pointer, _RANGE_SIZE),
            buffer_id=self._attribute(pointer, _BUFFER_ID),
            device=self._attribute(pointer, _DEVICE_ORDINAL) & 0xFFFFFFFF,
            exportable=bool(self._attribute(pointer, _IS_LEGACY_CUDA_IPC_CAPABLE) & 0xFF),
        )

    def handle(self, base: int) -> bytes:
        """By which other processes open the allocation that begins there."""
        raw = ctypes.create_string_buffer(_HANDLE_BYTES)
        with self._context_of(base):
            self._call("cuIpcGetMemHandle", raw, c_uint64(base))
        return raw.raw

    def synchronize(self, pointer: int, stream: int | None) -> None:
        """Waits for the stream; None: for all work in the context that the memory belongs to."""
        with self._context_of(pointer):
            if stream is None:
                self._call("cuCtxSynchronize")
            else:
                self._call("cuStreamSynchronize", c_void_p(stream))

    def copy_to_host(self, pointer: int, target: memoryview) -> None:
        into = (ctypes.c_char * len(target)).from_buffer(target)
        with self._context_of(pointer):
            self._call("cuMemcpyDtoH_v2", into, c_uint64(pointer), c_size_t(len(target)))

    def _attribute(self, pointer: int, attribute: int) -> int:
        value = c_uint64()  # large enough for each
        self._call("cuPointerGetAttribute", byref(value), c_int(attribute), c_uint64(pointer))
        return value.value

    @contextlib.contextmanager
    def _context_of(self, pointer: int) -> Iterator[None]:
        """Makes it this thread's: it may have none, or another."""
        context = c_void_p(self._attribute(pointer, _CONTEXT) or None)
        device = None
        if not context:  # of a pool's memory: the one that everybody has
            device = c_int(self._attribute(pointer, _DEVICE_ORDINAL) & 0xFFFFFFFF)
            self._call("cuDevicePrimaryCtxRetain", byref(context), device)
        try:
            self._call("cuCtxPushCurrent_v2", context)
            try:
                yield
            finally:
                self._call("cuCtxPopCurrent_v2", byref(c_void_p()))
        finally:
            if device is not None:
                self._call("cuDevicePrimaryCtxRelease_v2", device)

    def _call(self, name: str, *arguments: Any) -> None:
        code = getattr(self._library, name)(*arguments)
        if code != 0:
            text = c_char_p()
            self._library.cuGetErrorString(c_int(code), byref(text))
            raise CudaError(f"{name}: {(text.value or b'unknown error').decode()} ({code})")


@lru_cache(maxsize=1)
def driver() -> Driver:
    """CudaError when there is none."""
    try:
        return Driver(ctypes.CDLL("libcuda.so.1"))
    except OSError as error:
        raise CudaError(f"no driver: {error}") from error
