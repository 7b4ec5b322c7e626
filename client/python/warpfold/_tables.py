"""pandas', polars' and pyarrow's arrays and tables, whose elements may be missing, as NumPy's.

Missing elements are left out; NumPy would make them NaN, and round integers for it. None of the
libraries is imported: whoever has one of its arrays has done so.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["columns_of", "numbers_of", "of_arrow", "of_pandas", "of_polars"]


def columns_of(x: Any) -> Mapping[Any, Any] | None:
    """The tensors of a mapping or a table by their names; None: `x` is a tensor itself.

    ValueError when two columns have the same name.
    """
    if isinstance(x, Mapping):
        return x
    library = type(x).__module__.partition(".")[0]
    if library == "pandas" and isinstance(x, sys.modules["pandas"].DataFrame):
        names, columns = list(x.columns), [x.iloc[:, place] for place in range(x.shape[1])]
    elif library == "polars" and isinstance(x, sys.modules["polars"].DataFrame):
        names, columns = x.columns, x.get_columns()
    elif library == "pyarrow" and _is_table(x):
        names, columns = x.column_names, x.columns
    else:
        return None
    by_name = dict(zip(names, columns))
    if len(by_name) < len(names):
        raise ValueError(f"columns of a {type(x).__name__} have the same name: {names}")
    return by_name


def numbers_of(x: Any) -> str:
    """What to pass instead of a table with columns that are no numbers; empty: `x` is none."""
    instead = {
        "pandas": "x.select_dtypes('number')",
        "polars": "x.select(polars.selectors.numeric())",
        "pyarrow": "x.select([names of the others])",
    }
    return instead.get(type(x).__module__.partition(".")[0], "")


def of_arrow(x: Any, whole: bool) -> Any:
    """TypeError for other types than numbers and, with `whole`, for nulls."""
    arrow = sys.modules["pyarrow"]
    if isinstance(x, arrow.Scalar):
        return x.as_py()
    if isinstance(x, arrow.ChunkedArray):
        x = x.combine_chunks()
    if _is_table(x):
        for name, column in zip(x.column_names, x.columns):
            if column.null_count:
                raise _nulls_of_column(x, name, column.null_count, "x.drop_null()")
        return np.asarray(x)
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
            raise _nulls("pyarrow array", x.null_count, "x.drop_null() or x.fill_null(value)")
        x = x.drop_null()
    return x.to_numpy(zero_copy_only=False)


def _is_table(x: Any) -> bool:
    arrow = sys.modules["pyarrow"]
    return isinstance(x, (arrow.Table, arrow.RecordBatch))


def of_pandas(x: Any, whole: bool) -> Any:
    """TypeError, with `whole`, for nulls."""
    if isinstance(x, sys.modules["pandas"].DataFrame):
        if all(isinstance(dtype, np.dtype) for dtype in x.dtypes):
            return np.asarray(x)
        columns = []
        for name, column in x.items():
            missing = _missing(column)
            if missing:
                raise _nulls_of_column(x, name, missing, "x.dropna() or x.fillna(value)")
            columns.append(np.asarray(of_pandas(column, whole)))
        return np.column_stack(columns)
    missing = _missing(x)
    if missing:
        if whole:
            kind = f"pandas {type(x).__name__}"
            raise _nulls(kind, missing, "x.dropna() or x.fillna(value)")
        x = x.dropna()
    own = getattr(getattr(x, "dtype", None), "numpy_dtype", None)
    return x if own is None or own.kind not in "biuf" else x.to_numpy(own)


def of_polars(x: Any, whole: bool) -> Any:
    """TypeError for other types than numbers and, with `whole`, for nulls."""
    polars = sys.modules["polars"]
    if isinstance(x, polars.LazyFrame):
        raise TypeError("cannot reduce a LazyFrame of polars; pass x.collect()")
    if isinstance(x, polars.DataFrame):
        columns = []
        for column in x.get_columns():
            nulls = column.null_count()
            if nulls:
                instead = "x.drop_nulls() or x.fill_null(value)"
                raise _nulls_of_column(x, column.name, nulls, instead)
            columns.append(of_polars(column, whole))
        return np.column_stack(columns) if columns else np.empty((0, 0))
    if not isinstance(x, polars.Series):
        return x
    if not (x.dtype.is_integer() or x.dtype.is_float() or x.dtype == polars.Boolean):
        instead = "x.cast(polars.Float64)"
        if x.dtype.is_nested():
            instead = "its elements: x.explode()"
        elif x.dtype.is_temporal():
            instead = "what it counts: x.to_physical()"
        raise TypeError(f"cannot reduce dtype {x.dtype} of polars; pass numbers, such as {instead}")
    nulls = x.null_count()
    if nulls:
        if whole:
            raise _nulls("polars Series", nulls, "x.drop_nulls() or x.fill_null(value)")
        x = x.drop_nulls()
    return x.to_numpy()


def _missing(x: Any) -> int:
    """How many elements are not there: of dtypes that know it, where NaN is a number."""
    dtype = getattr(x, "dtype", None)
    if dtype is None or isinstance(dtype, np.dtype):
        return 0
    if dtype.na_value is not sys.modules["pandas"].NA and not hasattr(dtype, "categories"):
        return 0
    return int(x.isna().sum())


def _nulls(kind: str, count: int, instead: str) -> TypeError:
    return TypeError(
        f"cannot leave out the {count} nulls of a {kind} where elements have their places; pass "
        f"{instead}"
    )


def _nulls_of_column(x: Any, name: Any, count: int, instead: str) -> TypeError:
    return TypeError(
        f"cannot leave out the {count} nulls of column {name!r} of a {type(x).__name__}, whose "
        f"columns are of one length; pass columns one by one, as x[{name!r}], or {instead}"
    )
