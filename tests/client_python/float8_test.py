"""float8_e4m3fn and float8_e5m2: every code, and every pair of codes, by every op.

What is expected follows from the contract's text: floats are exact and rounded once to float32.
"""

import asyncio
import math
from fractions import Fraction

import numpy as np
import pytest
from conftest import SEED, dtype_of
from cuts import assert_same_bits
from exact_oracle import FORMATS, power_of_two, result, rounded, rounded_root
from fake_torch import Tensor

import warpfold
import warpfold.aio
from warpfold import _contract

OPS = list(_contract.OPS)
# A request may have 16 of them.
GROUPS = [OPS[:9], OPS[9:], OPS[::2], OPS[1::2], *([op] for op in OPS)]
NAMES = ["float8_e4m3fn", "float8_e5m2"]
QUIET_NAN = {"float8_e4m3fn": 0x7F, "float8_e5m2": 0x7E}
CODES = np.arange(256, dtype=np.uint8)
SINGLES = CODES.reshape(256, 1)
PAIRS = np.stack([np.repeat(CODES, 256), np.tile(CODES, 256)], axis=1)

pytestmark = pytest.mark.parametrize("name", NAMES)


def key(codes):
    """Integers that order as the elements do, -0.0 below +0.0; and back."""
    signed = codes.astype(np.int8).astype(np.int16)
    return np.where(signed < 0, signed ^ 0x7F, signed)


def of_each(function, numerators, denominators):
    """Of fractions the float32 numbers; equal ones, of which there are many, are rounded once."""
    fractions = list(zip(numerators, denominators.tolist()))
    known = {of: function(Fraction(*of), "float32") for of in set(fractions)}
    return np.array([known[of] for of in fractions], np.float32)


def moments(name, x, count):
    """(l2_norm, var, std) of rows of numbers; one that is left out is 0 here, and not counted."""
    parts = 2 ** -FORMATS[name][1]  # of 1
    units = (x * parts).astype(np.int64).astype(object)
    squares, sums = (units * units).sum(axis=1), units.sum(axis=1)
    count = np.maximum(count, 1).astype(object)
    variances = count * squares - sums * sums, (count * parts) ** 2
    norms = of_each(rounded_root, squares, np.full_like(count, parts**2))
    return norms, of_each(rounded, *variances), of_each(rounded_root, *variances)


def expected(name, codes, omit_nan):
    """The results of each row of codes, by op."""
    x = codes.view(dtype_of(name)).astype(np.float64)
    nan = np.isnan(x)
    kept = ~nan if omit_nan else np.ones_like(nan)
    count = kept.sum(axis=1)
    nothing, has_nan = count == 0, (kept & nan).any(axis=1)
    has_inf = (kept & np.isinf(x)).any(axis=1)
    is_true = x != 0  # so is NaN

    # Two elements of eight bits add and multiply exactly in float64.
    with np.errstate(invalid="ignore", divide="ignore"):
        total = np.where(nothing, 0, np.where(kept, x, -0.0).sum(axis=1, initial=-0.0))
        most, least = (np.where(kept, x, end) for end in (-np.inf, np.inf))
        floats = {
            "sum": total,
            "mean": total / count,
            "prod": np.where(kept, x, 1).prod(axis=1),
            "l1_norm": np.where(kept, np.abs(x), 0).sum(axis=1),
            "ptp": np.where(nothing, np.nan, most.max(axis=1) - least.min(axis=1) + 0.0),
        }
        floats = {op: values.astype(np.float32) for op, values in floats.items()}
    norms, var, std = moments(name, np.where(kept & np.isfinite(x), x, 0), count)
    floats["l2_norm"] = np.where(has_nan, np.nan, np.where(has_inf, np.inf, norms))
    no_variance = has_nan | has_inf | nothing
    floats["var"], floats["std"] = (np.where(no_variance, np.nan, v) for v in (var, std))

    keys, left_out = key(codes), 999
    ends = {
        "min": key(np.where(kept, keys, left_out).min(axis=1).astype(np.uint8)),
        "max": key(np.where(kept, keys, -left_out).max(axis=1).astype(np.uint8)),
    }
    ends = {op: np.where(has_nan | nothing, QUIET_NAN[name], e) for op, e in ends.items()}
    sizes = np.where(kept, codes & 0x7F, 0).max(axis=1)
    ends["max_abs"] = np.where(has_nan, QUIET_NAN[name], sizes)
    elements = {op: e.astype(np.uint8).view(dtype_of(name)) for op, e in ends.items()}

    equal_zeros = np.where(x == 0, 0, keys)
    lowest = np.where(kept, np.where(nan, -left_out, equal_zeros), left_out).argmin(axis=1)
    highest = np.where(kept, np.where(nan, left_out, equal_zeros), -left_out).argmax(axis=1)
    return {
        **floats,
        **elements,
        "argmin": np.where(nothing, -1, lowest),
        "argmax": np.where(nothing, -1, highest),
        "count_nonzero": (kept & is_true).sum(axis=1),
        "nan_count": nan.sum(axis=1),
        "inf_count": (kept & np.isinf(x)).sum(axis=1),
        "any": (kept & is_true).any(axis=1),
        "all": (~kept | is_true).all(axis=1),
    }


