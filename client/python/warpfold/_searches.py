"""NumPy's functions that search or judge, by name, once for both clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from ._arrays import Axis
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
    one_axis,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._words import ScalarOptions

__all__ = ["Searches"]


class Searches(Calls[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT]):
    """NumPy's reductions whose results are places, counts and truth values."""

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
    def count_nonzero(self, x: Any, axis: None = None, **call: Unpack[ScalarOptions]) -> IndexT: ...

    @overload
    def count_nonzero(
        self,
        x: Any,
        axis: Axis = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> ValueT: ...

    def count_nonzero(
        self,
        x: Any,
        axis: Axis = None,
        *,
        keepdims: bool = False,
        **call: Unpack[CallOptions],
    ) -> IndexT | ValueT:
        """np.count_nonzero."""
        return self._value("count_nonzero", plan(x, ["count_nonzero"], axis, keepdims), call)
