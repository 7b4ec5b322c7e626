"""NumPy's reductions by name, once for both clients.

A method checks its arguments and plans the call here; a flow sends it, and each client has its own
way to `_do` a flow: `Client` returns values, `aio.Client` awaitables of values.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from ._arrays import Axis, Whole
from ._contract import Op
from ._forms import Out
from ._nan_functions import NanFunctions
from ._request import plan
from ._searches import Searches
from ._words import (
    CallOptions,
    DescribedT,
    FloatT,
    IndexT,
    NumberT,
    Ord,
    ReductionT,
    TruthT,
    ValueT,
    check_words,
    freedom,
    norm_op,
)

if TYPE_CHECKING:
    from numpy.typing import DTypeLike
    from typing_extensions import Unpack

    from ._words import FreedomOptions, ScalarOptions

__all__ = ["Functions"]


class Functions(
    NanFunctions[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT],
    Searches[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT],
):
    """NumPy's reductions. Arguments and result dtypes are NumPy's, with these differences:

    * An integer sum that does not fit its dtype raises OutOfRangeError; it never wraps.
    * A result is the exact one, rounded once to its dtype: a sum of float32 is the real sum of the
      elements, to the nearest float32. The same input gives the same bits on every server whose
      `info().numerics_version` is the same.
    * A product of floats that is too close to the middle of two numbers to tell which is nearer
      raises DataLossError, which is rare.
    * `dtype` and `out` widen a result and never round it a second time: what would is a TypeError.
      They do not change how it is computed.
    * `ddof` and `correction` are whole numbers, of whatever type.
    * There are no RuntimeWarnings: the mean of nothing is NaN without one, as is the nanmin of
      nothing but NaN.

    Every method also takes `timeout`, in seconds without progress (see `connect`), instead of the
    client's own, and `progress`, a callable that is told (bytes_done, bytes_total) while a large
    tensor is sent. It may be called on another thread, and starts over when a call is tried again.
    """

    def reduce(
        self,
        x: Any,
        ops: Sequence[Op],
        axis: Axis = None,
        *,
        keepdims: bool = False,
        omit_nan: bool = False,
        ddof: Whole = 0,
        request_id: str = "",
        **call: Unpack[CallOptions],
    ) -> ReductionT:
        """Several ops in one pass over the data, as a `Reduction`: a dict of the results by op.

        >>> answer = client.reduce([[1.0, 2.0], [3.0, 6.0]], ["min", "mean"], axis=1)
        >>> print(answer["min"], answer["mean"])
        [1. 3.] [1.5 4.5]

        `info().ops` lists the ops that the server has, and for type checkers `warpfold.Op` is any
        of the contract's: a list that is named is a list[warpfold.Op]. `omit_nan` is what tells
        nansum from sum; `ddof` is for "var" and "std"; `request_id` is echoed and logged by the
        server.
        """
        planned = plan(x, ops, axis, keepdims, omit_nan=omit_nan, ddof=ddof, request_id=request_id)
        check_words("reduce", call)
        reduction: ReductionT = self._do(self._flows.reduction(planned, **call), "reduce")
        return reduction

    @overload
    def describe(
        self, x: Mapping[Any, Any], axis: Axis = None, **call: Unpack[CallOptions]
    ) -> DescribedT: ...

    @overload
    def describe(self, x: Any, axis: Axis = None, **call: Unpack[CallOptions]) -> ReductionT: ...

    def describe(
        self, x: Any, axis: Axis = None, **call: Unpack[CallOptions]
    ) -> ReductionT | DescribedT:
        """The statistics of `x` that the server has, in one pass.

        Leaves out what does not exist: the minimum of nothing, a sum that does not fit its dtype.

        >>> found = client.describe(np.array([1.0, 2.0, 6.0]))
        >>> print(found["min"], found["mean"], found["max"])
        1.0 3.0 6.0

        Of a mapping, such as a PyTorch module's state_dict(), those of each of its tensors, by the
        same names; so of the columns of pandas' and polars' DataFrames and of pyarrow's
        tables. `timeout` and `progress` are each tensor's.

        >>> found = client.describe({"weight": np.ones((2, 3)), "bias": np.zeros(3)})
        >>> print(found["weight"]["sum"], found["bias"]["max"])
        6.0 0.0
        """
        check_words("describe", call)
        described: ReductionT | DescribedT = self._do(
            self._flows.describe(x, axis, **call), "describe"
        )
        return described

    @overload
    def sum(self, x: Any, axis: None = None, **call: Unpack[ScalarOptions]) -> NumberT: ...

    @overload
    def sum(
        self,
        x: Any,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT: ...

    def sum(
        self,
        x: Any,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> NumberT | ValueT:
        """np.sum.

        >>> print(client.sum([[1, 2], [3, 4]], axis=0))
        [4 6]
        """
        return self._value("sum", plan(x, ["sum"], axis, keepdims), call, dtype, out)

    @overload
    def mean(self, x: Any, axis: None = None, **call: Unpack[ScalarOptions]) -> FloatT: ...

    @overload
    def mean(
        self,
        x: Any,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT: ...

    def mean(
        self,
        x: Any,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> FloatT | ValueT:
        """np.mean.

        >>> print(client.mean(np.arange(4)))
        1.5
        """
        return self._value("mean", plan(x, ["mean"], axis, keepdims), call, dtype, out)

    @overload
    def min(self, x: Any, axis: None = None, **call: Unpack[ScalarOptions]) -> NumberT: ...

    @overload
    def min(
        self,
        x: Any,
        axis: Axis = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT: ...

    def min(
        self,
        x: Any,
        axis: Axis = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> NumberT | ValueT:
        """np.min.

        >>> print(client.min([[1.5, 2], [3, 0.5]], axis=1, keepdims=True))
        [[1.5]
         [0.5]]
        """
        return self._value("min", plan(x, ["min"], axis, keepdims), call, None, out)

    @overload
    def max(self, x: Any, axis: None = None, **call: Unpack[ScalarOptions]) -> NumberT: ...

    @overload
    def max(
        self,
        x: Any,
        axis: Axis = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT: ...

    def max(
        self,
        x: Any,
        axis: Axis = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> NumberT | ValueT:
        """np.max."""
        return self._value("max", plan(x, ["max"], axis, keepdims), call, None, out)

    @overload
    def prod(self, x: Any, axis: None = None, **call: Unpack[ScalarOptions]) -> NumberT: ...

    @overload
    def prod(
        self,
        x: Any,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT: ...

    def prod(
        self,
        x: Any,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> NumberT | ValueT:
        """np.prod."""
        return self._value("prod", plan(x, ["prod"], axis, keepdims), call, dtype, out)

    @overload
    def var(self, x: Any, axis: None = None, **call: Unpack[FreedomOptions]) -> FloatT: ...

    @overload
    def var(
        self,
        x: Any,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: Out = None,
        ddof: Whole = 0,
        *,
        keepdims: bool = False,
        correction: Whole | None = None,
        **call: Unpack[CallOptions],
    ) -> ValueT: ...

    def var(
        self,
        x: Any,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: Out = None,
        ddof: Whole = 0,
        *,
        keepdims: bool = False,
        correction: Whole | None = None,
        **call: Unpack[CallOptions],
    ) -> FloatT | ValueT:
        """np.var."""
        return self._value(
            "var",
            plan(x, ["var"], axis, keepdims, ddof=freedom(ddof, correction)),
            call,
            dtype,
            out,
        )

    @overload
    def std(self, x: Any, axis: None = None, **call: Unpack[FreedomOptions]) -> FloatT: ...

    @overload
    def std(
        self,
        x: Any,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: Out = None,
        ddof: Whole = 0,
        *,
        keepdims: bool = False,
        correction: Whole | None = None,
        **call: Unpack[CallOptions],
    ) -> ValueT: ...

    def std(
        self,
        x: Any,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: Out = None,
        ddof: Whole = 0,
        *,
        keepdims: bool = False,
        correction: Whole | None = None,
        **call: Unpack[CallOptions],
    ) -> FloatT | ValueT:
        """np.std."""
        return self._value(
            "std",
            plan(x, ["std"], axis, keepdims, ddof=freedom(ddof, correction)),
            call,
            dtype,
            out,
        )

    @overload
    def norm(
        self, x: Any, ord: Ord = None, axis: None = None, **call: Unpack[ScalarOptions]
    ) -> FloatT: ...

    @overload
    def norm(
        self,
        x: Any,
        ord: Ord = None,
        axis: Axis = None,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT: ...

    def norm(
        self,
        x: Any,
        ord: Ord = None,
        axis: Axis = None,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> FloatT | ValueT:
        """np.linalg.norm of vectors: `ord` None or 2, the root of the sum of squares, or 1."""
        return self._value("norm", plan(x, [norm_op(x, ord, axis)], axis, keepdims), call)


# Python names them in its errors, and a pickle does: by a class that users have.
for _name, _function in inspect.getmembers(Functions, inspect.isfunction):
    if not _name.startswith("_"):
        _function.__module__, _function.__qualname__ = "warpfold", f"Client.{_name}"
