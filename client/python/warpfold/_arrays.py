"""What a caller may pass: anything NumPy can read, as the contract's bytes; and NumPy's axes."""

from __future__ import annotations

import math
import operator
from typing import Any, SupportsIndex, Union

import numpy as np

from ._cuda_array import CudaArray, cuda_array
from ._dlpack import Exported
from ._dtypes import dtype_number, dtype_refusal, on_wire
from ._foreign import object_refusal, of_numpy, plain

try:
    from numpy.exceptions import AxisError
except ImportError:  # NumPy before 1.25
    from numpy import AxisError  # type: ignore[attr-defined, no-redef, unused-ignore]

__all__ = [
    "Axis",
    "Real",
    "as_operand",
    "as_tensor",
    "normalized_axes",
    "real",
    "shareable",
    "truth",
    "whole",
]

Real = Union[SupportsIndex, float]
Axis = Union[None, SupportsIndex, tuple[SupportsIndex, ...]]


def as_operand(x: Any, *, whole: bool = False) -> np.ndarray[Any, Any] | CudaArray:
    """`x` where it is: on a GPU, or as as_tensor has it.

    Elements that are missing, as in pyarrow's arrays, are left out; with `whole` a TypeError.
    """
    if type(x) is not np.ndarray:
        x = plain(x, whole=whole)
        array = cuda_array(x)
        if array is not None:
            return array
    return _in_host_memory(x)


def shareable(x: Any) -> CudaArray:
    """`x` on a GPU. TypeError when it is elsewhere, or nothing."""
    array = cuda_array(plain(x, whole=True))
    if array is None or not array.size:
        raise TypeError(
            f"cannot share {type(x).__name__}: it is no array on a GPU with elements; what is in "
            "host memory is shared by itself"
        )
    return array


def as_tensor(x: Any) -> np.ndarray[Any, Any]:
    """`x` as an array in host memory in C order, little-endian, of a dtype of the contract.

    Copies nothing when `x` is already that. TypeError for what is not.
    """
    array = as_operand(x, whole=True)
    return array.on_host() if isinstance(array, CudaArray) else array


def _in_host_memory(x: Any) -> np.ndarray[Any, Any]:
    array = x if type(x) is np.ndarray else _from_other(x)
    if dtype_number(array.dtype) is None:
        if array.dtype.kind == "O":
            raise object_refusal(x, array)
        raise dtype_refusal(array.dtype)
    # One copy at most. A 0-d array stays one, which ascontiguousarray would not leave it.
    return np.asarray(array, dtype=on_wire(array.dtype), order="C")


def _from_other(x: Any) -> np.ndarray[Any, Any]:
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError("cannot reduce a masked array; pass x.compressed(), or NaN and a nan* op")
    if isinstance(x, (np.ndarray, np.generic)):
        return np.asarray(x)
    return Exported(x).on_host() if hasattr(x, "__dlpack__") else of_numpy(x)


def whole(name: str, value: SupportsIndex) -> int:
    try:
        return operator.index(value)
    except TypeError:
        kind = type(value).__name__
        raise TypeError(f"{name} is {value!r}, a {kind}, but must be a whole number") from None


def real(name: str, value: Real) -> float:
    """A finite number; TypeError and ValueError name what is none."""
    if not isinstance(value, (float, np.floating)):
        try:
            value = operator.index(value)
        except TypeError:
            kind = type(value).__name__
            raise TypeError(f"{name} is {value!r}, a {kind}, but must be a number") from None
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{name} is {value!r}, but must be a finite float64")
    return number


def truth(name: str, value: Any) -> bool:
    """Integers are taken, as by NumPy."""
    try:
        return bool(value if isinstance(value, np.bool_) else operator.index(value))
    except TypeError:
        raise TypeError(f"{name} is {value!r}, but must be True or False") from None


def _axis_number(axis: SupportsIndex) -> int:
    if isinstance(axis, bool):  # NumPy takes none, though Python does
        raise TypeError(f"axis is {axis}, but must be an integer")
    try:
        return operator.index(axis)
    except TypeError:
        kind = type(axis).__name__
        raise TypeError(
            f"axis is {axis!r}, a {kind}, but must be an integer, a tuple of integers or None"
        ) from None


def normalized_axes(
    axis: Axis, ndim: int, *, scalar_has_one: bool = False
) -> tuple[int, ...] | None:
    """Axes in [0, ndim), or None for all. `scalar_has_one`: axis 0 or -1 of a scalar is all of it.

    AxisError (a ValueError and an IndexError) and ValueError as NumPy raises them.
    """
    if axis is None:
        return None
    if scalar_has_one and ndim == 0 and not isinstance(axis, tuple):
        if _axis_number(axis) in (0, -1):
            return None
    axes = axis if isinstance(axis, tuple) else (axis,)
    normalized = []
    for item in axes:
        number = _axis_number(item)
        if not -ndim <= number < ndim:
            raise AxisError(number, ndim)
        normalized.append(number % ndim)
    if len(set(normalized)) < len(normalized):
        raise ValueError(f"duplicate value in 'axis': {axis}")
    return tuple(normalized)
