"""The dtype and the array that a caller wants a result in: NumPy's `dtype` and `out`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Optional

import numpy as np

from ._dtypes import FLOAT8

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = ["Form", "Out", "widened"]

Out = Optional[np.ndarray[Any, Any]]
Form = Callable[[Any], Any]  # of a result


def widened(
    function: str, own: np.dtype[Any], shape: tuple[int, ...], dtype: DTypeLike | None, out: Out
) -> Form:
    """Makes of a result of dtype `own` what the caller wants. TypeError for what would round it."""
    wanted = own if dtype is None else np.dtype(dtype)
    _check(function, own, "dtype", wanted)
    if out is None:
        return lambda value: np.asarray(value).astype(wanted)[()]
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out is a {type(out).__name__}, not a numpy.ndarray")
    if out.shape != shape:
        raise ValueError(f"out is of shape {out.shape}, but the result of {function}() of {shape}")
    if not out.flags.writeable:
        raise ValueError("out is read-only")
    _check(function, wanted, "out", out.dtype)

    def written(value: Any) -> Any:
        out[...] = value
        return out

    return written


def _check(function: str, own: np.dtype[Any], name: str, wanted: np.dtype[Any]) -> None:
    if not _holds(wanted, own):
        of = "" if name == "dtype" else "of dtype "
        yourself = "round" if own.kind == "f" and wanted.kind == "f" else "convert"
        raise TypeError(
            f"{name} is {of}{wanted}, which does not hold every {own}, the dtype of the result of "
            f"{function}(); leave {name} out, and {yourself} it: .astype({str(wanted)!r})"
        )


def _holds(wide: np.dtype[Any], narrow: np.dtype[Any]) -> bool:
    """Whether each value of `narrow` is one of `wide`."""
    if wide == narrow:
        return True
    if wide == np.float16 and narrow.name in FLOAT8:  # ml_dtypes calls no such cast safe
        return True
    if wide.kind not in "biufc" or not np.can_cast(narrow, wide, "safe"):
        return False
    if narrow.kind not in "iu" or wide.kind not in "fc":
        return True
    return np.iinfo(narrow).max.bit_length() <= np.finfo(wide).nmant + 1  # NumPy lets int64 pass
