"""The tasks that `warpfold.dask` gives to Dask."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, Callable, SupportsIndex, TypedDict, Union

import dask
import dask.array as da
import numpy as np

from . import _contract
from ._answer import Reduction
from ._arrays import Axis, Real, normalized_axes
from ._client import Client, connect
from ._contract import Op
from ._dtypes import dtype_number, result_dtype
from ._errors import UnavailableError, WarpfoldError
from ._request import checked_ops
from ._retry import RetryPolicy
from ._target import chosen_target, with_default_port
from ._words import check_words

__all__ = ["Connect", "Options", "Servers", "Somewhere", "reduce", "reduce_one"]

Servers = Union[None, str, Sequence[str]]
Connect = Callable[[str], Client]
Somewhere = Callable[[Callable[[Client], Any]], Any]  # runs it with a client


class Options(TypedDict, total=False):
    """What every function takes beside NumPy's arguments."""

    keepdims: bool
    servers: Servers
    connect: Connect
    split_every: int | None


_WORDS = frozenset(Options.__annotations__)
_connect = connect
_turn = itertools.count()
# As many as connecting takes, within a second. A server that is full is waited for as ever.
_ONE_OF_SEVERAL = RetryPolicy(unavailable_max=5)
# For so long a server that was not there is tried last, so that not every task waits for it.
_GONE_S = 10.0
_gone_until: dict[str, float] = {}
_OBJECTS = np.dtype(object)


def reduce(
    x: da.Array,
    ops: Sequence[Op],
    axis: Axis = None,
    *,
    keepdims: bool = False,
    omit_nan: bool = False,
    ddof: Real = 0,
    servers: Servers = None,
    connect: Connect = connect,
    split_every: int | None = None,
) -> dict[str, da.Array]:
    """Several ops in one pass over the data: Dask arrays of the results, by op.

    Arguments are those of `warpfold.Client.reduce`, and those of this module; `split_every` is
    Dask's: how many states are merged at a time.
    """
    if not isinstance(x, da.Array):
        raise TypeError(f"x is a {type(x).__name__}, not a dask.array.Array")
    ops = checked_ops(ops)
    if servers is not None and not isinstance(servers, str) and not len(servers):
        raise ValueError("servers is empty; leave it out for the workers' own")
    if dtype_number(x.dtype) is None:
        raise TypeError(f"cannot reduce dtype {x.dtype}; there are {', '.join(_contract.DTYPES)}")
    if np.isnan(x.shape).any():
        raise ValueError("the chunks' lengths are not known; x.compute_chunk_sizes() finds them")
    axes = normalized_axes(axis, x.ndim)
    axes = tuple(range(x.ndim)) if axes is None else axes
    if not axes:
        raise ValueError("there is no axis to reduce")
    somewhere = partial(_somewhere, servers, connect)
    states = _mapped(
        partial(_state, x.shape, axes, somewhere, ops, omit_nan=omit_nan, ddof=ddof),
        x,
        chunks=[(1,) * len(c) if i in axes else c for i, c in enumerate(x.chunks)],
    )
    merged = _merged(states, axes, somewhere, split_every)
    return {op: _result(merged, op, x.dtype, axes, keepdims) for op in ops}


def reduce_one(
    function: str,
    x: da.Array,
    op: Op,
    axis: Axis,
    options: Options,
    *,
    ddof: Real = 0,
    omit_nan: bool = False,
) -> da.Array:
    """The results of one op, which is all that NumPy's `function` computes."""
    check_words(function, options, _WORDS)
    return reduce(x, [op], axis, ddof=ddof, omit_nan=omit_nan, **options)[op]


def _merged(
    states: da.Array, axes: Sequence[int], somewhere: Somewhere, split_every: int | None
) -> da.Array:
    """One Reduction for each block of the kept axes."""
    # Axis by axis: the states that are merged are then of blocks that make up a larger one.
    cut = [axis for axis in axes if states.numblocks[axis] > 1]
    for axis in cut:
        states = da.reduction(
            states,
            chunk=_same,
            combine=partial(_merge_states, somewhere),
            aggregate=partial(_merge_states, somewhere),
            axis=(axis,),
            keepdims=True,
            concatenate=False,
            split_every=split_every,
            dtype=_OBJECTS,
            meta=np.empty((0,) * states.ndim, _OBJECTS),
        )
    return _mapped(partial(_finish, somewhere), states)


