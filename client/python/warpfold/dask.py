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

from . import _dask_functions
from ._dask_functions import *  # noqa: F403

__all__ = _dask_functions.__all__


def __dir__() -> list[str]:
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
