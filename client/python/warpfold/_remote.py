"""A tensor that stays on the server: what it is, and how NumPy's functions find their way to it.

NumPy asks an argument's `__array_function__` what np.sum and the like shall do. Here they become
the client's methods of the same names; every other function is a TypeError by NumPy's protocol,
because the elements cannot come back.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Callable, Generic, SupportsIndex, TypeVar

import numpy as np

from ._arrays import Axis
from ._cuda_array import CudaArray
from ._cuda_memory import Region
from ._functions import Functions
from ._shaped import Named

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._functions import CallOptions

ValueT = TypeVar("ValueT")
ReductionT = TypeVar("ReductionT")

_NAMES = "sum prod mean var std min max argmin argmax any all count_nonzero".split()
_NAMES += [f"nan{name}" for name in _NAMES[:9]]
# The client's method by NumPy's function.
_METHODS: dict[Callable[..., Any], str] = {
    **{getattr(np, name): name for name in _NAMES},
    np.amin: "min",
    np.amax: "max",
    np.linalg.norm: "norm",
}
_ATTRIBUTES: dict[Callable[..., Any], str] = {np.shape: "shape", np.ndim: "ndim"}


class OnServer(Named, Generic[ValueT, ReductionT]):
    """A tensor that a server can reach by itself; NumPy's reductions of it send no elements.

    np.sum(tensor, axis=0), tensor.sum(axis=0) and client.sum(tensor, axis=0) are the same; so for
    the other functions.
    """

    def __init__(
        self, client: Functions[ValueT, ReductionT], shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> None:
        self._client = client
        self.shape = shape
        self.dtype = dtype

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(f"the elements of a {type(self).__name__} stay on the server")

    def __array_function__(
        self,
        function: Callable[..., Any],
        types: Sequence[type],
        arguments: tuple[Any, ...],
        options: dict[str, Any],
    ) -> Any:
        if function in _ATTRIBUTES and arguments[0] is self:
            return getattr(self, _ATTRIBUTES[function])
        name = _METHODS.get(function)
        if name is None:
            return NotImplemented
        given = _given(function, arguments, options)
        if given.pop("a", given.pop("x", None)) is not self:
            return NotImplemented
        if "correction" in given:
            if given.get("ddof", 0) != 0:
                raise ValueError("ddof and correction can't be provided simultaneously.")
            given["ddof"] = given.pop("correction")
        lacking = given.keys() - inspect.signature(getattr(self._client, name)).parameters.keys()
        if lacking:
            kind = type(self).__name__
            raise TypeError(f"a {kind}'s {name} takes no {', '.join(sorted(lacking))}")
        return getattr(self._client, name)(self, **given)

    def reduce(self, ops: Sequence[str], axis: Axis = None, **options: Any) -> ReductionT:
        """`Client.reduce` of it: several ops in one pass."""
        return self._client.reduce(self, ops, axis, **options)

    def sum(
        self, axis: Axis = None, *, keepdims: bool = False, **call: Unpack[CallOptions]
    ) -> ValueT:
        return self._client.sum(self, axis, keepdims=keepdims, **call)

    def prod(
        self, axis: Axis = None, *, keepdims: bool = False, **call: Unpack[CallOptions]
    ) -> ValueT:
        return self._client.prod(self, axis, keepdims=keepdims, **call)

    def mean(
        self, axis: Axis = None, *, keepdims: bool = False, **call: Unpack[CallOptions]
    ) -> ValueT:
        return self._client.mean(self, axis, keepdims=keepdims, **call)

    def var(
        self,
        axis: Axis = None,
        *,
        ddof: SupportsIndex = 0,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT:
        return self._client.var(self, axis, ddof=ddof, keepdims=keepdims, **call)

    def std(
        self,
        axis: Axis = None,
        *,
        ddof: SupportsIndex = 0,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT:
        return self._client.std(self, axis, ddof=ddof, keepdims=keepdims, **call)

    def min(
        self, axis: Axis = None, *, keepdims: bool = False, **call: Unpack[CallOptions]
    ) -> ValueT:
        return self._client.min(self, axis, keepdims=keepdims, **call)

    def max(
        self, axis: Axis = None, *, keepdims: bool = False, **call: Unpack[CallOptions]
    ) -> ValueT:
        return self._client.max(self, axis, keepdims=keepdims, **call)

    def argmin(
        self,
        axis: SupportsIndex | None = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT:
        return self._client.argmin(self, axis, keepdims=keepdims, **call)

    def argmax(
        self,
        axis: SupportsIndex | None = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT:
        return self._client.argmax(self, axis, keepdims=keepdims, **call)

    def any(
        self, axis: Axis = None, *, keepdims: bool = False, **call: Unpack[CallOptions]
    ) -> ValueT:
        return self._client.any(self, axis, keepdims=keepdims, **call)

    def all(
        self, axis: Axis = None, *, keepdims: bool = False, **call: Unpack[CallOptions]
    ) -> ValueT:
        return self._client.all(self, axis, keepdims=keepdims, **call)


class Remote(OnServer[ValueT, ReductionT]):
    """A tensor on the server, made by `Client.put`; NumPy's reductions of it send no elements.

    np.sum(tensor, axis=0), tensor.sum(axis=0) and client.sum(tensor, axis=0) are the same; so for
    the other functions. The tensor lives until the end of its `with` block, `delete`, or a time
    without use (`Client.put` says how long); after that, calls raise NotFoundError, or RuntimeError
    when it was this object that ended it. An object that is merely forgotten leaves its tensor to
    that time: a finaliser runs wherever Python likes, which is no place for a call.
    """

    def __init__(
        self,
        client: Functions[ValueT, ReductionT],
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        id: str,
        ttl: float,
    ) -> None:
        super().__init__(client, shape, dtype)
        self._id = id
        self._deleted = False
        self.ttl = ttl  # seconds without use after which the server lets it go

    @property
    def id(self) -> str:
        """The contract's `tensor_id`. RuntimeError when the tensor was deleted."""
        if self._deleted:
            raise RuntimeError("the tensor was deleted")
        return self._id

    def name_in(self, request: Any) -> None:
        request.tensor_id = self.id

    def __repr__(self) -> str:
        state = "deleted" if self._deleted else f"id={self._id}"
        return f"<{type(self).__name__} shape={self.shape} dtype={self.dtype} {state}>"


class Shared(OnServer[ValueT, ReductionT]):
    """An array on a GPU that the server reaches where it lies, made by `Client.share`.

    np.sum(tensor, axis=0), tensor.sum(axis=0) and client.sum(tensor, axis=0) are the same; so for
    the other functions. The server has the memory open until the end of the `with` block or
    `release`; of a handle that is merely forgotten, until the client is closed, which holds the
    array as long.
    """

    def __init__(
        self, client: Functions[ValueT, ReductionT], array: CudaArray, region: Region
    ) -> None:
        super().__init__(client, array.shape, array.dtype)
        self._array = array
        self._region: Region | None = region

    def name_in(self, request: Any) -> None:
        if self._region is None:
            raise RuntimeError("the array is shared no longer")
        self._array.wait()
        self._region.name_in(request, self._array)


@lru_cache(maxsize=64)  # 30 us each
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


def _given(
    function: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]
) -> dict[str, Any]:
    """The arguments by NumPy's names, without those that are what they are when left out."""
    signature = _signature(function)
    bound = signature.bind(*arguments, **options).arguments
    return {
        name: value
        for name, value in bound.items()
        if value is not signature.parameters[name].default
    }
