"""Other libraries' arrays, made such that NumPy's and the GPU's protocols read them.

None of the libraries is imported: whoever has one of its arrays has done so.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ._contract import DTYPES
from ._dtypes import dtype_refusal

__all__ = ["plain"]


def plain(x: Any, *, whole: bool) -> Any:
    """`x`, or its elements. TypeError, or ValueError for ragged ones, says what to pass instead.

    Missing elements are left out; with `whole` they are a TypeError.
    """
    if isinstance(x, (np.ndarray, np.generic)):
        return x
    library = type(x).__module__.partition(".")[0]
    if library == "pyarrow":
        return _of_arrow(x, whole)
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
    name = str(getattr(x, "dtype", "")).rpartition(".")[2]  # of "torch.float32"
    if name.isidentifier() and name not in DTYPES:
        raise dtype_refusal(name)
    return x


def _sparse(x: Any, dense: str) -> TypeError:
    return TypeError(
        f"cannot reduce the sparse {type(x).__name__} of dtype {x.dtype}; pass its stored "
        f"elements, or all of them: {dense}"
    )


def _of_arrow(x: Any, whole: bool) -> Any:
    arrow = sys.modules["pyarrow"]
    if isinstance(x, arrow.Scalar):
        return x.as_py()
    if isinstance(x, arrow.ChunkedArray):
        x = x.combine_chunks()
    if not isinstance(x, arrow.Array):
        return x
    if isinstance(x, arrow.DictionaryArray):
        x = x.dictionary_decode()
    types = arrow.types
    if not (types.is_integer(x.type) or types.is_floating(x.type) or types.is_boolean(x.type)):
        instead = "x.cast('float64')"
        if types.is_nested(x.type):
            instead = "its elements: x.flatten()"
        elif types.is_temporal(x.type):
            instead = "what it counts: x.cast('int64'), or of 32 bits x.cast('int32')"
        raise TypeError(f"cannot reduce dtype {x.type} of pyarrow; pass numbers, such as {instead}")
    if x.null_count:
        if whole:
            raise TypeError(
                f"cannot leave out the {x.null_count} nulls of a pyarrow array where elements have "
                "their places; pass x.drop_null() or x.fill_null(value)"
            )
        x = x.drop_null()
    return x.to_numpy(zero_copy_only=False)


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
