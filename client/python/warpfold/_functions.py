"""NumPy's reductions by name, once for both clients.

A method checks its arguments and plans the call here; a flow sends it, and each client has its own
way to `_do` a flow: `Client` returns values, `aio.Client` awaitables of values.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    SupportsIndex,
    TypedDict,
    TypeVar,
    Union,
)

import numpy as np

from ._arrays import Axis
from ._flows import Flows
from ._progress import Progress
from ._request import ReduceCall, plan

if TYPE_CHECKING:
    from typing_extensions import Unpack

ValueT = TypeVar("ValueT")  # of a NumPy scalar or array
ReductionT = TypeVar("ReductionT")  # of a Reduction
Ord = Union[None, int, float]
Index = SupportsIndex


class CallOptions(TypedDict, total=False):
    timeout: float | None  # seconds, retries included, instead of the client's
    progress: Progress | None


class Functions(Generic[ValueT, ReductionT]):
    """NumPy's reductions. Arguments and result dtypes are NumPy's, with these differences:

    * An integer sum that does not fit its dtype raises OutOfRangeError; it never wraps.
    * Sums of floats are accumulated in float64 and rounded once, in an order that depends on
      nothing but dtype, shape and axes: the same input gives the same bits on every server.
    * There are no RuntimeWarnings: the mean of nothing is NaN without one, as is the nanmin of
      nothing but NaN.

    Every method also takes `timeout`, in seconds, instead of the client's own, and `progress`, a
    callable that is told (bytes_done, bytes_total) while a large tensor is sent. It may be called
    on another thread, and starts over when a call is tried again.
    """

    _flows: Flows

    def _do(self, flow: Coroutine[Any, Any, Any]) -> Any:
        """The outcome of a flow, or an awaitable of it."""
        raise NotImplementedError

    def _value(self, call: ReduceCall, **options: Unpack[CallOptions]) -> ValueT:
        value: ValueT = self._do(self._flows.value(call, **options))
        return value

    def _reduction(self, call: ReduceCall, **options: Unpack[CallOptions]) -> ReductionT:
        reduction: ReductionT = self._do(self._flows.reduction(call, **options))
        return reduction

    def reduce(
        self,
        x: Any,
        ops: Sequence[str],
        axis: Axis = None,
        *,
        keepdims: bool = False,
        omit_nan: bool = False,
        ddof: Index = 0,
        request_id: str = "",
        **call: Unpack[CallOptions],
    ) -> ReductionT:
        """Several ops in one pass over the data, as a `Reduction`: a dict of the results by op.

        >>> answer = client.reduce([[1.0, 2.0], [3.0, 6.0]], ["min", "mean"], axis=1)
        >>> print(answer["min"], answer["mean"])
        [1. 3.] [1.5 4.5]

        `info().ops` lists the ops that the server has. `omit_nan` is what tells nansum from sum;
        `ddof` is for "var" and "std"; `request_id` is echoed and logged by the server.
        """
        planned = plan(x, ops, axis, keepdims, omit_nan=omit_nan, ddof=ddof, request_id=request_id)
        return self._reduction(planned, **call)

    def describe(self, x: Any, axis: Axis = None, **call: Unpack[CallOptions]) -> ReductionT:
        """The statistics of `x` that the server has, in one pass.

        Leaves out what does not exist: the minimum of nothing, a sum that does not fit its dtype.

        >>> found = client.describe(np.array([1.0, 2.0, 6.0]))
        >>> print(found["min"], found["mean"], found["max"])
        1.0 3.0 6.0
        """
        reduction: ReductionT = self._do(self._flows.describe(x, axis, **call))
        return reduction

    def sum(
        self, x: Any, axis: Axis = None, *, keepdims: bool = False, **call: Unpack[CallOptions]
    ) -> ValueT:
        """np.sum.

        >>> print(client.sum([[1, 2], [3, 4]], axis=0))
        [4 6]
        """
        return self._value(plan(x, ["sum"], axis, keepdims), **call)

    def mean(
        self, x: Any, axis: Axis = None, *, keepdims: bool = False, **call: Unpack[CallOptions]
    ) -> ValueT:
        """np.mean.

        >>> print(client.mean(np.arange(4)))
        1.5
        """
        return self._value(plan(x, ["mean"], axis, keepdims), **call)

    def min(
        self, x: Any, axis: Axis = None, *, keepdims: bool = False, **call: Unpack[CallOptions]
    ) -> ValueT:
        """np.min.

        >>> print(client.min([[1.5, 2], [3, 0.5]], axis=1, keepdims=True))
        [[1.5]
         [0.5]]
        """
        return self._value(plan(x, ["min"], axis, keepdims), **call)

    def max(
        self, x: Any, axis: Axis = None, *, keepdims: bool = False, **call: Unpack[CallOptions]
    ) -> ValueT:
        """np.max."""
        return self._value(plan(x, ["max"], axis, keepdims), **call)

    def prod(
        self, x: Any, axis: Axis = None, *, keepdims: bool = False, **call: Unpack[CallOptions]
    ) -> ValueT:
        """np.prod."""
        return self._value(plan(x, ["prod"], axis, keepdims), **call)

    def var(
        self,
        x: Any,
        axis: Axis = None,
        *,
        ddof: Index = 0,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT:
        """np.var."""
        return self._value(plan(x, ["var"], axis, keepdims, ddof=ddof), **call)

    def std(
        self,
        x: Any,
        axis: Axis = None,
        *,
        ddof: Index = 0,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT:
        """np.std."""
        return self._value(plan(x, ["std"], axis, keepdims, ddof=ddof), **call)

    def argmin(
        self,
        x: Any,
        axis: Index | None = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT:
        """np.argmin."""
        return self._value(plan(x, ["argmin"], _one_axis(axis), keepdims), **call)

    def argmax(
        self,
        x: Any,
        axis: Index | None = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT:
        """np.argmax."""
        return self._value(plan(x, ["argmax"], _one_axis(axis), keepdims), **call)

    def any(
        self, x: Any, axis: Axis = None, *, keepdims: bool = False, **call: Unpack[CallOptions]
    ) -> ValueT:
        """np.any."""
        return self._value(plan(x, ["any"], axis, keepdims), **call)

    def all(
        self, x: Any, axis: Axis = None, *, keepdims: bool = False, **call: Unpack[CallOptions]
    ) -> ValueT:
        """np.all."""
        return self._value(plan(x, ["all"], axis, keepdims), **call)

    def count_nonzero(
        self, x: Any, axis: Axis = None, *, keepdims: bool = False, **call: Unpack[CallOptions]
    ) -> ValueT:
        """np.count_nonzero."""
        return self._value(plan(x, ["count_nonzero"], axis, keepdims), **call)

    def norm(
        self,
        x: Any,
        ord: Ord = None,
        axis: Axis = None,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT:
        """np.linalg.norm of vectors: `ord` None or 2, the root of the sum of squares, or 1."""
        return self._value(plan(x, [_norm_op(x, ord, axis)], axis, keepdims), **call)

    def nansum(
        self, x: Any, axis: Axis = None, *, keepdims: bool = False, **call: Unpack[CallOptions]
    ) -> ValueT:
        """np.nansum."""
        return self._value(plan(x, ["sum"], axis, keepdims, omit_nan=True), **call)

    def nanmean(
        self, x: Any, axis: Axis = None, *, keepdims: bool = False, **call: Unpack[CallOptions]
    ) -> ValueT:
        """np.nanmean."""
        return self._value(plan(x, ["mean"], axis, keepdims, omit_nan=True), **call)

    def nanmin(
        self, x: Any, axis: Axis = None, *, keepdims: bool = False, **call: Unpack[CallOptions]
    ) -> ValueT:
        """np.nanmin."""
        return self._value(plan(x, ["min"], axis, keepdims, omit_nan=True), **call)

    def nanmax(
        self, x: Any, axis: Axis = None, *, keepdims: bool = False, **call: Unpack[CallOptions]
    ) -> ValueT:
        """np.nanmax."""
        return self._value(plan(x, ["max"], axis, keepdims, omit_nan=True), **call)

    def nanprod(
        self, x: Any, axis: Axis = None, *, keepdims: bool = False, **call: Unpack[CallOptions]
    ) -> ValueT:
        """np.nanprod."""
        return self._value(plan(x, ["prod"], axis, keepdims, omit_nan=True), **call)

    def nanvar(
        self,
        x: Any,
        axis: Axis = None,
        *,
        ddof: Index = 0,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT:
        """np.nanvar."""
        return self._value(plan(x, ["var"], axis, keepdims, omit_nan=True, ddof=ddof), **call)

    def nanstd(
        self,
        x: Any,
        axis: Axis = None,
        *,
        ddof: Index = 0,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT:
        """np.nanstd."""
        return self._value(plan(x, ["std"], axis, keepdims, omit_nan=True, ddof=ddof), **call)

    def nanargmin(
        self,
        x: Any,
        axis: Index | None = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT:
        """np.nanargmin."""
        planned = plan(x, ["argmin"], _one_axis(axis), keepdims, omit_nan=True)
        return self._value(planned._replace(refuses_all_nan=True), **call)

    def nanargmax(
        self,
        x: Any,
        axis: Index | None = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT:
        """np.nanargmax."""
        planned = plan(x, ["argmax"], _one_axis(axis), keepdims, omit_nan=True)
        return self._value(planned._replace(refuses_all_nan=True), **call)


def _one_axis(axis: Axis) -> Axis:
    if isinstance(axis, tuple):
        raise TypeError(f"axis is {axis}, but an index is along one axis or over all")
    return axis


def _norm_op(x: Any, ord: Ord, axis: Axis) -> str:
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
