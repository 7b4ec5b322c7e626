"""The client's functions of a tensor, as the tensor's own methods."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import TYPE_CHECKING, Any, Callable, Generic, TypeVar

from ._functions import Functions
from ._words import DescribedT, FloatT, IndexT, NumberT, ReductionT, TruthT, ValueT

if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec

    P = ParamSpec("P")

__all__ = ["OfClient", "method_of"]

ResultT = TypeVar("ResultT")


class OfClient(Generic[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT]):
    """A tensor of one client, whose functions are its methods."""

    _client: Functions[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT]


def method_of(
    function: Callable[
        Concatenate[
            Functions[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT], Any, P
        ],
        ResultT,
    ],
) -> Callable[
    Concatenate[OfClient[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT], P],
    ResultT,
]:
    """A tensor's method that calls this function of its client, whose `x` is the tensor."""
    name = function.__name__

    @wraps(function)
    def method(
        self: OfClient[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT],
        /,
        *arguments: P.args,
        **options: P.kwargs,
    ) -> ResultT:
        result: ResultT = getattr(self._client, name)(self, *arguments, **options)
        return result

    signature = inspect.signature(function)
    others = [p for p in signature.parameters.values() if p.name != "x"]
    method.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
    method.__module__, method.__qualname__ = f"{__package__}._remote", f"OnServer.{name}"
    return method