def bits_of(values):
    """Every NaN of float32 as the quiet one: which NaN NumPy's own have is not told."""
    if values.dtype != np.float32:
        return values.view(f"u{values.dtype.itemsize}")
    return np.where(np.isnan(values), np.uint32(0x7FC00000), values.view(np.uint32))


def assert_bits(got, wanted, codes):
    """Of each op; `got` may have fewer."""
    for op, values in got.items():
        assert values.dtype == wanted[op].dtype, op
        own = values.view(f"u{values.dtype.itemsize}")
        wrong = np.flatnonzero(own != bits_of(wanted[op]))
        told = [(codes[i].tolist(), values[i], wanted[op][i]) for i in wrong[:5]]
        assert not wrong.size, f"{op}: {wrong.size} rows; codes, got, expected: {told}"


def test_the_codes_are_what_the_contract_says(name):
    precision, least, end = FORMATS[name]
    values = CODES.view(dtype_of(name)).astype(np.float64).tolist()
    for code, value in enumerate(values):
        exponent, significand = divmod(code & 0x7F, 2 ** (precision - 1))
        if exponent:
            significand, exponent = significand + 2 ** (precision - 1), exponent - 1
        size = significand * power_of_two(least + exponent)
        if name == "float8_e5m2" and size >= power_of_two(end):
            size = math.inf if size == power_of_two(end) else math.nan
        elif code & 0x7F == QUIET_NAN["float8_e4m3fn"] and name == "float8_e4m3fn":
            size = math.nan
        assert abs(value) == size or math.isnan(value) and math.isnan(size)
        assert math.isnan(value) or math.copysign(1, value) == (-1 if code & 0x80 else 1)
        assert not math.isfinite(value) or rounded(Fraction(value), name) == value


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of infinity less infinity
def test_of_single_codes_the_expected_is_numpys_of_float32(name):
    x = SINGLES.view(dtype_of(name)).astype(np.float32)
    numpys = {op: getattr(np, op, None) for op in OPS}
    numpys["l1_norm"] = lambda x, axis: np.linalg.norm(x, 1, axis)
    numpys["l2_norm"] = lambda x, axis: np.linalg.norm(x, 2, axis)
    numpys["max_abs"] = lambda x, axis: np.abs(x).max(axis)
    numpys["nan_count"] = lambda x, axis: np.isnan(x).sum(axis)
    numpys["inf_count"] = lambda x, axis: np.isinf(x).sum(axis)
    wanted = expected(name, SINGLES, False)
    for op in OPS:
        own, ours = numpys[op](x, axis=1), wanted[op]
        if op in ("min", "max", "max_abs"):
            is_nan = np.isnan(own)
            assert (bits_of(ours)[is_nan] == QUIET_NAN[name]).all()
            ours = ours.astype(np.float32)
        elif op in ("sum", "mean"):  # of -0.0 NumPy's is +0.0
            own, ours = own + 0.0, ours + 0.0
        np.testing.assert_array_equal(bits_of(own), bits_of(ours), op)


@pytest.mark.parametrize("omit_nan", [False, True])
@pytest.mark.parametrize("codes", [SINGLES, PAIRS], ids=["singles", "pairs"])
def test_every_op_of_every_code_and_of_every_pair(client, name, codes, omit_nan):
    wanted = expected(name, codes, omit_nan)
    assert set(wanted) == set(OPS)
    rows = codes.view(dtype_of(name))
    columns = np.ascontiguousarray(rows.T)
    for x, axis in ((rows, 1), (columns, 0)):
        for ops in GROUPS:
            assert_bits(client.reduce(x, ops, axis, omit_nan=omit_nan), wanted, codes)


def numbers(name, shape):
    """Any codes of numbers, as elements."""
    codes = np.random.default_rng(SEED).integers(0, 256, shape, dtype=np.uint8)
    finite = np.isfinite(codes.view(dtype_of(name)).astype(np.float32))
    return np.where(finite, codes, codes & 0x8F).view(dtype_of(name))


