"""Tensors on the server as the array API and xarray see them."""

import inspect

import numpy as np
import pytest
from conftest import SEED

import warpfold
from warpfold import _namespace

STATISTICS = "sum prod mean var std min max".split()
SEARCHES = "argmin argmax count_nonzero".split()
UTILITIES = "all any".split()
RNG = np.random.default_rng(SEED)
ELEMENTS = {
    "bool": RNG.integers(0, 2, (3, 4, 5)).astype(bool),
    "int8": RNG.integers(-2, 3, (3, 4, 5), np.int8),
    "uint8": RNG.integers(1, 3, (3, 4, 5), np.uint8),
    "int64": RNG.integers(-2, 3, (3, 4, 5)),
    "float32": RNG.integers(-2, 3, (3, 4, 5)).astype(np.float32),
    "float64": RNG.integers(-2, 3, (3, 4, 5)).astype(np.float64),
}
# What the standard leaves undefined.
UNDEFINED = {
    "bool": {*STATISTICS, "argmin", "argmax"},
    **dict.fromkeys(["int8", "uint8", "int64"], {"mean", "var", "std"}),
}


@pytest.fixture(scope="module")
def strict():
    return pytest.importorskip("array_api_strict")


@pytest.mark.parametrize("name", [*STATISTICS, *SEARCHES, *UTILITIES])
def test_signatures_are_the_standards(strict, name):
    standard = inspect.signature(getattr(strict, name)).parameters
    own = inspect.signature(getattr(_namespace, name)).parameters
    for word, parameter in standard.items():
        assert (own[word].kind, own[word].default) == (parameter.kind, parameter.default)
    assert list(own)[0] == "x"
    assert set(own) - set(standard) <= {"ddof"}  # xarray's
    of_client = inspect.signature(getattr(warpfold.Client, name)).parameters
    assert set(standard) <= set(of_client)


@pytest.mark.parametrize(
    "name, dtype",
    [
        (name, dtype)
        for dtype in ELEMENTS
        for name in [*STATISTICS, *SEARCHES, *UTILITIES]
        if name not in UNDEFINED.get(dtype, ())
    ],
)
def test_results_are_those_of_the_strict_implementation(strict, client, name, dtype):
    x = ELEMENTS[dtype]
    axes = [None, 0, -1] + ([(0, 2), ()] if "arg" not in name else [])
    corrections = [{}, {"correction": 1}, {"correction": 2.0}] if name in ("var", "std") else [{}]
    with client.put(x) as tensor, client.put(x[:1]) as with_one:
        for axis in axes:
            for keepdims in (False, True):
                for options in corrections if axis != () else [{}]:
                    options = {"axis": axis, "keepdims": keepdims, **options}
                    of, on_server = (x[:1], with_one) if axis == () else (x, tensor)
                    expected = getattr(strict, name)(strict.asarray(of), **options)
                    for got in (
                        getattr(client, name)(of, **options),
                        getattr(on_server.__array_namespace__(), name)(on_server, **options),
                    ):
                        assert got.dtype == np.asarray(expected).dtype
                        assert got.shape == expected.shape
                        np.testing.assert_allclose(got, np.asarray(expected), rtol=1e-6)


def test_dtype_is_the_standards_word_too(strict, client):
    x = ELEMENTS["float32"]
    with client.put(x) as tensor:
        got = tensor.__array_namespace__().sum(tensor, axis=1, dtype=np.float64)
    expected = strict.sum(strict.asarray(x), axis=1, dtype=strict.float64)
    assert got.dtype == np.float64
    np.testing.assert_array_equal(got, np.asarray(expected))


def test_versions_are_the_standards(client):
    with client.put(ELEMENTS["int8"]) as tensor:
        assert tensor.__array_namespace__(api_version="2023.12") is _namespace
        for wrong in ("1.0", "2019.12", 2023):
            with pytest.raises(ValueError, match="^api_version is"):
                tensor.__array_namespace__(api_version=wrong)


def test_what_would_need_the_elements_is_not_in_the_namespace(client):
    with client.put(ELEMENTS["float32"]) as tensor, client.put(ELEMENTS["float32"]) as other:
        xp = tensor.__array_namespace__()
        with pytest.raises(AttributeError, match="no sort of a tensor on the server"):
            xp.sort(tensor)
        mask, zeros = xp.isnan(tensor), xp.zeros_like(tensor)
        for wrong in ((mask, zeros, other), (zeros, mask, tensor), (mask, tensor, zeros)):
            with pytest.raises(TypeError, match="no where"):
                xp.where(*wrong)
        for kept in (mask, zeros):
            with pytest.raises(TypeError, match="has no sum"):
                xp.sum(kept)
        with pytest.raises(TypeError, match="stays float32"):
            xp.astype(tensor, np.float64)
        with pytest.raises(TypeError, match="no full_like"):
            xp.full_like(tensor, True, dtype=xp.bool)


@pytest.mark.parametrize("name", "sum prod mean min max var std any all argmin argmax".split())
@pytest.mark.parametrize("dtype", ELEMENTS)
def test_xarray_reduces_it(client, name, dtype):
    xarray = pytest.importorskip("xarray")
    x = ELEMENTS[dtype].copy()
    if dtype.startswith("float"):
        x[0, 1, 2] = np.nan
    skips = [{}] if name in ("any", "all") else [{}, {"skipna": False}, {"skipna": True}]
    if dtype == "bool" and name in ("argmin", "argmax"):
        skips = skips[:2]  # NumPy's nanargmin refuses them
    dims = [{"dim": "y"}] + ([{}, {"dim": ["x", "z"]}] if "arg" not in name else [])
    with client.put(x) as tensor:
        on_server = xarray.DataArray(tensor, dims=("x", "y", "z"))
        here = xarray.DataArray(x, dims=("x", "y", "z"))
        for options in ({**skip, **dim} for skip in skips for dim in dims):
            expected = getattr(here, name)(**options)
            got = getattr(on_server, name)(**options)
            assert (got.dims, got.dtype) == (expected.dims, expected.dtype)
            np.testing.assert_allclose(got.values, expected.values, rtol=1e-6)
        if name in ("var", "std"):
            expected, got = (getattr(a, name)("x", ddof=1) for a in (here, on_server))
            np.testing.assert_allclose(got.values, expected.values, rtol=1e-6)


def test_xarray_reduces_a_data_set_of_them(client):
    xarray = pytest.importorskip("xarray")
    x = ELEMENTS["float64"]
    with client.put(x) as tensor:
        found = xarray.Dataset({"t": (("x", "y", "z"), tensor)}).mean("x")
    np.testing.assert_allclose(found["t"].values, x.mean(axis=0))
