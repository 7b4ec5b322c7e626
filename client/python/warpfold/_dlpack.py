"""Tensors that another library exports through DLPack, read here and not by NumPy's from_dlpack,
which knows neither bfloat16 nor float8 nor GPUs, and in 1.24 no bool.

dmlc.github.io/dlpack/latest/c_api.html has the structure, and its Python page the rule for streams.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np

from ._contract import DTYPES
from ._dtypes import OF_ML_DTYPES, dtype_named, dtype_refusal, own_name

__all__ = ["Exported", "is_on_gpu"]

_CPU, _CUDA, _CUDA_HOST, _CUDA_MANAGED = 1, 2, 3, 13
_LEGACY_DEFAULT_STREAM = 1
_BFLOAT, _COMPLEX, _BOOL = 4, 5, 6
_LETTERS = {0: "i", 1: "u", 2: "f"}
# By their codes, from this one on.
_FIRST_SMALL_FLOAT = 7
_SMALL_FLOATS = (
    *("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz"),
    *("float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
    *("float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"),
)

_VERSION = (1, 0)  # the newest whose structure is known here
_VERSIONED_OFFSET = 32  # of the tensor, behind the version, two pointers and flags

_name_of = ctypes.pythonapi.PyCapsule_GetName
_name_of.restype = ctypes.c_char_p
_name_of.argtypes = [ctypes.py_object]
_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


def is_on_gpu(x: Any) -> bool:
    """Whether `x` says so to DLPack."""
    return hasattr(x, "__dlpack__") and _device_of(x) in (_CUDA, _CUDA_MANAGED)


class Exported:
    """What `x` exported, kept for as long as this lives. TypeError when it does not."""

    def __init__(self, x: Any) -> None:
        try:
            as_bytes = _float8_as_bytes(x)
            self._capsule = _exported(x if as_bytes is None else as_bytes)
        except Exception as error:
            raise TypeError(
                f"cannot read {type(x).__name__} through DLPack ({error}); pass it in host memory"
            ) from error
        # Its name stays, and with it the capsule's own end of the export.
        capsule_name = _name_of(self._capsule)
        address = _pointer_of(self._capsule, capsule_name)
        if capsule_name == b"dltensor_versioned":
            address += _VERSIONED_OFFSET
        tensor = _DLTensor.from_address(address)
        self.dtype = _dtype_name(tensor) if as_bytes is None else own_name(x)
        self.shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
        strides = None
        if tensor.strides:
            strides = tuple(tensor.strides[i] * tensor.bits // 8 for i in range(tensor.ndim))
        # NumPy reads those of ml_dtypes as integers.
        name = f"u{tensor.bits // 8}" if self.dtype in OF_ML_DTYPES else self.dtype
        # Of version 2, which names no stream: all are waited for.
        self.interface: dict[str, Any] = {
            "shape": self.shape,
            "typestr": np.dtype(name).str,
            "data": ((tensor.data or 0) + tensor.byte_offset, True),
            "strides": strides,
            "version": 2,
        }

    def on_host(self) -> np.ndarray[Any, Any]:
        """Its own memory, of a tensor in host memory."""
        dtype = dtype_named(self.dtype)
        if 0 in self.shape:
            return np.empty(self.shape, dtype)
        return np.asarray(_Memory(self, self.interface)).view(dtype)


class _Memory:
    """What NumPy makes an array of, which keeps it."""

    def __init__(self, owner: Exported, interface: dict[str, Any]) -> None:
        self._owner = owner
        self.__array_interface__ = {**interface, "version": 3}


def _float8_as_bytes(x: Any) -> Any:
    """Its elements as integers, of PyTorch, which exports no float8 before 2.10. None of others."""
    name = own_name(x)
    if name not in DTYPES or name not in _SMALL_FLOATS or not hasattr(x, "view"):
        return None
    uint8 = getattr(sys.modules.get(type(x).__module__.partition(".")[0]), "uint8", None)
    return None if uint8 is None else x.view(uint8)


def _exported(x: Any) -> Any:
    """The capsule."""
    device = _device_of(x)
    if device in (_CUDA, _CUDA_MANAGED):
        # The library lets this stream wait for those that write the tensor. Whoever reads it waits
        # for this one: CudaArray.wait, for it and all others of the context.
        return _capsule_of(x, stream=_LEGACY_DEFAULT_STREAM)
    if device in (_CPU, _CUDA_HOST):
        return _capsule_of(x)
    raise BufferError(f"it is on a device of DLPack's type {device}")


def _capsule_of(x: Any, **stream: int) -> Any:
    try:
        return x.__dlpack__(max_version=_VERSION, **stream)
    except TypeError:  # it is older than versions
        return x.__dlpack__(**stream)


def _device_of(x: Any) -> int | None:
    """None where the library has no number for it, such as PyTorch's "meta"."""
    try:
        return int(x.__dlpack_device__()[0])
    except Exception:
        return None


def _dtype_name(tensor: _DLTensor) -> str:
    """NumPy's name. TypeError for what the contract has not."""
    code, bits = tensor.code, tensor.bits
    if tensor.lanes != 1:
        raise dtype_refusal(f"of {tensor.lanes} lanes")
    if code == _BOOL and bits == 8:
        return "bool"
    if code == _BFLOAT and bits == 16:
        return "bfloat16"
    if code == _COMPLEX:
        raise dtype_refusal(f"complex{bits}")
    small_float = code - _FIRST_SMALL_FLOAT
    if 0 <= small_float < len(_SMALL_FLOATS):
        name = _SMALL_FLOATS[small_float]
        if name in DTYPES and bits == 8:
            return name
        raise dtype_refusal(name)
    if code not in _LETTERS or bits not in (8, 16, 32, 64) or (code == 2 and bits == 8):
        raise dtype_refusal(f"of DLPack's code {code} and {bits} bits")
    assert sys.byteorder == "little"  # as the contract's bytes are
    return np.dtype(f"{_LETTERS[code]}{bits // 8}").name