@pytest.mark.parametrize("shape, axis", [((5, 3001), 1), ((3001, 5), 0), ((15_005,), None)])
def test_what_many_elements_add_up_to_is_exact(client, name, shape, axis):
    x = numbers(name, shape)
    rows = [x] if axis is None else np.moveaxis(x, axis, 1)
    ops = ["sum", "mean", "var", "std", "l1_norm", "l2_norm"]
    found = client.reduce(x, ops, axis)
    for op in ops:
        got = np.ravel(found[op])
        assert got.dtype == np.float32
        assert got.tolist() == [result(op, row, "float32") for row in rows], op


@pytest.mark.parametrize("omit_nan", [False, True])
@pytest.mark.parametrize(
    "shape, axis",
    [
        *(((1 << 21,), None), ((3, 70_001), 1), ((70_001, 3), 0), ((4000, 17), 1), ((17, 4000), 0)),
        *(((50, 40, 30), (0, 2)), ((50, 40, 30), 1), ((1, 300, 1, 50), (0, 1))),
    ],
)
def test_the_results_are_those_of_the_same_numbers_in_float32(client, name, shape, axis, omit_nan):
    x = numbers(name, shape)
    if omit_nan:
        x[np.random.default_rng(SEED).random(shape) < 0.1] = np.nan
    wide = x.astype(np.float32)
    ops = [op for op in OPS if op != "prod"]
    for some in (ops[:9], ops[9:], ["sum"], ["std"]):
        found = client.reduce(x, some, axis, omit_nan=omit_nan)
        same = client.reduce(wide, some, axis, omit_nan=omit_nan)
        found = {op: v.astype(same[op].dtype) for op, v in found.items()}
        assert_same_bits(found, same)


def test_products_are_exact(client, name):
    x = numbers(name, (2000, 9))
    x[np.abs(x.astype(np.float32)) < 2.0**-5] = 1  # else few are neither 0 nor infinite
    exact = [math.prod(Fraction(float(v)) for v in row) for row in x]
    got = client.prod(x, axis=1)
    assert got.dtype == np.float32
    assert got.tolist() == [rounded(product, "float32") for product in exact]


def test_numpys_functions_of_a_tensor_on_the_server(client, name):
    x = CODES.view(dtype_of(name))
    wide = x.astype(np.float32)
    wide = wide[np.isfinite(wide)]
    finite = wide.astype(x.dtype)
    with client.put(finite) as tensor:
        assert tensor.dtype == x.dtype
        for largest in (np.max(tensor), tensor.max(), np.nanmax(tensor), client.max(finite)):
            assert type(largest) is x.dtype.type and largest == wide.max()
        assert np.argmin(tensor) == wide.argmin()
        assert np.linalg.norm(tensor, 1) == np.abs(wide).sum()
        assert_same_bits(tensor.reduce(OPS[:3]), client.reduce(finite, OPS[:3]))
    with client.put(x) as tensor:
        assert np.isnan(np.sum(tensor)) and np.isnan(np.max(tensor).astype(np.float32))
        if name == "float8_e4m3fn":
            assert np.nansum(tensor, dtype=np.float64) == wide.sum()
            assert np.nanmax(tensor) == wide.max()


def test_every_way_to_the_server_answers_with_the_same_bits(server, client, name):
    x = numbers(name, (500, 70))
    ops = [op for op in OPS if op not in ("prod", "any", "all")][:16]  # of one request
    whole = client.reduce(x, ops, 0)
    for same in (Tensor(x.view(np.uint8), name), np.asfortranarray(x), x[::-1].copy()[::-1]):
        assert_same_bits(client.reduce(same, ops, 0), whole)
    states = [
        client.reduce_part(x[a:b], ops, 0, whole_shape=x.shape, offset=a)
        for a, b in ((0, 123), (123, 500))
    ]
    assert_same_bits(client.merge(states), whole)
    described = client.describe(x, axis=0)
    assert_same_bits(described, {op: whole[op] for op in described})

    async def use():
        async with warpfold.aio.connect(server) as client:
            assert_same_bits(await client.reduce(x, ops, 0), whole)
            async with await client.put(x) as tensor:
                assert_same_bits(await tensor.reduce(ops, 0), whole)

    asyncio.run(use())


def test_the_server_says_what_it_makes_of_it(client, name):
    info = client.info()
    assert name in info.dtypes
    x = np.ones((2, 3), dtype_of(name))
    found = {op: client.reduce(x, [op], 1)[op] for op in OPS}
    of_element = {op for op in OPS if found[op].dtype == x.dtype}
    of_float32 = {op for op in OPS if found[op].dtype == np.float32}
    assert of_element == {"min", "max", "max_abs"}
    assert of_float32 == {"sum", "prod", "mean", "var", "std", "l1_norm", "l2_norm", "ptp"}
    assert client.sum(np.empty(0, x.dtype)) == 0
    with pytest.raises(ValueError):
        client.max(np.empty(0, x.dtype))
