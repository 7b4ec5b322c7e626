"""ptp and max_abs: NumPy's values, in dtypes that hold those of every integer."""

import asyncio

import numpy as np
import pytest
from conftest import SEED

import warpfold
import warpfold.aio

INTEGERS = [np.dtype(code) for code in "bhilBHIL"]
FLOATS = [np.dtype(code) for code in "efd"]
SHAPE = (6, 5, 4)


def elements(dtype):
    """Of the whole range of integers, with both ends of it; floats of many sizes."""
    rng = np.random.default_rng(SEED)
    if dtype.kind == "f":
        return (rng.standard_normal(SHAPE) * 2.0 ** rng.integers(-9, 9, SHAPE)).astype(dtype)
    ends = np.iinfo(dtype).min, np.iinfo(dtype).max
    x = rng.integers(*ends, SHAPE, dtype=dtype, endpoint=True)
    x[0, 0, :2] = ends
    return x


def unsigned(dtype):
    return np.dtype(f"u{dtype.itemsize}") if dtype.kind == "i" else dtype


def exact_ptp(x, axis=None, keepdims=False):
    """NumPy's of floats; of integers the difference of Python's numbers, which are of any size."""
    if x.dtype.kind == "f":
        return np.ptp(x, axis=axis, keepdims=keepdims)
    of = x.astype(object)
    ptp = of.max(axis=axis, keepdims=keepdims) - of.min(axis=axis, keepdims=keepdims)
    return np.asarray(ptp).astype(unsigned(x.dtype))[()]


def assert_same(got, expected):
    assert type(got) is type(expected)
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, (1, -1), ()])
@pytest.mark.parametrize("dtype", INTEGERS + FLOATS, ids=str)
def test_ptp_answers_as_numpys_and_never_wraps(client, dtype, axis, keepdims):
    x = elements(dtype)
    assert_same(client.ptp(x, axis, keepdims=keepdims), exact_ptp(x, axis, keepdims))


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS, ids=str)
def test_ptp_of_a_tensor_is_numpys_own_function_and_its_method(client, dtype):
    x = elements(dtype)
    with client.put(x) as tensor:
        for got in (np.ptp(tensor, 1), np.ptp(tensor, axis=1), tensor.ptp(1)):
            assert_same(got, exact_ptp(x, 1))
        assert_same(np.ptp(tensor, axis=(0, 2), keepdims=True), exact_ptp(x, (0, 2), True))
        assert_same(np.ptp(tensor), exact_ptp(x))


def test_asyncio_has_the_same(server):
    x = elements(np.dtype(np.int16))

    async def use():
        async with warpfold.aio.connect(server) as client:
            assert_same(await client.ptp(x, axis=0), exact_ptp(x, 0))
            found = await client.reduce(x, ["max_abs"])
            assert_same(found["max_abs"], np.uint16(2**15))
            async with await client.put(x) as tensor:
                assert_same(await np.ptp(tensor, axis=1), exact_ptp(x, 1))

    asyncio.run(use())


def test_out_holds_what_numpys_dtype_would_not(client):
    x = np.array([-128, 127], np.int8)
    out = np.zeros((), np.uint8)
    assert client.ptp(x, out=out) is out and out == 255
    wide = np.zeros((), np.int16)
    assert client.ptp(x, out=wide) is wide and wide == 255
    with pytest.raises(TypeError, match=r"^out is of dtype int8, .* uint8, .* ptp\(\)"):
        client.ptp(x, out=np.zeros((), np.int8))


@pytest.mark.parametrize("values", [[True, False], [True, True], [False]])
def test_of_booleans_they_are_whether_they_differ_and_whether_any_is_true(client, values):
    found = client.reduce(np.array(values), ["ptp", "max_abs"])
    assert_same(found["ptp"], np.bool_(len(set(values)) > 1))
    assert_same(found["max_abs"], np.bool_(any(values)))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(
    "values", [[np.inf, 1], [-np.inf, 1], [np.inf, np.inf], [-np.inf, np.inf], [1, np.nan], [-0.0]]
)
def test_special_floats_are_as_in_numpy(client, dtype, values):
    x = np.array(values, dtype)
    found = client.reduce(x, ["ptp", "max_abs"])
    with np.errstate(invalid="ignore"):
        assert_same(found["ptp"], np.ptp(x))
    assert_same(found["max_abs"], np.max(np.abs(x)))
    assert not np.signbit(found["max_abs"])


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS, ids=str)
def test_max_abs_holds_the_least_integer_too(client, dtype):
    x = elements(dtype)
    for axis in (None, 0, (1, 2)):
        largest = np.asarray(np.max(np.abs(x.astype(object)), axis=axis))
        expected = largest.astype(unsigned(dtype))[()]
        assert_same(client.reduce(x, ["max_abs"], axis)["max_abs"], expected)
    if dtype.kind == "i":
        least = np.array([np.iinfo(dtype).min, 3], dtype)
        found = client.reduce(least, ["max_abs"])["max_abs"]
        assert_same(found, unsigned(dtype).type(2 ** (8 * dtype.itemsize - 1)))


def test_nan_is_left_out_on_request(client):
    x = np.array([[1.0, np.nan, -3.0], [np.nan, np.nan, np.nan]], np.float32)
    found = client.reduce(x, ["ptp", "max_abs"], 1, omit_nan=True)
    np.testing.assert_array_equal(found["ptp"], np.array([4, np.nan], np.float32))
    np.testing.assert_array_equal(found["max_abs"], np.array([3, 0], np.float32))


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint64, np.float16, np.float64])
def test_of_nothing_max_abs_is_0_and_ptp_is_refused_as_by_numpy(client, dtype):
    x = np.empty((0, 3), dtype)
    found = client.reduce(x, ["max_abs"], 0)["max_abs"]
    assert_same(found, np.zeros(3, unsigned(x.dtype)))
    for ptp in (np.ptp, client.ptp):
        with pytest.raises(ValueError):
            ptp(x, axis=0)
    assert_same(client.ptp(x, axis=1), np.empty(0, unsigned(x.dtype)))
