"""What every function of a client does with NumPy's words: checks them, and plans by them."""

from __future__ import annotations

from collections.abc import Collection, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Generic, Literal, SupportsIndex, TypedDict, TypeVar, Union

import numpy as np

from ._arrays import Axis, Real, real
from ._flows import Flows
from ._forms import Out
from ._progress import Progress
from ._request import ReduceCall, form_of

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = [
    "CallOptions",
    "Calls",
    "DescribedT",
    "FloatT",
    "FreedomOptions",
    "Index",
    "IndexT",
    "NumberT",
    "Ord",
    "ReductionT",
    "ScalarOptions",
    "TruthT",
    "ValueT",
    "check_words",
    "freedom",
    "norm_op",
    "one_axis",
]

# Of a result without axes: a NumPy number, one that is never an integer, an integer, a truth value.
# And of any other, which may be without axes, too: that follows from a shape, which no type has.
NumberT = TypeVar("NumberT")
FloatT = TypeVar("FloatT")
IndexT = TypeVar("IndexT")
TruthT = TypeVar("TruthT")
ValueT = TypeVar("ValueT")
ReductionT = TypeVar("ReductionT")  # of a Reduction
DescribedT = TypeVar("DescribedT")  # of a dict of them, by the names of a mapping's tensors
Ord = Union[None, int, float]
Index = SupportsIndex
_NOT_YET = ("initial", "where")


class CallOptions(TypedDict, total=False):
    timeout: float | None  # seconds without progress, retries included, instead of the client's
    progress: Progress | None


class ScalarOptions(CallOptions, total=False):
    """Of a call over all axes, whose result has none."""

    keepdims: Literal[False]


class FreedomOptions(ScalarOptions, total=False):
    ddof: Real
    correction: Real | None


_WORDS = frozenset(CallOptions.__annotations__)


def check_words(function: str, call: Mapping[str, object], words: Collection[str] = _WORDS) -> None:
    """TypeError, as Python has it, for a keyword that the function has not."""
    for word in call:
        if word in _NOT_YET:
            raise TypeError(f"{function}() has no {word}= yet")
        if word not in words:
            raise TypeError(f"{function}() got an unexpected keyword argument {word!r}")
    progress = call.get("progress")
    if progress is not None and not callable(progress):
        raise TypeError(f"progress is {progress!r}, but must be a callable of two numbers of bytes")


class Calls(Generic[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT]):
    _flows: Flows

    def _do(self, flow: Coroutine[Any, Any, Any], function: str) -> Any:
        """The outcome of a flow of the function, or an awaitable of it."""
        raise NotImplementedError

    def _value(
        self,
        function: str,
        planned: ReduceCall,
        call: CallOptions,
        dtype: DTypeLike | None = None,
        out: Out = None,
    ) -> ValueT:
        check_words(function, call)
        form = form_of(function, planned, dtype, out)
        value: ValueT = self._do(self._flows.value(planned, form, **call), function)
        return value


def one_axis(axis: Axis) -> Axis:
    if isinstance(axis, tuple):
        raise TypeError(f"axis is {axis}, but an index is along one axis or over all")
    return axis


def freedom(ddof: Real, correction: Real | None) -> float:
    if correction is None:
        return real("ddof", ddof)
    if ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return real("correction", correction)


def norm_op(x: Any, ord: Ord, axis: Axis) -> str:
    """None is the 2-norm; 1 and 2 over two axes are norms of matrices in NumPy."""
    if isinstance(axis, tuple) and len(axis) not in (1, 2):
        raise ValueError(f"axis is {axis}, but a norm is over one axis, two or, with None, all")
    if ord is None:
        return "l2_norm"
    if ord not in (1, 2):
        raise ValueError(f"ord is {ord!r}, but the contract has None, 1 and 2")
    axes = np.ndim(x) if axis is None else len(axis) if isinstance(axis, tuple) else 1
    if axes != 1:
        raise ValueError(f"ord {ord!r} over {axes} axes is a matrix norm; the contract has none")
    return "l1_norm" if ord == 1 else "l2_norm"
