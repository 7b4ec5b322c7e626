"""NumPy's reductions by name, once for both clients.

A method checks its arguments and plans the call here; a flow sends it, and each client has its own
way to `_do` a flow: `Client` returns values, `aio.Client` awaitables of values.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from ._arrays import Axis, Real
from ._contract import Op
from ._numpy_functions import NumpyFunctions
from ._request import plan
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
    norm_op,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._words import ScalarOptions

__all__ = ["Functions"]


class Functions(
    NumpyFunctions[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT],
):
    """NumPy's reductions. Arguments and result dtypes are NumPy's, with these differences:

    * An integer sum that does not fit its dtype raises OutOfRangeError; it never wraps. The ptp of
      signed integers does not, either: it is of the unsigned dtype of their size. That of booleans,
      which NumPy refuses, is whether they differ.
    * A result is the exact one, rounded once to its dtype: a sum of float32 is the real sum of the
      elements, to the nearest float32. The same input gives the same bits on every server whose
      `info().numerics_version` is the same.
    * A product of floats that is too close to the middle of two numbers to tell which is nearer
      raises DataLossError, which is rare.
    * `dtype` and `out` widen a result and never round it a second time: what would is a TypeError.
      They do not change how it is computed.
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
        ddof: Real = 0,
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
