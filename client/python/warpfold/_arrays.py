"""What a caller may pass: anything NumPy can read, as the contract's bytes; and NumPy's axes."""

from __future__ import annotations

import operator
from functools import lru_cache
from typing import Any, SupportsIndex, Union

import numpy as np

from . import _contract

try:
    from numpy.exceptions import AxisError
except ImportError:  # NumPy before 1.25
    from numpy import AxisError  # type: ignore[attr-defined, no-redef, unused-ignore]

Axis = Union[None, SupportsIndex, tuple[SupportsIndex, ...]]


def as_tensor(x: Any) -> np.ndarray[Any, Any]:
    """`x` as an array in C order, little-endian, of a dtype of the contract.

    Copies nothing when `x` is already that. TypeError for what is not.
    """
    array = x if type(x) is np.ndarray else _from_other(x)
    if dtype_number(array.dtype) is None:
        raise TypeError(
            f"cannot reduce dtype {array.dtype}; the contract has {', '.join(_contract.DTYPES)}"
        )
    # One copy at most. A 0-d array stays one, which ascontiguousarray would not leave it.
    return np.asarray(array, dtype=on_wire(array.dtype), order="C")


def _from_other(x: Any) -> np.ndarray[Any, Any]:
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError("cannot reduce a masked array; pass x.compressed(), or NaN and a nan* op")
    if isinstance(x, (np.ndarray, np.generic)) or not hasattr(x, "__dlpack__"):
        return np.asarray(x)
    try:
        return np.from_dlpack(x)
    except (BufferError, RuntimeError) as error:
        raise TypeError(
            f"cannot read {type(x).__name__} through DLPack ({error}); pass it in host memory"
        ) from error


@lru_cache(maxsize=64)  # a dtype takes 2 us to tell its name
def dtype_number(dtype: np.dtype[Any]) -> int | None:
    """The contract's number of `dtype`, None when it has none."""
    return _contract.DTYPES.get(dtype.name)


def on_wire(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The little-endian twin of `dtype`."""
    return dtype.newbyteorder("<")


def dtype_named(name: str) -> np.dtype[Any]:
    """The native dtype. ImportError when it is bfloat16 and ml_dtypes is not there."""
    if name == "bfloat16":
        import ml_dtypes

        bfloat16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return bfloat16
    return np.dtype(name)


def result_dtype(op: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Of an op's results of elements of `dtype`, by the table at the contract's Op."""
    if op in ("any", "all"):
        return np.dtype(np.bool_)
    if op in ("argmin", "argmax", "count_nonzero", "nan_count", "inf_count"):
        return np.dtype(np.int64)
    if op in ("min", "max") or dtype.kind not in "biu":
        return dtype
    if op in ("sum", "prod"):
        return np.dtype(np.uint64 if dtype.kind == "u" else np.int64)
    return np.dtype(np.float64)


def normalized_axes(
    axis: Axis, ndim: int, *, scalar_has_one: bool = False
) -> tuple[int, ...] | None:
    """Axes in [0, ndim), or None for all. `scalar_has_one`: axis 0 or -1 of a scalar is all of it.

    AxisError (a ValueError and an IndexError) and ValueError as NumPy raises them.
    """
    if axis is None:
        return None
    if scalar_has_one and ndim == 0 and not isinstance(axis, tuple):
        if operator.index(axis) in (0, -1):
            return None
    axes = axis if isinstance(axis, tuple) else (axis,)
    normalized = []
    for item in axes:
        number = operator.index(item)
        if not -ndim <= number < ndim:
            raise AxisError(number, ndim)
        normalized.append(number % ndim)
    if len(set(normalized)) < len(normalized):
        raise ValueError(f"duplicate value in 'axis': {axis}")
    return tuple(normalized)
