"""What NumPy says, the client says: values, dtypes, shapes and kinds, over a table of cases.

The oracle is NumPy itself, but for sums of floats and what is made of them, which NumPy rounds on
its way: the server's are the exact ones, rounded once.
"""

import math
import warnings

import numpy as np
import pytest
from conftest import SEED
from exact_oracle import result

import warpfold

SHAPES_AND_AXES = [
    ((), None),
    ((), ()),
    ((1,), 0),
    ((7,), None),
    ((1000,), -1),
    ((3, 5), None),
    ((3, 5), 0),
    ((3, 5), 1),
    ((3, 5), (0, 1)),
    ((3, 5), (1, -2)),
    ((3, 5), ()),
    ((33, 2, 65), None),
    ((33, 2, 65), 1),
    ((33, 2, 65), (0, 2)),
    ((33, 2, 65), (-1, 1)),
    ((2, 1, 3, 1, 4), (1, 3)),
    ((4, 0), 0),
    ((4, 0), None),
    ((0, 4), 0),
    ((0,), 0),
]
DTYPES = [np.int32, np.int64, np.float32, np.float64]
FUNCTIONS = ["sum", "mean", "min", "max"]


def values(shape, dtype, nan=False):
    """Random values; the sums of integers stay below 2**53 at the table's sizes."""
    rng = np.random.default_rng(SEED)
    count = math.prod(shape)
    if np.issubdtype(dtype, np.integer):
        limit = min(np.iinfo(dtype).max, 2**40)
        flat = rng.integers(-limit, limit, count, dtype=dtype)
    else:
        flat = (rng.standard_normal(count) * 10.0 ** rng.integers(-6, 6, count)).astype(dtype)
        if nan:
            flat[count // 2 :: 97] = np.nan
    return flat.reshape(shape)


def assert_same(got, expected):
    """Equal in value, dtype, shape and kind; -0.0 is not 0.0."""
    assert type(got) is type(expected)
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    np.testing.assert_array_equal(got, expected)
    zeros = np.equal(got, 0)
    np.testing.assert_array_equal(np.signbit(got) & zeros, np.signbit(expected) & zeros)


def assert_exact(got, function, x, axis, keepdims):
    """The exact results, rounded once, in NumPy's dtype, shape and kind."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the mean of nothing
        expected = NUMPYS[function](x, axis=axis, keepdims=keepdims)
    assert type(got) is type(expected)
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    rows = np.moveaxis(x, axes, range(-len(axes), 0)).reshape(np.size(got), -1) if x.size else None
    op = {"norm": "l2_norm"}.get(function, function)
    for place, value in enumerate(np.ravel(got)):
        if not x.size:
            assert value == 0 if op in ("sum", "l2_norm") else np.isnan(value)
        elif np.isnan(rows[place]).any():
            assert np.isnan(value)
        else:
            exact = result(op, rows[place], got.dtype.name)
            assert value == exact and np.signbit(value) == np.signbit(exact)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("shape, axis", SHAPES_AND_AXES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_answers_as_numpys(client, function, dtype, shape, axis, keepdims):
    check(client, function, values(shape, dtype), axis, keepdims)


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_nan_goes_through_as_in_numpy(client, function, dtype, axis):
    x = values((33, 65), dtype, nan=True)
    assert np.isnan(x).any()
    check(client, function, x, axis, False)


def check(client, function, x, axis, keepdims):
    call = getattr(client, function)
    if x.dtype.kind == "f" and function in ("sum", "mean"):
        assert_exact(call(x, axis=axis, keepdims=keepdims), function, x, axis, keepdims)
        return
    try:
        expected = numpys(function, x, axis, keepdims)
    except ValueError:  # the minimum of nothing
        with pytest.raises(ValueError):
            call(x, axis=axis, keepdims=keepdims)
    else:
        assert_same(call(x, axis=axis, keepdims=keepdims), expected)


def numpys(function, x, axis, keepdims):
    if function != "mean":
        return getattr(np, function)(x, axis=axis, keepdims=keepdims)
    # NumPy adds float64s, the server divides the exact sum once.
    total = np.sum(x, axis=axis, keepdims=keepdims, dtype=np.int64)
    with np.errstate(invalid="ignore"):
        return np.float64(1) * total / (x.size // max(np.size(total), 1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "special",
    [
        [np.inf, 1.0],
        [-np.inf, 1.0],
        [np.inf, -np.inf],
        [0.0, -0.0],
        [-0.0, 0.0],
        [-0.0, -0.0],
        [5e-324, 1e-45],
    ],
)
def test_infinities_zeros_and_subnormals(client, dtype, special):
    x = np.array(special, dtype)
    answer = client.reduce(x, FUNCTIONS)
    with np.errstate(all="ignore"):
        total = np.float64(x[0]) + np.float64(x[1])  # np.sum makes 0.0 of nothing but -0.0
        assert_same(answer["sum"], dtype(total))
        assert_same(answer["mean"], dtype(total / 2))
    # NumPy may return either zero; the contract orders -0.0 below 0.0.
    ordered = np.array(sorted(x, key=lambda v: (v, not np.signbit(v))), dtype)
    assert_same(answer["min"], ordered[0])
    assert_same(answer["max"], ordered[-1])


def test_the_extremes_of_integers_are_exact(client):
    for dtype in (np.int32, np.int64):
        x = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max, -1], dtype)
        assert_same(client.min(x), np.min(x))
        assert_same(client.max(x), np.max(x))
        assert_same(client.sum(x), np.sum(x))


def test_an_integer_sum_that_does_not_fit_is_refused_with_its_value(client):
    with pytest.raises(OverflowError, match=str(2**63)) as caught:
        client.sum(np.array([2**62, 2**62]))
    assert isinstance(caught.value, warpfold.OutOfRangeError)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_nan_functions_of_integers_are_the_plain_ones(client, function, dtype):
    x = values((33, 65), dtype)
    assert_same(getattr(client, f"nan{function}")(x, axis=0), getattr(client, function)(x, axis=0))


@pytest.mark.parametrize("mebibytes", [1, 2, 5])
def test_a_streamed_tensor_answers_as_numpys(client, mebibytes):
    x = values((mebibytes * 2**20 // 4 + 3,), np.int32) // 1000
    assert_same(client.sum(x), np.sum(x))
    assert_same(client.max(x), np.max(x))


def test_results_can_be_written_to(client):
    total = client.sum(np.ones((2, 2)), axis=0)
    total += 1
    assert_same(total, np.array([3.0, 3.0]))


EVERY_DTYPE = [
    np.bool_,
    *(np.dtype(code).type for code in "bhilBHIL"),
    *(np.float16, np.float32, np.float64),
]
NUMPYS = {
    **{name: getattr(np, name) for name in FUNCTIONS},
    **{name: getattr(np, name) for name in ("prod", "var", "std", "any", "all", "count_nonzero")},
    "norm": np.linalg.norm,
    "argmin": np.argmin,
    "argmax": np.argmax,
}


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("dtype", EVERY_DTYPE)
@pytest.mark.parametrize("function", NUMPYS)
def test_every_function_of_every_dtype_answers_as_numpys(client, function, dtype, axis):
    """To the bit: floats are the exact results, rounded once to the result's dtype."""
    rng = np.random.default_rng(SEED)
    x = rng.integers(0, 3, (9, 7)).astype(dtype)  # all products fit, and floats are exact
    got = getattr(client, function)(x, axis=axis)
    if function in ("mean", "var", "std", "norm"):
        assert_exact(got, function, x, axis, False)
        return
    numpys_own = NUMPYS[function](x, axis=axis)
    assert np.asarray(got).dtype == np.asarray(numpys_own).dtype
    assert np.shape(got) == np.shape(numpys_own)
    np.testing.assert_array_equal(got, NUMPYS[function](x.astype(np.float64), axis=axis))


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64])
@pytest.mark.parametrize("function", ["sum", "mean", "var", "std", "norm"])
def test_what_cancels_and_what_is_small_is_exact(client, function, dtype, axis):
    rng = np.random.default_rng(SEED)
    exponents = rng.integers(-11, 11, (50, 11))
    x = (rng.standard_normal((50, 11)) * 2.0**exponents).astype(dtype)
    x = np.concatenate([x, -x, np.full((1, 11), 2.0**-13).astype(dtype)])
    if dtype is np.int64:
        x = x * 2**40 + rng.integers(0, 3, x.shape)  # squares of more than 64 bits
        if function == "sum":
            return assert_same(client.sum(x, axis=axis), np.sum(x, axis=axis))
    assert_exact(getattr(client, function)(x, axis=axis), function, x, axis, False)


