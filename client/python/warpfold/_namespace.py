"""What `__array_namespace__` of a tensor on the server is: the array API's functions that need no
element back, under the standard's signatures, and NumPy's nan* functions.

Beside them stands what xarray asks for a sum that skips NaN: it adds where(isnan(x), zeros_like(x),
x). Of these three the names alone are kept, and the sum of the last is the tensor's nansum.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from ._arrays import Axis, Real
from ._shaped import Shaped

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = [
    "VERSIONS",
    "all",
    "any",
    "argmax",
    "argmin",
    "astype",
    "bool",
    "count_nonzero",
    "full_like",
    "isnan",
    "max",
    "mean",
    "min",
    "namespace",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
    "prod",
    "result_type",
    "std",
    "sum",
    "var",
    "where",
    "zeros_like",
]

__array_api_version__ = "2024.12"
VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
bool = np.dtype(np.bool_)


def namespace(api_version: str | None = None) -> Any:
    """This module. ValueError for a version of the standard that it does not follow."""
    if api_version not in (None, *VERSIONS):
        raise ValueError(f"api_version is {api_version!r}, but is one of {', '.join(VERSIONS)}")
    return sys.modules[__name__]


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"there is no {name} of a tensor on the server: its elements stay there, and so it has "
        "reductions alone"
    )


def all(x: Any, /, *, axis: Axis = None, keepdims: Any = False) -> Any:
    return x.all(axis, keepdims=keepdims)


def any(x: Any, /, *, axis: Axis = None, keepdims: Any = False) -> Any:
    return x.any(axis, keepdims=keepdims)


def argmax(x: Any, /, *, axis: SupportsIndex | None = None, keepdims: Any = False) -> Any:
    return x.argmax(axis, keepdims=keepdims)


def argmin(x: Any, /, *, axis: SupportsIndex | None = None, keepdims: Any = False) -> Any:
    return x.argmin(axis, keepdims=keepdims)


def count_nonzero(x: Any, /, *, axis: Axis = None, keepdims: Any = False) -> Any:
    return x.count_nonzero(axis, keepdims=keepdims)


def max(x: Any, /, *, axis: Axis = None, keepdims: Any = False) -> Any:
    return x.max(axis, keepdims=keepdims)


def mean(x: Any, /, *, axis: Axis = None, keepdims: Any = False) -> Any:
    return x.mean(axis, keepdims=keepdims)


def min(x: Any, /, *, axis: Axis = None, keepdims: Any = False) -> Any:
    return x.min(axis, keepdims=keepdims)


def prod(
    x: Any, /, *, axis: Axis = None, dtype: DTypeLike | None = None, keepdims: Any = False
) -> Any:
    return x.prod(axis, dtype, keepdims=keepdims)


def std(
    x: Any, /, *, axis: Axis = None, correction: Real = 0.0, keepdims: Any = False, ddof: Real = 0
) -> Any:
    """`ddof` is xarray's."""
    return x.std(axis, ddof=ddof, correction=correction or None, keepdims=keepdims)


def sum(
    x: Any, /, *, axis: Axis = None, dtype: DTypeLike | None = None, keepdims: Any = False
) -> Any:
    return x.sum(axis, dtype, keepdims=keepdims)


def var(
    x: Any, /, *, axis: Axis = None, correction: Real = 0.0, keepdims: Any = False, ddof: Real = 0
) -> Any:
    """`ddof` is xarray's."""
    return x.var(axis, ddof=ddof, correction=correction or None, keepdims=keepdims)


def nansum(x: Any, /, axis: Axis = None, **options: Any) -> Any:
    return x.nansum(axis, **options)


def nanmean(x: Any, /, axis: Axis = None, **options: Any) -> Any:
    return x.nanmean(axis, **options)


def nanmin(x: Any, /, axis: Axis = None, **options: Any) -> Any:
    return x.nanmin(axis, **options)


def nanmax(x: Any, /, axis: Axis = None, **options: Any) -> Any:
    return x.nanmax(axis, **options)


def nanprod(x: Any, /, axis: Axis = None, **options: Any) -> Any:
    return x.nanprod(axis, **options)


def nanvar(x: Any, /, axis: Axis = None, **options: Any) -> Any:
    return x.nanvar(axis, **options)


def nanstd(x: Any, /, axis: Axis = None, **options: Any) -> Any:
    return x.nanstd(axis, **options)


class _Kept(Shaped):
    """A function's name and the tensor that it was called of, in the place of elements."""

    def __init__(self, name: str, tensor: Any, dtype: np.dtype[Any]) -> None:
        self.name = name
        self.tensor = tensor
        self.shape = tensor.shape
        self.dtype = dtype

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return namespace(api_version)

    def sum(self, axis: Axis, dtype: DTypeLike | None, *, keepdims: Any) -> Any:
        if self.name != "where":
            raise TypeError(f"{self.name}() of a tensor on the server has no sum")
        return self.tensor.nansum(axis, dtype, keepdims=keepdims)


def isnan(x: Any, /) -> _Kept:
    return _Kept("isnan", x, bool)


def full_like(x: Any, fill_value: Any, /, *, dtype: DTypeLike) -> _Kept:
    """Where xarray asks it: isnan() of what has no NaN."""
    if fill_value is not False or dtype != bool:
        raise TypeError("of a tensor on the server there is no full_like() but that of False")
    return isnan(x)


def zeros_like(x: Any, /) -> _Kept:
    return _Kept("zeros_like", x, x.dtype)


def where(condition: Any, x1: Any, x2: Any, /) -> _Kept:
    for kept, name in ((condition, "isnan"), (x1, "zeros_like")):
        if not isinstance(kept, _Kept) or kept.name != name or kept.tensor is not x2:
            raise TypeError(
                "of a tensor x on the server there is no where() but that of isnan(x), "
                "zeros_like(x) and x"
            )
    return _Kept("where", x2, x2.dtype)


def astype(x: Any, dtype: DTypeLike, /, *, copy: Any = True) -> Any:
    if x.dtype != dtype:
        raise TypeError(f"a tensor on the server stays {x.dtype} and becomes no {dtype}")
    return x


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    return np.result_type(*(getattr(x, "dtype", x) for x in arrays_and_dtypes))
