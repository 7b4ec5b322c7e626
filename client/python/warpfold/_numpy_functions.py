"""NumPy's functions, for both clients. Made by tools/catalogue/generate.py; not to be edited."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from ._arrays import Axis, Real
from ._forms import Out
from ._request import plan
from ._words import (
    CallOptions,
    Calls,
    DescribedT,
    FloatT,
    Index,
    IndexT,
    NumberT,
    ReductionT,
    TruthT,
    ValueT,
    freedom,
    one_axis,
)

if TYPE_CHECKING:
    from numpy.typing import DTypeLike
    from typing_extensions import Unpack

    from ._words import FreedomOptions, ScalarOptions

__all__ = ["NumpyFunctions"]


class NumpyFunctions(Calls[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT]):
    """NumPy's functions that are an op, and those that leave NaN out."""

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
        ddof: Real = 0,
        *,
        keepdims: bool = False,
        correction: Real | None = None,
        **call: Unpack[CallOptions],
    ) -> ValueT: ...

    def var(
        self,
        x: Any,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: Out = None,
        ddof: Real = 0,
        *,
        keepdims: bool = False,
        correction: Real | None = None,
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
        ddof: Real = 0,
        *,
        keepdims: bool = False,
        correction: Real | None = None,
        **call: Unpack[CallOptions],
    ) -> ValueT: ...

    def std(
        self,
        x: Any,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: Out = None,
        ddof: Real = 0,
        *,
        keepdims: bool = False,
        correction: Real | None = None,
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
    def count_nonzero(self, x: Any, axis: None = None, **call: Unpack[ScalarOptions]) -> IndexT: ...

    @overload
    def count_nonzero(
        self, x: Any, axis: Axis = None, *, keepdims: bool = False, **call: Unpack[CallOptions]
    ) -> ValueT: ...

    def count_nonzero(
        self, x: Any, axis: Axis = None, *, keepdims: bool = False, **call: Unpack[CallOptions]
    ) -> IndexT | ValueT:
        """np.count_nonzero."""
        return self._value("count_nonzero", plan(x, ["count_nonzero"], axis, keepdims), call)

    @overload
    def any(self, x: Any, axis: None = None, **call: Unpack[ScalarOptions]) -> TruthT: ...

    @overload
    def any(
        self,
        x: Any,
        axis: Axis = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT: ...

    def any(
        self,
        x: Any,
        axis: Axis = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> TruthT | ValueT:
        """np.any."""
        return self._value("any", plan(x, ["any"], axis, keepdims), call, None, out)

    @overload
    def all(self, x: Any, axis: None = None, **call: Unpack[ScalarOptions]) -> TruthT: ...

    @overload
    def all(
        self,
        x: Any,
        axis: Axis = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT: ...

    def all(
        self,
        x: Any,
        axis: Axis = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> TruthT | ValueT:
        """np.all."""
        return self._value("all", plan(x, ["all"], axis, keepdims), call, None, out)

    @overload
    def argmin(self, x: Any, axis: None = None, **call: Unpack[ScalarOptions]) -> IndexT: ...

    @overload
    def argmin(
        self,
        x: Any,
        axis: Index | None = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT: ...

    def argmin(
        self,
        x: Any,
        axis: Index | None = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> IndexT | ValueT:
        """np.argmin."""
        return self._value("argmin", plan(x, ["argmin"], one_axis(axis), keepdims), call, None, out)

    @overload
    def argmax(self, x: Any, axis: None = None, **call: Unpack[ScalarOptions]) -> IndexT: ...

    @overload
    def argmax(
        self,
        x: Any,
        axis: Index | None = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT: ...

    def argmax(
        self,
        x: Any,
        axis: Index | None = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> IndexT | ValueT:
        """np.argmax."""
        return self._value("argmax", plan(x, ["argmax"], one_axis(axis), keepdims), call, None, out)

    @overload
    def ptp(self, x: Any, axis: None = None, **call: Unpack[ScalarOptions]) -> NumberT: ...

    @overload
    def ptp(
        self,
        x: Any,
        axis: Axis = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT: ...

    def ptp(
        self,
        x: Any,
        axis: Axis = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> NumberT | ValueT:
        """np.ptp.

        Of signed integers it is of the unsigned dtype of their size, which holds each.

        >>> print(client.ptp(np.array([-128, 127], np.int8)))
        255
        """
        return self._value("ptp", plan(x, ["ptp"], axis, keepdims), call, None, out)

    @overload
    def nansum(self, x: Any, axis: None = None, **call: Unpack[ScalarOptions]) -> NumberT: ...

    @overload
    def nansum(
        self,
        x: Any,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT: ...

    def nansum(
        self,
        x: Any,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> NumberT | ValueT:
        """np.nansum."""
        return self._value(
            "nansum", plan(x, ["sum"], axis, keepdims, omit_nan=True), call, dtype, out
        )

    @overload
    def nanmin(self, x: Any, axis: None = None, **call: Unpack[ScalarOptions]) -> NumberT: ...

    @overload
    def nanmin(
        self,
        x: Any,
        axis: Axis = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT: ...

    def nanmin(
        self,
        x: Any,
        axis: Axis = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> NumberT | ValueT:
        """np.nanmin."""
        return self._value(
            "nanmin", plan(x, ["min"], axis, keepdims, omit_nan=True), call, None, out
        )

    @overload
    def nanmax(self, x: Any, axis: None = None, **call: Unpack[ScalarOptions]) -> NumberT: ...

    @overload
    def nanmax(
        self,
        x: Any,
        axis: Axis = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT: ...

    def nanmax(
        self,
        x: Any,
        axis: Axis = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> NumberT | ValueT:
        """np.nanmax."""
        return self._value(
            "nanmax", plan(x, ["max"], axis, keepdims, omit_nan=True), call, None, out
        )

    @overload
    def nanmean(self, x: Any, axis: None = None, **call: Unpack[ScalarOptions]) -> FloatT: ...

    @overload
    def nanmean(
        self,
        x: Any,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT: ...

    def nanmean(
        self,
        x: Any,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> FloatT | ValueT:
        """np.nanmean."""
        return self._value(
            "nanmean", plan(x, ["mean"], axis, keepdims, omit_nan=True), call, dtype, out
        )

    @overload
    def nanprod(self, x: Any, axis: None = None, **call: Unpack[ScalarOptions]) -> NumberT: ...

    @overload
    def nanprod(
        self,
        x: Any,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT: ...

    def nanprod(
        self,
        x: Any,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> NumberT | ValueT:
        """np.nanprod."""
        return self._value(
            "nanprod", plan(x, ["prod"], axis, keepdims, omit_nan=True), call, dtype, out
        )

    @overload
    def nanvar(self, x: Any, axis: None = None, **call: Unpack[FreedomOptions]) -> FloatT: ...

    @overload
    def nanvar(
        self,
        x: Any,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: Out = None,
        ddof: Real = 0,
        *,
        keepdims: bool = False,
        correction: Real | None = None,
        **call: Unpack[CallOptions],
    ) -> ValueT: ...

    def nanvar(
        self,
        x: Any,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: Out = None,
        ddof: Real = 0,
        *,
        keepdims: bool = False,
        correction: Real | None = None,
        **call: Unpack[CallOptions],
    ) -> FloatT | ValueT:
        """np.nanvar."""
        return self._value(
            "nanvar",
            plan(x, ["var"], axis, keepdims, omit_nan=True, ddof=freedom(ddof, correction)),
            call,
            dtype,
            out,
        )

    @overload
    def nanstd(self, x: Any, axis: None = None, **call: Unpack[FreedomOptions]) -> FloatT: ...

    @overload
    def nanstd(
        self,
        x: Any,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: Out = None,
        ddof: Real = 0,
        *,
        keepdims: bool = False,
        correction: Real | None = None,
        **call: Unpack[CallOptions],
    ) -> ValueT: ...

    def nanstd(
        self,
        x: Any,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: Out = None,
        ddof: Real = 0,
        *,
        keepdims: bool = False,
        correction: Real | None = None,
        **call: Unpack[CallOptions],
    ) -> FloatT | ValueT:
        """np.nanstd."""
        return self._value(
            "nanstd",
            plan(x, ["std"], axis, keepdims, omit_nan=True, ddof=freedom(ddof, correction)),
            call,
            dtype,
            out,
        )

    @overload
    def nanargmin(self, x: Any, axis: None = None, **call: Unpack[ScalarOptions]) -> IndexT: ...

    @overload
    def nanargmin(
        self,
        x: Any,
        axis: Index | None = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT: ...

    def nanargmin(
        self,
        x: Any,
        axis: Index | None = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> IndexT | ValueT:
        """np.nanargmin."""
        planned = plan(x, ["argmin"], one_axis(axis), keepdims, omit_nan=True)
        return self._value("nanargmin", planned._replace(refuses_all_nan=True), call, None, out)

    @overload
    def nanargmax(self, x: Any, axis: None = None, **call: Unpack[ScalarOptions]) -> IndexT: ...

    @overload
    def nanargmax(
        self,
        x: Any,
        axis: Index | None = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT: ...

    def nanargmax(
        self,
        x: Any,
        axis: Index | None = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> IndexT | ValueT:
        """np.nanargmax."""
        planned = plan(x, ["argmax"], one_axis(axis), keepdims, omit_nan=True)
        return self._value("nanargmax", planned._replace(refuses_all_nan=True), call, None, out)