@pytest.mark.parametrize("axis", [None, 0, 1, (1, 0)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.uint64, np.bool_])
@pytest.mark.parametrize("function", NUMPYS)
def test_a_resident_tensor_answers_numpys_functions_and_methods(client, function, dtype, axis):
    """With the bits of the same array when it travels."""
    rng = np.random.default_rng(SEED)
    x = rng.standard_normal((9, 7)) if np.dtype(dtype).kind == "f" else rng.integers(0, 3, (9, 7))
    x = x.astype(dtype)
    if function.startswith("arg") and isinstance(axis, tuple):
        axis = -1
    with client.put(x) as tensor:
        for keepdims in (False, True):
            expected = getattr(client, function)(x, axis=axis, keepdims=keepdims)
            assert_same(NUMPYS[function](tensor, axis=axis, keepdims=keepdims), expected)
            if hasattr(np.ndarray, function):
                assert_same(getattr(tensor, function)(axis=axis, keepdims=keepdims), expected)


@pytest.mark.parametrize("function", ["sum", "mean", "min", "max", "prod", "var", "std", "argmin"])
def test_a_resident_tensor_answers_numpys_nan_functions(client, function):
    x = values((33, 65), np.float64, nan=True) / 1e9
    with client.put(x) as tensor:
        name = f"nan{function}"
        assert_same(getattr(np, name)(tensor, axis=1), getattr(client, name)(x, axis=1))
        with pytest.raises(ValueError, match="out of bounds"):
            getattr(np, name)(tensor, axis=2)


