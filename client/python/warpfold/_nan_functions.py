"""NumPy's nan* functions by name, once for both clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._arrays import Axis, Whole
from ._forms import Out
from ._request import plan
from ._words import (
    CallOptions,
    Calls,
    DescribedT,
    Index,
    ReductionT,
    ValueT,
    freedom,
    one_axis,
)

if TYPE_CHECKING:
    from numpy.typing import DTypeLike
    from typing_extensions import Unpack

__all__ = ["NanFunctions"]


class NanFunctions(Calls[ValueT, ReductionT, DescribedT]):
    """NumPy's reductions that leave NaN out."""

    def nansum(
        self,
        x: Any,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT:
        """np.nansum."""
        return self._value(
            "nansum", plan(x, ["sum"], axis, keepdims, omit_nan=True), call, dtype, out
        )

    def nanmean(
        self,
        x: Any,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT:
        """np.nanmean."""
        return self._value(
            "nanmean", plan(x, ["mean"], axis, keepdims, omit_nan=True), call, dtype, out
        )

    def nanmin(
        self,
        x: Any,
        axis: Axis = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT:
        """np.nanmin."""
        return self._value(
            "nanmin", plan(x, ["min"], axis, keepdims, omit_nan=True), call, None, out
        )

    def nanmax(
        self,
        x: Any,
        axis: Axis = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT:
        """np.nanmax."""
        return self._value(
            "nanmax", plan(x, ["max"], axis, keepdims, omit_nan=True), call, None, out
        )

    def nanprod(
        self,
        x: Any,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT:
        """np.nanprod."""
        return self._value(
            "nanprod", plan(x, ["prod"], axis, keepdims, omit_nan=True), call, dtype, out
        )

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
    ) -> ValueT:
        """np.nanvar."""
        return self._value(
            "nanvar",
            plan(x, ["var"], axis, keepdims, omit_nan=True, ddof=freedom(ddof, correction)),
            call,
            dtype,
            out,
        )

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
    ) -> ValueT:
        """np.nanstd."""
        return self._value(
            "nanstd",
            plan(x, ["std"], axis, keepdims, omit_nan=True, ddof=freedom(ddof, correction)),
            call,
            dtype,
            out,
        )

    def nanargmin(
        self,
        x: Any,
        axis: Index | None = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT:
        """np.nanargmin."""
        planned = plan(x, ["argmin"], one_axis(axis), keepdims, omit_nan=True)
        return self._value("nanargmin", planned._replace(refuses_all_nan=True), call, None, out)

    def nanargmax(
        self,
        x: Any,
        axis: Index | None = None,
        out: Out = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT:
        """np.nanargmax."""
        planned = plan(x, ["argmax"], one_axis(axis), keepdims, omit_nan=True)
        return self._value("nanargmax", planned._replace(refuses_all_nan=True), call, None, out)
