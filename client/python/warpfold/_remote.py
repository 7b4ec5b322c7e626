"""A tensor that stays on the server: what it is, and how NumPy's functions find their way to it.

NumPy asks an argument's `__array_function__` what np.sum and the like shall do. Here they become
the client's methods of the same names; every other function is a TypeError by NumPy's protocol,
because the elements cannot come back.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from ._arrays import Axis
from ._catalogue import NUMPY_FUNCTIONS
from ._cuda_array import CudaArray
from ._cuda_memory import Region
from ._functions import Functions
from ._methods import method_of
from ._namespace import namespace
from ._shaped import Named
from ._tensor_methods import TensorMethods
from ._words import DescribedT, FloatT, IndexT, NumberT, ReductionT, TruthT, ValueT

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._words import CallOptions

__all__ = ["OnServer", "Remote", "Shared"]

# The client's method by NumPy's function.
_METHODS: dict[Callable[..., Any], str] = {
    **{getattr(np, name): name for name in NUMPY_FUNCTIONS},
    np.amin: "min",
    np.amax: "max",
    np.linalg.norm: "norm",
}
# What to call instead of a ufunc's `reduce`.
_INSTEAD: dict[np.ufunc, str] = {
    np.add: "np.sum",
    np.multiply: "np.prod",
    np.minimum: "np.min",
    np.maximum: "np.max",
    np.fmin: "np.nanmin",
    np.fmax: "np.nanmax",
    np.logical_or: "np.any",
    np.logical_and: "np.all",
}
_ATTRIBUTES: dict[Callable[..., Any], str] = {np.shape: "shape", np.ndim: "ndim", np.size: "size"}
# What Python's own words would need the elements for, beside those that OnServer has itself.
_OPERATORS = "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and or xor".split()
_OPERATORS += [f"r{name}" for name in _OPERATORS] + "lt le gt ge neg pos abs invert".split()
_OPERATORS += "len iter getitem setitem contains int float complex".split()


class OnServer(
    Named, TensorMethods[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT]
):
    """A tensor that a server can reach by itself; NumPy's reductions of it send no elements.

    np.sum(tensor, axis=0), tensor.sum(axis=0) and client.sum(tensor, axis=0) are the same; so for
    the other functions. Of two tensors == says whether they are the same object, as containers
    need it; with anything else it would need the elements and is a TypeError, as is bool(tensor).
    """

    def __init__(
        self,
        client: Functions[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT],
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
    ) -> None:
        self._client = client
        self.shape = shape
        self.dtype = dtype

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise self._refusal()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, OnServer):
            return self is other
        raise self._refusal("== and != would need them")

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise self._refusal("its truth value would need them; any() and all() ask the server")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *arguments: Any, **options: Any) -> Any:
        name = f"np.{ufunc.__name__}"
        if method != "__call__":
            name += f".{method}"
        instead = _INSTEAD.get(ufunc) if method == "reduce" else None
        raise self._refusal(f"{name} would need them" + (f"; call {instead}" if instead else ""))

    def _refusal(self, why: str = "") -> TypeError:
        words = f"the elements of a {type(self).__name__} stay on the server"
        return TypeError(f"{words}: {why}" if why else words)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """The array API's functions that need no element back."""
        return namespace(api_version)

    def __array_function__(
        self,
        function: Callable[..., Any],
        types: Sequence[type],
        arguments: tuple[Any, ...],
        options: dict[str, Any],
    ) -> Any:
        name = _METHODS.get(function) or _ATTRIBUTES.get(function)
        given = _given(function, arguments, options) if name else {}
        if name is None or given.pop("a", given.pop("x", None)) is not self:
            if not all(issubclass(kind, (OnServer, np.ndarray)) for kind in types):
                return NotImplemented  # the other's turn
            module = function.__module__.replace("numpy", "np", 1)
            raise self._refusal(
                f"{module}.{function.__name__} would need them; call it of the array itself"
            )
        if function is np.size and given:
            return self.shape[given["axis"]]
        if function in _ATTRIBUTES:
            return getattr(self, name)
        return getattr(self._client, name)(self, **given)

    def describe(self, axis: Axis = None, **call: Unpack[CallOptions]) -> ReductionT:
        return self._client.describe(self, axis, **call)

    describe.__doc__ = Functions.describe.__doc__

    reduce = method_of(
        Functions[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT].reduce
    )
    norm = method_of(
        Functions[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT].norm
    )


def _refused(name: str) -> Callable[..., Any]:
    def method(self: Any, *_: Any) -> Any:
        raise self._refusal(f"{name}() would need them; call it of the array itself")

    method.__name__, method.__qualname__ = name, f"OnServer.{name}"
    return method


for _name in _OPERATORS:  # not in the class, where type checkers would believe in them
    setattr(OnServer, f"__{_name}__", _refused(f"__{_name}__"))


class Remote(OnServer[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT]):
    """A tensor on the server, made by `Client.put`; NumPy's reductions of it send no elements.

    np.sum(tensor, axis=0), tensor.sum(axis=0) and client.sum(tensor, axis=0) are the same; so for
    the other functions. Of two tensors == says whether they are the same object, as containers need
    it; with anything else it is a TypeError, as is bool(tensor). The tensor lives until the end of
    its `with` block, `delete`, or a time without use (`Client.put` says how long); after that,
    calls raise NotFoundError, or RuntimeError when it was this object that ended it. An object that
    is merely forgotten leaves its tensor to that time: a finaliser runs wherever Python likes,
    which is no place for a call.
    """

    def __init__(
        self,
        client: Functions[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT],
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

    def name_in(self, source: Any) -> None:
        source.tensor_id = self.id

    def __repr__(self) -> str:
        state = "deleted" if self._deleted else f"id={self._id}"
        return f"<{type(self).__name__} shape={self.shape} dtype={self.dtype} {state}>"


class Shared(OnServer[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT]):
    """An array on a GPU that the server reaches where it lies, made by `Client.share`.

    np.sum(tensor, axis=0), tensor.sum(axis=0) and client.sum(tensor, axis=0) are the same; so for
    the other functions. The server has the memory open until the end of the `with` block or
    `release`; of a handle that is merely forgotten, until the client is closed, which holds the
    array as long.
    """

    reshapes = True

    def __init__(
        self,
        client: Functions[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT],
        array: CudaArray,
        region: Region,
    ) -> None:
        super().__init__(client, array.shape, array.dtype)
        self._array = array
        self._region: Region | None = region

    def name_in(self, source: Any) -> None:
        if self._region is None:
            raise RuntimeError("the array is shared no longer")
        self._array.wait()
        self._region.name_in(source, self._array)


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