def _result(
    merged: da.Array, op: str, dtype: np.dtype[Any], axes: Sequence[int], keepdims: bool
) -> da.Array:
    dtype = result_dtype(op, dtype)
    meta = np.empty((0,) * merged.ndim, dtype)
    results = da.map_blocks(partial(_picked, op, axes), merged, dtype=dtype, meta=meta)
    if keepdims:
        return results
    results = da.squeeze(results, axis=tuple(axes))
    if results.ndim:
        return results
    return da.map_blocks(_scalar, results, dtype=dtype, meta=np.empty((), dtype))


def _mapped(function: Callable[..., Any], x: da.Array, **options: Any) -> da.Array:
    return da.map_blocks(
        function, x, dtype=_OBJECTS, meta=np.empty((0,) * x.ndim, _OBJECTS), **options
    )


def _state(
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    somewhere: Somewhere,
    ops: tuple[Op, ...],
    x: np.ndarray[Any, Any],
    block_info: Any = None,
    **options: Any,
) -> bytes:
    # Blocks along the axes that are kept are arrays of their own.
    starts = [start for start, _ in block_info[0]["array-location"]]
    whole_shape = [shape[i] if i in axes else length for i, length in enumerate(x.shape)]
    offset = [start if i in axes else 0 for i, start in enumerate(starts)]
    options.update(whole_shape=whole_shape, offset=offset)
    state: bytes = somewhere(lambda client: client.reduce_part(x, ops, axes, **options))
    return state


def _same(state: Any, axis: Any, keepdims: Any) -> Any:
    return state


def _merge_states(somewhere: Somewhere, states: Any, axis: Any, keepdims: Any) -> bytes:
    flat = list(_flattened(states))
    if len(flat) == 1:
        return flat[0]
    state: bytes = somewhere(lambda client: client.merge_states(flat))
    return state


def _finish(somewhere: Somewhere, state: bytes) -> Reduction:
    results: Reduction = somewhere(lambda client: client.merge([state]))
    return results


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


def _scalar(result: np.ndarray[Any, Any]) -> Any:
    return result[()]  # as Dask's own reductions have it


def _flattened(states: Any) -> Iterator[bytes]:
    if isinstance(states, bytes):
        yield states
    else:
        for state in states:
            yield from _flattened(state)


def _somewhere(servers: Servers, connect: Connect, work: Callable[[Client], Any]) -> Any:
    """What `work` does with a client, in the process of a worker.

    While a server is not there the next is tried: states are pure, and any server makes them the
    same.
    """
    addresses = _in_turn(servers)
    if len(addresses) > 1 and connect is _connect:
        connect = _connect_to_one_of_several
    with _errors_that_travel():
        for address in addresses[:-1]:
            try:
                return work(_connected(address, connect, os.getpid()))
            except UnavailableError:
                _gone_until[address] = time.monotonic() + _GONE_S
        return work(_connected(addresses[-1], connect, os.getpid()))


def _in_turn(servers: Servers) -> list[str]:
    """All addresses: first those that are near, each time another of them, last those gone."""
    addresses = servers or dask.config.get("warpfold.servers", None) or chosen_target(None)
    if isinstance(addresses, str):
        addresses = [addresses]
    here = _own_hosts()
    near = [a for a in addresses if with_default_port(a).rpartition(":")[0] in here]
    turn = next(_turn)
    far = [a for a in addresses if a not in near]
    now = time.monotonic()
    order = [*_rotated(near, turn), *_rotated(far, turn)]
    return sorted(order, key=lambda address: _gone_until.get(address, now) > now)


def _rotated(addresses: list[str], turn: int) -> list[str]:
    first = turn % max(len(addresses), 1)
    return addresses[first:] + addresses[:first]


def _connect_to_one_of_several(address: str) -> Client:
    return _connect(address, retry=_ONE_OF_SEVERAL)


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
