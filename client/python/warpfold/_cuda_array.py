"""Arrays on a GPU, of whatever library, by their `__cuda_array_interface__`, or DLPack without one.

numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html defines it. PyTorch's is of version 2,
which names no stream.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._cuda_driver import Allocation, CudaError, driver
from ._dlpack import Exported, is_on_gpu
from ._dtypes import OF_ML_DTYPES, dtype_named, dtype_number, dtype_refusal, own_name
from ._shaped import Shaped

__all__ = ["CudaArray", "cuda_array"]

_PER_THREAD_STREAM = 2  # another one on the thread that would wait for it


class CudaArray(Shaped):
    """Elements in C order on a GPU. Keeps the array that they belong to."""

    def __init__(self, owner: Any, interface: dict[str, Any]) -> None:
        self._owner = owner
        self.shape: tuple[int, ...] = tuple(interface["shape"])
        self.dtype = _dtype_of(owner, interface["typestr"])
        self.pointer: int = interface["data"][0] or 0
        self._waits_for_nothing = interface["version"] >= 3 and interface.get("stream") is None
        self._stream: int | None = interface.get("stream")

    def allocation(self) -> Allocation:
        """CudaError when the driver does not know the memory."""
        return driver().allocation(self.pointer)

    def wait(self) -> None:
        """Until the elements are there, whatever stream writes them."""
        if not self._waits_for_nothing and self.size:
            stream = None if self._stream == _PER_THREAD_STREAM else self._stream
            driver().synchronize(self.pointer, stream)

    def on_host(self) -> np.ndarray[Any, Any]:
        """A copy. TypeError when there is no way to make one."""
        raw = np.empty(self.nbytes, np.uint8)
        try:
            if self.size:
                self.wait()
                driver().copy_to_host(self.pointer, raw.data)
        except CudaError as error:
            kind = type(self._owner).__name__
            raise TypeError(f"cannot read {kind} from the GPU ({error}); pass it in host memory")
        return raw.view(self.dtype).reshape(self.shape)


def cuda_array(x: Any) -> CudaArray | None:
    """None for what is on no GPU. TypeError for what cannot be reduced."""
    if isinstance(x, CudaArray):
        return x
    owner: Any = x
    try:
        interface = x.__cuda_array_interface__
    except (AttributeError, KeyError, RuntimeError) as error:  # none, or none for its dtype
        if not is_on_gpu(x):
            if isinstance(error, RuntimeError):
                raise TypeError(f"cannot reduce {type(x).__name__}: {error}") from error
            return None
        owner = Exported(x)
        interface = owner.interface
    if interface.get("mask") is not None:
        raise TypeError("cannot reduce a masked array; pass the values that count")
    array = CudaArray(owner, interface)
    if _is_contiguous(array, interface.get("strides")):
        return array
    if hasattr(x, "contiguous"):  # PyTorch
        return cuda_array(x.contiguous())
    if hasattr(x, "flags") and hasattr(x, "get"):  # CuPy
        return cuda_array(x.copy(order="C"))
    raise TypeError(f"cannot reduce {type(x).__name__}: it is not contiguous, so copy it first")


def _dtype_of(owner: Any, typestr: str) -> np.dtype[Any]:
    # NumPy has no letters for those of ml_dtypes, whose arrays say "<V2", "<V1" and "<f1".
    name = own_name(owner)
    if name in OF_ML_DTYPES and not typestr.startswith(">"):
        return dtype_named(name)
    dtype = np.dtype(typestr)
    if dtype_number(dtype) is None or dtype.byteorder == ">":
        raise dtype_refusal(dtype)
    return dtype


def _is_contiguous(array: CudaArray, strides: tuple[int, ...] | None) -> bool:
    if strides is None or not array.size:
        return True
    expected = array.dtype.itemsize
    for length, stride in zip(reversed(array.shape), reversed(strides)):
        if length > 1 and stride != expected:
            return False
        expected *= length
    return True
