"""NumPy's functions of Dask arrays. Made by tools/catalogue/generate.py; not to be edited."""

from __future__ import annotations

from typing import TYPE_CHECKING, SupportsIndex

from ._arrays import Axis, Real
from ._dask import reduce, reduce_one

if TYPE_CHECKING:
    import dask.array as da
    from typing_extensions import Unpack

    from ._dask import Options

__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "count_nonzero",
    "max",
    "mean",
    "min",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
    "prod",
    "ptp",
    "reduce",
    "std",
    "sum",
    "var",
]


def sum(x: da.Array, axis: Axis = None, **options: Unpack[Options]) -> da.Array:
    """np.sum."""
    return reduce_one("sum", x, "sum", axis, options)


def min(x: da.Array, axis: Axis = None, **options: Unpack[Options]) -> da.Array:
    """np.min."""
    return reduce_one("min", x, "min", axis, options)


def max(x: da.Array, axis: Axis = None, **options: Unpack[Options]) -> da.Array:
    """np.max."""
    return reduce_one("max", x, "max", axis, options)


def mean(x: da.Array, axis: Axis = None, **options: Unpack[Options]) -> da.Array:
    """np.mean."""
    return reduce_one("mean", x, "mean", axis, options)


def prod(x: da.Array, axis: Axis = None, **options: Unpack[Options]) -> da.Array:
    """np.prod."""
    return reduce_one("prod", x, "prod", axis, options)


def var(x: da.Array, axis: Axis = None, *, ddof: Real = 0, **options: Unpack[Options]) -> da.Array:
    """np.var."""
    return reduce_one("var", x, "var", axis, options, ddof=ddof)


def std(x: da.Array, axis: Axis = None, *, ddof: Real = 0, **options: Unpack[Options]) -> da.Array:
    """np.std."""
    return reduce_one("std", x, "std", axis, options, ddof=ddof)


def count_nonzero(x: da.Array, axis: Axis = None, **options: Unpack[Options]) -> da.Array:
    """np.count_nonzero."""
    return reduce_one("count_nonzero", x, "count_nonzero", axis, options)


def any(x: da.Array, axis: Axis = None, **options: Unpack[Options]) -> da.Array:
    """np.any."""
    return reduce_one("any", x, "any", axis, options)


def all(x: da.Array, axis: Axis = None, **options: Unpack[Options]) -> da.Array:
    """np.all."""
    return reduce_one("all", x, "all", axis, options)


def argmin(x: da.Array, axis: SupportsIndex | None = None, **options: Unpack[Options]) -> da.Array:
    """np.argmin."""
    return reduce_one("argmin", x, "argmin", axis, options)


def argmax(x: da.Array, axis: SupportsIndex | None = None, **options: Unpack[Options]) -> da.Array:
    """np.argmax."""
    return reduce_one("argmax", x, "argmax", axis, options)


def ptp(x: da.Array, axis: Axis = None, **options: Unpack[Options]) -> da.Array:
    """np.ptp."""
    return reduce_one("ptp", x, "ptp", axis, options)


def nansum(x: da.Array, axis: Axis = None, **options: Unpack[Options]) -> da.Array:
    """np.nansum."""
    return reduce_one("nansum", x, "sum", axis, options, omit_nan=True)


def nanmin(x: da.Array, axis: Axis = None, **options: Unpack[Options]) -> da.Array:
    """np.nanmin."""
    return reduce_one("nanmin", x, "min", axis, options, omit_nan=True)


def nanmax(x: da.Array, axis: Axis = None, **options: Unpack[Options]) -> da.Array:
    """np.nanmax."""
    return reduce_one("nanmax", x, "max", axis, options, omit_nan=True)


def nanmean(x: da.Array, axis: Axis = None, **options: Unpack[Options]) -> da.Array:
    """np.nanmean."""
    return reduce_one("nanmean", x, "mean", axis, options, omit_nan=True)


def nanprod(x: da.Array, axis: Axis = None, **options: Unpack[Options]) -> da.Array:
    """np.nanprod."""
    return reduce_one("nanprod", x, "prod", axis, options, omit_nan=True)


def nanvar(
    x: da.Array, axis: Axis = None, *, ddof: Real = 0, **options: Unpack[Options]
) -> da.Array:
    """np.nanvar."""
    return reduce_one("nanvar", x, "var", axis, options, ddof=ddof, omit_nan=True)


def nanstd(
    x: da.Array, axis: Axis = None, *, ddof: Real = 0, **options: Unpack[Options]
) -> da.Array:
    """np.nanstd."""
    return reduce_one("nanstd", x, "std", axis, options, ddof=ddof, omit_nan=True)
