"""The tasks that `warpfold.dask` gives to Dask."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, Callable, SupportsIndex, Union

import dask
import dask.array as da
import numpy as np

from . import _contract
from ._answer import Reduction
from ._arrays import Axis, normalized_axes
from ._client import Client, connect
from ._dask_chunks import Blocks, blocks_of
from ._dtypes import dtype_number, result_dtype
from ._errors import WarpfoldError
from ._request import checked_ops
from ._target import with_default_port

__all__ = ["Connect", "Servers", "reduce"]

Servers = Union[None, str, Sequence[str]]
Connect = Callable[[str], Client]

_turn = itertools.count()
_OBJECTS = np.dtype(object)


def reduce(
    x: da.Array,
    ops: Sequence[str],
    axis: Axis = None,
    *,
    keepdims: bool = False,
    omit_nan: bool = False,
    ddof: SupportsIndex = 0,
    servers: Servers = None,
    connect: Connect = connect,
    rechunk: bool = True,
    split_every: int | None = None,
) -> dict[str, da.Array]:
    """Several ops in one pass over the data: Dask arrays of the results, by op.

    Arguments are those of `warpfold.Client.reduce`, and those of this module; `split_every` is
    Dask's: how many states are merged at a time.
    """
    if not isinstance(x, da.Array):
        raise TypeError(f"x is a {type(x).__name__}, not a dask.array.Array")
    ops = checked_ops(ops)
    if dtype_number(x.dtype) is None:
        raise TypeError(f"cannot reduce dtype {x.dtype}; there are {', '.join(_contract.DTYPES)}")
    if np.isnan(x.shape).any():
        raise ValueError("the chunks' lengths are not known; x.compute_chunk_sizes() finds them")
    axes = normalized_axes(axis, x.ndim)
    axes = tuple(range(x.ndim)) if axes is None else axes
    if not axes:
        raise ValueError("there is no axis to reduce")
    blocks, chunks = blocks_of(x.shape, x.dtype, x.chunks, axes, ops)
    if chunks != x.chunks:
        if not rechunk:
            raise ValueError(f"for these bits the chunks have to be {chunks}, not {x.chunks}")
        x = x.rechunk(chunks)
    client = partial(_client, servers, connect)
    states = _mapped(
        partial(_state, blocks, client, ops, omit_nan=omit_nan, ddof=ddof),
        x,
        chunks=[(1,) * len(c) if i in axes else c for i, c in enumerate(x.chunks)],
    )
    merged = _merged(states, blocks.axes, client, split_every)
    return {op: _result(merged, op, x.dtype, blocks.axes, keepdims) for op in ops}


def _merged(
    states: da.Array, axes: Sequence[int], client: Callable[[], Client], split_every: int | None
) -> da.Array:
    """One Reduction for each block of the kept axes."""
    # Axis by axis from the last: states that are merged then always follow each other in C order.
    cut = [axis for axis in reversed(axes) if states.numblocks[axis] > 1]
    for axis in cut:
        states = da.reduction(
            states,
            chunk=_same,
            combine=partial(_merge_states, client),
            aggregate=partial(_merge_states, client),
            axis=(axis,),
            keepdims=True,
            concatenate=False,
            split_every=split_every,
            dtype=_OBJECTS,
            meta=np.empty((0,) * states.ndim, _OBJECTS),
        )
    return _mapped(partial(_finish, client), states)


def _result(
    merged: da.Array, op: str, dtype: np.dtype[Any], axes: Sequence[int], keepdims: bool
) -> da.Array:
    dtype = result_dtype(op, dtype)
    meta = np.empty((0,) * merged.ndim, dtype)
    results = da.map_blocks(partial(_picked, op, axes), merged, dtype=dtype, meta=meta)
    return results if keepdims else da.squeeze(results, axis=tuple(axes))


def _mapped(function: Callable[..., Any], x: da.Array, **options: Any) -> da.Array:
    return da.map_blocks(
        function, x, dtype=_OBJECTS, meta=np.empty((0,) * x.ndim, _OBJECTS), **options
    )


def _state(
    blocks: Blocks,
    client: Callable[[], Client],
    ops: tuple[str, ...],
    x: np.ndarray[Any, Any],
    block_info: Any = None,
    **options: Any,
) -> bytes:
    part = blocks.part(x, [start for start, _ in block_info[0]["array-location"]])
    with _errors_that_travel():
        return client().reduce_part(
            part.x, ops, part.axis, whole_shape=part.whole_shape, offset=part.offset, **options
        )


def _same(state: Any, axis: Any, keepdims: Any) -> Any:
    return state


def _merge_states(client: Callable[[], Client], states: Any, axis: Any, keepdims: Any) -> bytes:
    flat = list(_flattened(states))
    if len(flat) == 1:
        return flat[0]
    with _errors_that_travel():
        return client().merge_states(flat)


def _finish(client: Callable[[], Client], state: bytes) -> Reduction:
    with _errors_that_travel():
        return client().merge([state])


@contextlib.contextmanager
def _errors_that_travel() -> Iterator[None]:
    """gRPC's own, the cause of ours, do not pickle."""
    try:
        yield
    except WarpfoldError as error:
        error.__cause__ = error.__context__ = None
        raise


def _picked(op: str, axes: Sequence[int], results: Reduction) -> Any:
    return np.expand_dims(results[op], tuple(axes))


def _flattened(states: Any) -> Iterator[bytes]:
    if isinstance(states, bytes):
        yield states
    else:
        for state in states:
            yield from _flattened(state)


def _client(servers: Servers, connect: Connect) -> Client:
    """A client of a server that is near; called in the process of a worker."""
    addresses = servers or dask.config.get("warpfold.servers", None)
    if not addresses:
        raise ValueError(
            "no servers: give `servers`, or the workers the Dask configuration 'warpfold.servers'"
        )
    if isinstance(addresses, str):
        addresses = [addresses]
    here = _own_hosts()
    near = [a for a in addresses if with_default_port(a).rpartition(":")[0] in here]
    near = near or list(addresses)
    return _connected(near[next(_turn) % len(near)], connect, os.getpid())


@lru_cache(maxsize=None)
def _connected(address: str, connect: Connect, pid: int) -> Client:
    return connect(address)  # stays for as long as the process does


def _own_hosts() -> set[str]:
    hosts = {"localhost", "127.0.0.1", "[::1]", socket.gethostname()}
    distributed = sys.modules.get("distributed")
    if distributed is not None:
        try:
            worker = distributed.get_worker()
        except ValueError:  # Dask's own threads or processes
            return hosts
        hosts.add(worker.address.rpartition("://")[2].rpartition(":")[0])
    return hosts
