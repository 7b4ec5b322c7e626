"""Other libraries' arrays, made such that NumPy's and the GPU's protocols read them.

None of the libraries is imported: whoever has one of its arrays has done so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ._contract import DTYPES
from ._dtypes import dtype_refusal, own_name
from ._tables import of_arrow, of_pandas, of_polars

__all__ = ["object_refusal", "of_numpy", "plain"]


def plain(x: Any, *, whole: bool) -> Any:
    """`x`, or its elements. TypeError, or ValueError for ragged ones, says what to pass instead.

    Missing elements are left out; with `whole` they are a TypeError.
    """
    if isinstance(x, (np.ndarray, np.generic)):
        return x
    library = type(x).__module__.partition(".")[0]
    if library == "pyarrow":
        return of_arrow(x, whole)
    if library == "pandas":
        return of_pandas(x, whole)
    if library == "polars":
        return of_polars(x, whole)
    if library == "awkward":
        return _of_awkward(x)
    if hasattr(type(x), "nnz"):  # SciPy's, CuPy's and those of the package sparse
        raise _sparse(x, "x.toarray() or x.todense()")
    if not hasattr(x, "__dlpack__"):
        return x
    if getattr(x, "requires_grad", False) is True:  # PyTorch exports no such tensor
        x = x.detach()
    if "sparse" in str(getattr(x, "layout", "")):
        raise _sparse(x, "x.to_dense()")
    name = own_name(x)
    if name.isidentifier() and name not in DTYPES:
        raise dtype_refusal(name)
    return x


def of_numpy(x: Any) -> np.ndarray[Any, Any]:
    """`x` as NumPy reads it. TypeError where that could put NaN in the place of nulls."""
    if isinstance(x, Mapping):
        raise TypeError(
            f"cannot reduce a {type(x).__name__}; pass its values one by one, or itself to describe"
        )
    exports = hasattr(x, "__arrow_c_stream__") or hasattr(x, "__arrow_c_array__")
    may_miss = not isinstance(getattr(x, "dtype", None), np.dtype)  # xarray exports, too
    of_pandas_itself = type(x).__module__.partition(".")[0] == "pandas"
    if exports and may_miss and not of_pandas_itself:  # of_pandas knows its nulls
        raise TypeError(
            f"cannot reduce a {type(x).__name__}, whose nulls NumPy does not know; pass "
            "pyarrow.chunked_array(x), or of a table pyarrow.table(x)"
        )
    try:
        array = np.asarray(x)
    except ValueError as error:
        if not isinstance(x, (list, tuple)) or "sequence" not in str(error):
            raise
        raise ValueError(
            f"cannot reduce a ragged {type(x).__name__}: its items differ in length; pass them one "
            "by one, a dict of them to describe, or all elements, as by numpy.concatenate(x)"
        ) from None
    own = _name_of(getattr(x, "dtype", None))
    if own in DTYPES and own != array.dtype.name:
        raise TypeError(
            f"cannot reduce a {type(x).__name__} of dtype {x.dtype}, which NumPy reads as "
            f"{array.dtype}; pass it as an array of its own dtype, without nulls"
        )
    return array


def _name_of(dtype: Any) -> str:
    """NumPy's name of it, as far as it has one: of "Int64", too."""
    if dtype is None:
        return ""
    try:
        name: str = np.dtype(dtype).name
    except TypeError:
        name = str(getattr(dtype, "name", dtype)).lower()
    return name


def object_refusal(x: Any, array: np.ndarray[Any, Any]) -> TypeError:
    """For what NumPy reads as `array`, of objects: its own type says more."""
    if not array.ndim and not hasattr(x, "dtype"):
        if isinstance(x, int):
            return TypeError(f"cannot reduce an int of {x.bit_length()} bits; pass up to 64")
        instead = "numbers, or an array of them"
        if hasattr(x, "state_dict"):
            instead = "the values of x.state_dict() one by one, or all to describe"
        elif isinstance(x, Iterable):
            instead = "list(x)"
        return TypeError(f"cannot reduce a {type(x).__name__}; pass {instead}")
    if isinstance(x, (list, tuple)):
        others = (e for e in array.flat if not isinstance(e, (int, float, complex, np.generic)))
        culprit = next((f"a {type(e).__name__}" for e in others), "an int of more than 64 bits")
        return TypeError(
            f"cannot reduce a {type(x).__name__} with {culprit} in it; pass numbers, such as "
            "numpy.array(x, float)"
        )
    if any(isinstance(element, (str, bytes)) for element in array.flat):
        dtype = getattr(x, "dtype", array.dtype)
        return TypeError(f"cannot reduce dtype {dtype}; pass numbers, and no text")
    return dtype_refusal(array.dtype)


def _sparse(x: Any, dense: str) -> TypeError:
    return TypeError(
        f"cannot reduce the sparse {type(x).__name__} of dtype {x.dtype}; pass its stored "
        f"elements, or all of them: {dense}"
    )


def _of_awkward(x: Any) -> Any:
    try:
        return np.asarray(x)
    except (TypeError, ValueError) as error:
        if "None" in str(error):
            raise TypeError(
                f"cannot reduce the awkward array of type {x.type}: elements are missing; pass "
                "awkward.drop_none(x), or awkward.fill_none(x, numpy.nan) to a nan* function"
            ) from error
        if "regular" not in str(error):
            raise TypeError(f"cannot reduce the awkward array of type {x.type}: {error}") from error
        raise ValueError(
            f"cannot reduce the ragged awkward array of type {x.type}: its rows differ in length; "
            "pass all elements, awkward.flatten(x, axis=None), or rows of one length, "
            "awkward.fill_none(awkward.pad_none(x, n, clip=True), numpy.nan), to a nan* function"
        ) from error
