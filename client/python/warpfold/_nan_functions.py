"""NumPy's nan* functions by name, once for both clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from ._arrays import Axis, Whole
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

__all__ = ["NanFunctions"]


class NanFunctions(Calls[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT]):
    """NumPy's reductions that leave NaN out."""

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
        ddof: Whole = 0,
        *,
        keepdims: bool = False,
        correction: Whole | None = None,
        **call: Unpack[CallOptions],
    ) -> ValueT: ...

    def nanvar(
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
        ddof: Whole = 0,
        *,
        keepdims: bool = False,
        correction: Whole | None = None,
        **call: Unpack[CallOptions],
    ) -> ValueT: ...

    def nanstd(
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
