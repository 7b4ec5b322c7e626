"""pandas', polars' and pyarrow's arrays and tables, with and without nulls, where installed."""

import numpy as np
import pytest
from conftest import SEED

X = np.random.default_rng(SEED).integers(1, 50, (3, 4, 5)).astype(np.float32)


@pytest.fixture(scope="module")
def arrow():
    return pytest.importorskip("pyarrow")


@pytest.mark.parametrize("type", ["int8", "uint16", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("chunked", [False, True])
def test_nulls_of_pyarrow_are_missing(client, arrow, type, chunked):
    values = [3, None, 5, None, 1, 4]
    x = arrow.array(values).cast(getattr(arrow, type)())
    if chunked:
        x = arrow.chunked_array([x[:2], x[2:]])
    there = np.array([v for v in values if v is not None], type)
    for name in "sum mean min max prod var std any all count_nonzero norm nansum".split():
        numpys = np.linalg.norm if name == "norm" else getattr(np, name)
        got = getattr(client, name)(x)
        np.testing.assert_allclose(got, numpys(there.astype(np.float64)), rtol=1e-3)
        assert got.dtype == getattr(client, name)(there).dtype
    assert client.describe(x) == client.describe(there)


def test_large_integers_beside_nulls_are_exact_and_nan_is_no_null(client, arrow):
    large = 2**62 + 1
    assert client.max(arrow.array([large, None])) == large
    x = arrow.array([1.0, float("nan"), None])
    assert np.isnan(client.sum(x)) and client.nansum(x) == 1.0
    assert client.describe(x)["nan_count"] == 1


def test_booleans_of_pyarrow(client, arrow):
    for values in ([True, False, True], [True, None, False, None]):
        x = arrow.array(values)
        assert client.sum(x) == client.count_nonzero(x) == values.count(True)
        assert client.any(x) and not client.all(x)
    assert client.all(arrow.array([True] * 9 + [None])[3:])
    assert client.sum(arrow.array([True, False] * 9)[3:8]) == 2


def test_nothing_but_nulls_is_nothing(client, arrow):
    x = arrow.array([None, None], arrow.float32())
    assert client.sum(x) == 0
    assert "max" not in client.describe(x)


def test_other_arrays_of_pyarrow(client, arrow):
    assert client.sum(arrow.array([7, 7, None]).dictionary_encode()) == 14
    assert client.sum(arrow.scalar(3)) == 3
    assert client.sum(arrow.Tensor.from_numpy(X)) == X.sum()
    assert client.sum(arrow.chunked_array([], arrow.int32())) == 0
    with client.put(arrow.array([1, 2])) as tensor:
        assert tensor.sum() == 3


def test_nulls_have_no_place_where_places_count(fake, either_client, arrow):
    client = either_client(fake.target)
    x = arrow.array([3, None, 1])
    part = {"whole_shape": (3,), "offset": 0}
    for use in (
        client.argmin,
        client.nanargmax,
        client.put,
        lambda x: client.reduce(x, ["sum", "argmax"]),
        lambda x: client.reduce_part(x, ["sum"], **part),
    ):
        with pytest.raises(TypeError, match=r"the 1 nulls of a pyarrow array .*x.drop_null\(\)"):
            use(x)
    assert fake.calls == []


def test_types_of_pyarrow_that_are_no_numbers_say_what_to_pass(fake, fake_client, arrow):
    for x, message in [
        (arrow.array(["a"]), r"string of pyarrow; .*x.cast\('float64'\)"),
        (arrow.array([1]).cast(arrow.decimal128(25, 2)), r"decimal128\(25, 2\) of pyarrow"),
        (arrow.array([1], arrow.timestamp("s")), r"timestamp\[s\] of .*x.cast\('int64'\)"),
        (arrow.array([[1, 2], [3]]), r"list<.*> of pyarrow; .*x.flatten\(\)"),
        (arrow.nulls(3), "null of pyarrow"),
    ]:
        with pytest.raises(TypeError, match=f"^cannot reduce dtype {message}"):
            fake_client.sum(x)
    assert fake.calls == []


LARGE = 2**53 + 1  # which float64 does not hold


@pytest.fixture(scope="module")
def pandas():
    return pytest.importorskip("pandas")


@pytest.mark.parametrize("dtype", ["Int64", "int64[pyarrow]", "UInt64", "category"])
@pytest.mark.parametrize("kind", ["Series", "Index", "array"])
def test_nulls_of_pandas_are_missing_and_the_rest_is_exact(client, pandas, arrow, dtype, kind):
    if dtype == "category":
        x = pandas.Categorical.from_codes([0, -1, 1], categories=[LARGE, 1])
    else:
        x = pandas.array([LARGE, None, 1], dtype=dtype)
    x = x if kind == "array" else getattr(pandas, kind)(x)
    assert (client.max(x), client.nanmax(x), client.sum(x)) == (LARGE, LARGE, LARGE + 1)
    assert client.describe(x) == client.describe(np.array([LARGE, 1], client.max(x).dtype))
    assert client.max(x).dtype.kind in "iu"
    for use in (client.argmax, client.put):
        with pytest.raises(TypeError, match=r"the 1 nulls of a pandas \w+ where .*x.dropna\(\)"):
            use(x)
    assert client.argmax(x.dropna()) == 0


def test_booleans_and_floats_of_pandas(client, pandas, arrow):
    for dtype in ("boolean", "bool[pyarrow]"):
        x = pandas.Series([True, None, False], dtype=dtype)
        assert (client.sum(x), client.any(x), client.all(x)) == (1, True, False)
        assert client.all(pandas.Series([True, None], dtype=dtype))
    x = pandas.Series([1.5, None], dtype="Float32")
    assert client.sum(x) == 1.5 and client.sum(x).dtype == np.float32
    assert np.isnan(client.sum(pandas.Series([1.5, None])))  # of NumPy's dtype: NaN is a number


def test_tables_without_nulls_are_two_dimensional_and_exact(client, pandas, arrow):
    table = arrow.table({"a": [LARGE, 3], "b": [1, 2]})
    frame = pandas.DataFrame({"a": pandas.array([LARGE, 3], dtype="Int64"), "b": [1, 2]})
    plain = pandas.DataFrame({"a": [LARGE, 3], "b": [1, 2]})
    for x in (table, table.to_batches()[0], frame, frame.astype("int64[pyarrow]"), plain):
        np.testing.assert_array_equal(client.max(x, axis=0), [LARGE, 2])
        np.testing.assert_array_equal(client.argmax(x, axis=0), [0, 1])


def test_nulls_of_tables_say_what_to_pass(fake, fake_client, pandas, arrow):
    table = arrow.table({"a": [1, 2], "b": [LARGE, None]})
    frame = pandas.DataFrame({"a": [1, 2], "b": pandas.array([LARGE, None], dtype="Int64")})
    for x, instead in [
        (table, r"x.drop_null\(\)"),
        (table.to_batches()[0], r"x.drop_null\(\)"),
        (frame, r"x.dropna\(\)"),
    ]:
        for use in (fake_client.sum, fake_client.nanmax, fake_client.put):
            with pytest.raises(TypeError, match=f"1 nulls of column 'b' .*x.'b'., or {instead}"):
                use(x)
    assert fake.calls == []


@pytest.fixture(scope="module")
def polars():
    return pytest.importorskip("polars")


@pytest.mark.parametrize("type", ["Int64", "UInt64", "Float32", "Int8"])
def test_nulls_of_polars_are_missing_and_the_rest_is_exact(client, polars, type):
    large = 100 if type == "Int8" else 2**24 if type == "Float32" else LARGE
    x = polars.Series([large, None, 1], dtype=getattr(polars, type))
    there = np.array([large, 1], type.lower())
    for name in "sum mean min max prod std any count_nonzero nansum nanmax".split():
        got = getattr(client, name)(x)
        assert got == getattr(client, name)(there)
        assert got.dtype == getattr(client, name)(there).dtype
    assert client.describe(x) == client.describe(there)
    for use in (client.argmax, client.put):
        with pytest.raises(TypeError, match=r"the 1 nulls of a polars Series .*x.drop_nulls\(\)"):
            use(x)
    assert client.argmax(x.drop_nulls()) == 0


def test_booleans_and_nan_of_polars(client, polars):
    assert client.all(polars.Series([True, None])) and client.sum(polars.Series([True, None])) == 1
    x = polars.Series([1.0, float("nan"), None])
    assert np.isnan(client.sum(x)) and client.nansum(x) == 1.0
    assert client.sum(polars.Series([], dtype=polars.Int32)) == 0


def test_dataframes_of_polars(client, polars):
    frame = polars.DataFrame({"a": [LARGE, 3], "b": [1, 2]})
    np.testing.assert_array_equal(client.max(frame, axis=0), [LARGE, 2])
    assert client.sum(polars.DataFrame()) == 0
    found = client.describe(polars.DataFrame({"small": [1, 2], "large": [LARGE, None]}))
    assert (found["small"]["sum"], found["large"]["max"]) == (3, LARGE)


def test_what_polars_has_that_is_no_number_says_what_to_pass(fake, fake_client, polars):
    frame = polars.DataFrame({"a": [1, 2], "b": [LARGE, None]})
    for x, message in [
        (polars.Series(["a"]), r"dtype String of polars; .*x.cast\(polars.Float64\)"),
        (polars.Series([[1], [2, 3]]), r"dtype List\(.*\) of polars; .*x.explode\(\)"),
        (polars.Series([1], dtype=polars.Date), r"dtype Date of polars; .*x.to_physical\(\)"),
        (polars.Series([None]), "dtype Null of polars"),
        (frame.lazy(), r"a LazyFrame of polars; pass x.collect\(\)"),
        (polars.col("a"), "a Expr; pass numbers"),
    ]:
        with pytest.raises(TypeError, match=f"^cannot reduce {message}"):
            fake_client.sum(x)
    for use in (fake_client.sum, fake_client.put):
        with pytest.raises(TypeError, match=r"1 nulls of column 'b' .*x.'b'., or x.drop_nulls\(\)"):
            use(frame)
    assert fake.calls == []


def test_an_array_of_xarray_has_no_nulls(client):
    xarray = pytest.importorskip("xarray")
    assert client.sum(xarray.DataArray(X)) == X.sum()


class Column:
    """Another library's, which NumPy reads with NaN in the place of nulls."""

    dtype = "Int64"

    def __init__(self, values):
        self._values = values

    def __array__(self, dtype=None, copy=None):
        return self._values


class Exported(Column):
    dtype = None

    def __arrow_c_stream__(self, requested_schema=None):
        raise NotImplementedError


def test_what_numpy_reads_as_another_dtype_does_not_pass_silently(fake, fake_client):
    assert fake_client.sum(Column(np.array([1, 2]))) is not None
    fake.calls.clear()
    for x, message in [
        (Column(np.array([1, np.nan])), "a Column of dtype Int64, which NumPy reads as float64"),
        (Exported(np.array([1, np.nan])), r"a Exported, .*pass pyarrow.chunked_array\(x\)"),
    ]:
        with pytest.raises(TypeError, match=f"^cannot reduce {message}"):
            fake_client.sum(x)
    assert fake.calls == []