NAN_FUNCTIONS = [
    *(f"nan{name}" for name in ("sum", "mean", "min", "max", "prod", "var", "std")),
    "nanargmin",
    "nanargmax",
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of what has no number
@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("function", NAN_FUNCTIONS)
def test_nan_functions_leave_nan_out_as_numpys(client, function, dtype, axis):
    rng = np.random.default_rng(SEED)
    x = (1 + (rng.random((9, 7)) < 0.2)).astype(dtype)  # few twos: float16 has all products
    x[rng.random(x.shape) < 0.4] = np.nan
    x[3] = np.nan if "arg" not in function else 2
    numpys_own = np.asarray(getattr(np, function)(x, axis=axis))
    got = getattr(client, function)(x, axis=axis)
    assert np.asarray(got).dtype == numpys_own.dtype
    assert np.shape(got) == numpys_own.shape
    if function not in ("nanmean", "nanvar", "nanstd"):  # NumPy makes no roundings
        with np.errstate(over="ignore"):
            expected = getattr(np, function)(x.astype(np.float64), axis=axis)
            np.testing.assert_array_equal(got, np.asarray(expected).astype(numpys_own.dtype))
        return
    rows = [x.ravel()] if axis is None else np.moveaxis(x, axis, -1)
    for value, row in zip(np.ravel(got), rows):
        row = row[~np.isnan(row)]
        assert value == result(function[3:], row, got.dtype.name) if row.size else np.isnan(value)


@pytest.mark.parametrize("axis", [0, -1, 1, (0,)])
@pytest.mark.parametrize("function", [*NUMPYS, "ptp", *NAN_FUNCTIONS])
def test_a_scalar_has_the_axes_that_it_has_in_numpy(client, function, axis):
    numpys = NUMPYS.get(function) or getattr(np, function)
    for keepdims in (False, True):
        try:
            expected = numpys(np.float64(3), axis=axis, keepdims=keepdims)
        except (ValueError, TypeError):  # an index takes no tuple
            with pytest.raises((ValueError, TypeError)):
                getattr(client, function)(np.float64(3), axis=axis, keepdims=keepdims)
        else:
            got = getattr(client, function)(np.float64(3), axis=axis, keepdims=keepdims)
            assert got == expected and np.shape(got) == ()


@pytest.mark.parametrize("function", ["nanargmin", "nanargmax"])
def test_an_index_of_nothing_but_nan_is_refused_as_numpys(client, function):
    x = np.array([[1.0, np.nan], [np.nan, np.nan]])
    with pytest.raises(ValueError, match="All-NaN slice"):
        getattr(np, function)(x, axis=1)
    with pytest.raises(ValueError, match="All-NaN slice"):
        getattr(client, function)(x, axis=1)
    assert getattr(client, function)(x) == 0


def test_ties_and_nan_answer_with_their_first_index(client):
    for x in ([2.0, 1.0, 1.0], [0.0, -0.0], [-0.0, 0.0], [1.0, np.nan, np.nan], [np.inf, np.inf]):
        assert_same(client.argmin(np.array(x)), np.argmin(x))
        assert_same(client.argmax(np.array(x)), np.argmax(x))


def test_describe_has_every_statistic_of_the_server(client):
    found = client.describe(np.array([[1.0, 2.0], [3.0, 6.0]]), axis=1)
    assert {"sum", "mean", "std", "min", "max", "nan_count"} <= set(found)
    assert set(found) <= set(client.info().ops)
    assert_same(found["max"], np.array([2.0, 6.0]))


def test_describe_leaves_out_what_does_not_exist(client):
    of_nothing = client.describe(np.empty(0))
    assert "sum" in of_nothing and not {"min", "max"} & set(of_nothing)
    of_too_much = client.describe(np.array([2**62, 2**62]))
    assert {"mean", "min", "max"} <= set(of_too_much) and "sum" not in of_too_much
