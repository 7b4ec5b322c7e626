"""The contract's dtypes as NumPy's."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from . import _contract
from ._catalogue import RESULTS

__all__ = [
    "FLOAT8",
    "OF_ML_DTYPES",
    "dtype_named",
    "dtype_number",
    "dtype_refusal",
    "on_wire",
    "own_name",
    "result_dtype",
]

# Those that NumPy has none of; they are the package ml_dtypes'.
OF_ML_DTYPES = frozenset(_contract.DTYPES) - {np.dtype(c).name for c in np.typecodes["All"]}
# Of 8 bits, whose numbers are float16's.
FLOAT8 = frozenset(name for name in OF_ML_DTYPES if name.startswith("float8_"))


@lru_cache(maxsize=64)  # a dtype takes 2 us to tell its name
def dtype_number(dtype: np.dtype[Any]) -> int | None:
    """The contract's number of `dtype`, None when it has none."""
    return _contract.DTYPES.get(dtype.name)


def own_name(x: Any) -> str:
    """What an array's library calls its dtype: "float32" of "torch.float32". "" of none."""
    return str(getattr(x, "dtype", "")).rpartition(".")[2]


def dtype_refusal(dtype: np.dtype[Any] | str) -> TypeError:
    """What to raise for one that the contract has not: it says what to pass instead."""
    names = ", ".join(_contract.DTYPES)
    return TypeError(f"cannot reduce dtype {dtype}; {_instead_of(dtype)}; the contract has {names}")


def _instead_of(dtype: np.dtype[Any] | str) -> str:
    name = dtype if isinstance(dtype, str) else dtype.name
    kind = "" if isinstance(dtype, str) else dtype.kind
    if name.startswith("complex") or name.startswith("clongdouble"):
        return "pass x.real and x.imag, or abs(x)"
    if name.startswith(("float8", "float6", "float4")):
        return "it is not there yet, so pass x as float32, which holds each of its values"
    if kind in ("m", "M"):
        return "pass what it counts: x.view(numpy.int64)"
    if kind in ("S", "T", "U"):
        return "pass numbers, and no text"
    if kind == "V" and not isinstance(dtype, str) and dtype.names:
        return f"pass one of its fields: x[{dtype.names[0]!r}]"
    return "pass numbers of one that it has, such as x.astype(numpy.float64)"


@lru_cache(maxsize=64)
def on_wire(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The little-endian twin of `dtype`."""
    return dtype.newbyteorder("<")


@lru_cache(maxsize=64)
def dtype_named(name: str) -> np.dtype[Any]:
    """The native dtype. ImportError when it is one of ml_dtypes, and that is not there."""
    if name not in OF_ML_DTYPES:
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError as error:
        raise ImportError(f"{name} is a dtype of ml_dtypes: pip install ml_dtypes") from error
    dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return dtype


@lru_cache(maxsize=256)
def result_dtype(op: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Of an op's results of elements of `dtype`, by the table at the contract's Op."""
    name = RESULTS[op].get(dtype.name)
    return dtype if name is None else np.dtype(name)
