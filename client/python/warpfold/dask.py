"""Reductions of Dask arrays, block by block on the warpfold servers nearest to the workers.

>>> import dask.array as da
>>> import warpfold.dask as wd
>>> x = da.arange(1_000_000, chunks=100_000, dtype=np.int32)
>>> print(wd.sum(x, servers=server).compute())  # server: "host:port"
499999500000
>>> found = wd.reduce(x.reshape(1000, 1000), ["min", "std"], axis=0, servers=[server])
>>> print(found["min"].compute()[:3])
[0 1 2]

Each block becomes a partial state on a server, Dask's tree reduction merges the states, and the
last merge makes the results. They always have the bits of one server's answer to the whole array.

Between workers travel states, and never blocks: any chunks will do, along every axis.

`servers` is an address or several. Of several, those on the worker's own host serve it in turns, or
all where none is; when one dies the next is tried, which makes the same bits. Without it, each
worker's Dask configuration says, by "warpfold.servers", or in its environment
DASK_WARPFOLD__SERVERS, else what warpfold.connect() goes by there: WARPFOLD_TARGET, or localhost.
`connect` makes the clients, once for each process and address: a function
that workers can import, such as one with credentials around warpfold.connect. The clients' retry
policy says when a dead server is given up for the next, as with RetryPolicy(unavailable_max=5);
without `connect` that is within a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, SupportsIndex, TypedDict

from ._arrays import Axis
from ._contract import Op
from ._dask import Connect, Servers, reduce
from ._words import check_words

if TYPE_CHECKING:
    import dask.array as da
    from typing_extensions import Unpack

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
    "reduce",
    "std",
    "sum",
    "var",
]


def __dir__() -> list[str]:
    return [*__all__, *(name for name in globals() if name.startswith("__"))]


class _Options(TypedDict, total=False):
    """What every function takes beside NumPy's arguments."""

    keepdims: bool
    servers: Servers
    connect: Connect
    split_every: int | None


_WORDS = frozenset(_Options.__annotations__)


def _one(
    x: Any,
    op: Op,
    axis: Axis,
    options: _Options,
    ddof: SupportsIndex = 0,
    *,
    omit_nan: bool = False,
) -> da.Array:
    check_words(f"nan{op}" if omit_nan else op, options, _WORDS)
    return reduce(x, [op], axis, ddof=ddof, omit_nan=omit_nan, **options)[op]


def sum(x: da.Array, axis: Axis = None, **options: Unpack[_Options]) -> da.Array:
    """np.sum."""
    return _one(x, "sum", axis, options)


def prod(x: da.Array, axis: Axis = None, **options: Unpack[_Options]) -> da.Array:
    """np.prod."""
    return _one(x, "prod", axis, options)


def mean(x: da.Array, axis: Axis = None, **options: Unpack[_Options]) -> da.Array:
    """np.mean."""
    return _one(x, "mean", axis, options)


def var(
    x: da.Array, axis: Axis = None, *, ddof: SupportsIndex = 0, **options: Unpack[_Options]
) -> da.Array:
    """np.var."""
    return _one(x, "var", axis, options, ddof)


def std(
    x: da.Array, axis: Axis = None, *, ddof: SupportsIndex = 0, **options: Unpack[_Options]
) -> da.Array:
    """np.std."""
    return _one(x, "std", axis, options, ddof)


def min(x: da.Array, axis: Axis = None, **options: Unpack[_Options]) -> da.Array:
    """np.min."""
    return _one(x, "min", axis, options)


def max(x: da.Array, axis: Axis = None, **options: Unpack[_Options]) -> da.Array:
    """np.max."""
    return _one(x, "max", axis, options)


def any(x: da.Array, axis: Axis = None, **options: Unpack[_Options]) -> da.Array:
    """np.any."""
    return _one(x, "any", axis, options)


def all(x: da.Array, axis: Axis = None, **options: Unpack[_Options]) -> da.Array:
    """np.all."""
    return _one(x, "all", axis, options)


def count_nonzero(x: da.Array, axis: Axis = None, **options: Unpack[_Options]) -> da.Array:
    """np.count_nonzero."""
    return _one(x, "count_nonzero", axis, options)


def argmin(x: da.Array, axis: SupportsIndex | None = None, **options: Unpack[_Options]) -> da.Array:
    """np.argmin."""
    return _one(x, "argmin", axis, options)


def argmax(x: da.Array, axis: SupportsIndex | None = None, **options: Unpack[_Options]) -> da.Array:
    """np.argmax."""
    return _one(x, "argmax", axis, options)


def nansum(x: da.Array, axis: Axis = None, **options: Unpack[_Options]) -> da.Array:
    """np.nansum."""
    return _one(x, "sum", axis, options, omit_nan=True)


def nanprod(x: da.Array, axis: Axis = None, **options: Unpack[_Options]) -> da.Array:
    """np.nanprod."""
    return _one(x, "prod", axis, options, omit_nan=True)


def nanmean(x: da.Array, axis: Axis = None, **options: Unpack[_Options]) -> da.Array:
    """np.nanmean."""
    return _one(x, "mean", axis, options, omit_nan=True)


def nanmin(x: da.Array, axis: Axis = None, **options: Unpack[_Options]) -> da.Array:
    """np.nanmin."""
    return _one(x, "min", axis, options, omit_nan=True)


def nanmax(x: da.Array, axis: Axis = None, **options: Unpack[_Options]) -> da.Array:
    """np.nanmax."""
    return _one(x, "max", axis, options, omit_nan=True)


def nanvar(
    x: da.Array, axis: Axis = None, *, ddof: SupportsIndex = 0, **options: Unpack[_Options]
) -> da.Array:
    """np.nanvar."""
    return _one(x, "var", axis, options, ddof, omit_nan=True)


def nanstd(
    x: da.Array, axis: Axis = None, *, ddof: SupportsIndex = 0, **options: Unpack[_Options]
) -> da.Array:
    """np.nanstd."""
    return _one(x, "std", axis, options, ddof, omit_nan=True)
