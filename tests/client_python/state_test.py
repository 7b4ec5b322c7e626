"""What is in a state, read and written by the text of PartialState in reduction.proto alone."""

import math
import struct
from fractions import Fraction

import numpy as np
import pytest
from conftest import SEED, dtype_of
from exact_oracle import fractions_of, power_of_two, result, rounded

from warpfold import _contract

State = _contract.PartialState
SUM, ABS_SUM, SQUARE_SUM = State.SUM_VALUES, State.ABS_SUM_VALUES, State.SQUARE_SUM_VALUES
UNITS = {
    **{"float8_e4m3fn": -24, "float8_e5m2": -24, "float16": -24},
    **{"bfloat16": -149, "float32": -149, "float64": -1074},
}
RESULTS = dict.fromkeys(("float8_e4m3fn", "float8_e5m2"), "float32")
NAN, PLUS, MINUS, OTHER, NEGATIVE = 1, 2, 4, 8, 16
INTEGERS = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def state_of(client, x, ops, **options):
    whole = client.reduce_part(x, ops, 0, whole_shape=x.shape, offset=0, **options)
    state = State.FromString(whole)
    assert state.version == 5
    assert (state.part_offset, state.part_shape) == ([0] * x.ndim, list(x.shape))
    kinds = [component.kind for component in state.components]
    assert kinds == sorted(set(kinds))
    assert {component.revision for component in state.components} == {1}
    return state, {component.kind: component.values for component in state.components}


def read_sums(values, unit):
    """(flags, the sum) of every kept element."""
    sums = []
    while values:
        flags, count, place = struct.unpack_from("<BBH", values)
        digits = struct.unpack_from(f"<{count}I", values, 4)
        values = values[4 + 4 * count :]
        size = sum(d * power_of_two(32 * (place + i) + unit) for i, d in enumerate(digits))
        sums.append((flags, -size if flags & NEGATIVE else size))
    return sums


def written_sum(flags, value, unit):
    size = abs(value) / power_of_two(unit)
    assert size.denominator == 1
    size = size.numerator
    digits = []
    while size:
        size, digit = divmod(size, 2**32)
        digits.append(digit)
    place = next((i for i, digit in enumerate(digits) if digit), 0)
    digits = digits[place:]
    head = struct.pack("<BBH", flags | (NEGATIVE if value < 0 else 0), len(digits), place)
    return head + struct.pack(f"<{len(digits)}I", *digits)


def written(sums, unit):
    return b"".join(written_sum(flags & ~NEGATIVE, value, unit) for flags, value in sums)


def elements(dtype, rows=37, columns=5):
    """Finite numbers of all sizes and both signs."""
    rng = np.random.default_rng(SEED)
    count = (rows, columns)
    if dtype == "bool":
        return rng.integers(0, 2, count).astype(bool)
    if dtype in INTEGERS:
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, count, dtype=dtype, endpoint=True)
    bits = np.dtype(dtype_of(dtype)).itemsize * 8
    x = rng.integers(0, 2**bits - 1, count, dtype=f"u{bits // 8}", endpoint=True)
    x = x.view(dtype_of(dtype))
    with np.errstate(invalid="ignore"):  # NumPy's, of signalling NaN
        return np.where(np.isfinite(x.astype(np.float64)), x, np.ones_like(x))


@pytest.mark.parametrize("dtype", [*UNITS, *INTEGERS])
def test_sums_are_integers_in_units_of_the_dtype(client, dtype):
    x = elements(dtype)
    _, values = state_of(client, x, ["l1_norm", "sum", "l2_norm"])
    assert list(values) == [SUM, ABS_SUM, SQUARE_SUM]
    unit = UNITS.get(dtype, 0)
    columns = [fractions_of(column) for column in x.T]
    for kind, power, of in (
        (SUM, 1, lambda v: v),
        (ABS_SUM, 1, abs),
        (SQUARE_SUM, 2, lambda v: v * v),
    ):
        sums = read_sums(values[kind], power * unit)
        assert [value for _, value in sums] == [sum(map(of, column)) for column in columns]
        flags = OTHER if dtype in UNITS else 0
        assert {f & ~NEGATIVE for f, _ in sums} == {flags}
        assert values[kind] == written(sums, power * unit)  # of equal sums the same bytes


@pytest.mark.parametrize("dtype", UNITS)
@pytest.mark.parametrize(
    "column, flags, value",
    [
        ([1.0, -1.0], OTHER, 0),
        ([0.0, -0.0], OTHER, 0),
        ([-0.0, -0.0], 0, 0),
        ([-2.0, 0.5], OTHER | NEGATIVE, Fraction(-3, 2)),
        ([math.nan, 1.0], NAN, 0),
        ([math.nan, math.inf], NAN, 0),
        ([math.inf, -2.0], PLUS, 0),
        ([-math.inf, -2.0], MINUS, 0),
        ([math.inf, -math.inf], PLUS | MINUS, 0),
    ],
)
def test_the_flags_of_a_sum(client, dtype, column, flags, value):
    x = np.array(column).astype(dtype_of(dtype)).reshape(2, 1)
    if np.isnan(x.astype(np.float64)).any():  # float8_e4m3fn has it for infinities, too
        flags = NAN
    _, values = state_of(client, x, ["sum", "l1_norm", "l2_norm"])
    assert read_sums(values[SUM], UNITS[dtype]) == [(flags, value)]
    # They are the elements', not those of their sizes and squares.
    for kind, power in ((ABS_SUM, 1), (SQUARE_SUM, 2)):
        ((of_sizes, size),) = read_sums(values[kind], power * UNITS[dtype])
        assert of_sizes == flags & ~NEGATIVE
        assert (size > 0) == (bool(flags & OTHER) and any(column))


def test_the_digits_are_few_and_have_their_places(client):
    x = np.array([[1.0, 2.0**100, 2.0**-149, 3 * 2.0**-117]], np.float32)
    _, values = state_of(client, x, ["sum"])
    assert values[SUM] == b"".join(
        struct.pack("<BBHI", OTHER, 1, place, digit)
        for place, digit in ((4, 1 << 21), (7, 1 << 25), (0, 1), (1, 3))
    )


def test_var_has_a_sum_and_squares_and_what_is_left_out_is_counted(client):
    x = np.array([[1.5, np.nan], [-4.0, np.nan], [np.nan, np.nan]])
    state, values = state_of(client, x, ["var", "mean"], omit_nan=True, ddof=1)
    assert list(values) == [SUM, SQUARE_SUM, State.NAN_COUNT_VALUES]
    assert state.ops[0].variance.correction == 1 and state.nan_policy == _contract.NAN_POLICY_OMIT
    assert read_sums(values[SUM], -1074) == [(OTHER | NEGATIVE, Fraction(-5, 2)), (0, 0)]
    assert read_sums(values[SQUARE_SUM], -2148) == [(OTHER, Fraction(73, 4)), (0, 0)]
    assert struct.unpack("<2q", values[State.NAN_COUNT_VALUES]) == (1, 3)


@pytest.mark.parametrize("dtype", UNITS)
def test_a_state_made_of_the_text_merges(client, dtype):
    x = elements(dtype, rows=9)
    ops = ["sum", "mean", "l1_norm", "l2_norm", "var"]
    state, _ = state_of(client, x, ops)
    unit = UNITS[dtype]
    columns = [fractions_of(column) for column in x.T]
    sums = [[(OTHER, sum(column)) for column in columns]]
    sums += [[(OTHER, sum(map(abs, column))) for column in columns]]
    sums += [[(OTHER, sum(v * v for v in column)) for column in columns]]
    del state.components[:]
    for kind, of_kind, power in zip((SUM, ABS_SUM, SQUARE_SUM), sums, (1, 1, 2)):
        state.components.add(kind=kind, revision=1, values=written(of_kind, power * unit))
    merged = client.merge([state.SerializeToString()])
    for op in ops:
        expected = [result(op, column, RESULTS.get(dtype, dtype)) for column in x.T]
        np.testing.assert_array_equal(merged[op].astype(np.float64), expected, err_msg=op)
    with np.errstate(over="ignore"):
        assert merged["sum"].tobytes() == client.sum(x, axis=0).tobytes()


def read_products(values):
    products = []
    for begin in range(0, len(values), 33):
        flags, low, high, exponent, cuts = struct.unpack_from("<BQQqQ", values, begin)
        products.append((flags, high << 64 | low, exponent, cuts))
    return products


ONE = (2**127, -127, 0)


def test_a_product_of_floats_lies_where_its_state_says(client):
    x = elements("float64", rows=40)
    x = np.where(x == 0, 1, x)
    _, values = state_of(client, x, ["prod"])
    assert list(values) == [State.PRODUCT_VALUES]
    products = read_products(values[State.PRODUCT_VALUES])
    assert len(products) == 5
    for (flags, mantissa, exponent, cuts), column in zip(products, x.T):
        exact = math.prod(fractions_of(column))
        assert flags == (8 if exact < 0 else 0)
        assert mantissa >> 127 == 1 and 0 < cuts < 40
        unit = power_of_two(exponent)
        assert mantissa * unit <= abs(exact) < (mantissa + 2 * cuts + 1) * unit


@pytest.mark.parametrize(
    "column, flags, value",
    [
        ([3.0, -0.5], 8, (3 << 126, -127, 0)),
        ([-3.0, -2.0], 0, (3 << 126, -125, 0)),
        ([0.0, 5.0], 1, ONE),
        ([-0.0, 5.0], 1 | 8, ONE),
        ([math.inf, -7.0], 2 | 8, ONE),
        ([math.nan, 7.0], 4, ONE),
        ([1.0, 1.0], 0, ONE),
    ],
)
def test_the_flags_of_a_product(client, column, flags, value):
    x = np.array(column, np.float32).reshape(2, 1)
    _, values = state_of(client, x, ["prod"])
    assert read_products(values[State.PRODUCT_VALUES]) == [(flags, *value)]


def float_key(x, bits):
    """The bits as a signed integer, of negative ones all but the sign flipped."""
    (key,) = struct.unpack(
        "<i" if bits == 32 else "<q", struct.pack("<f" if bits == 32 else "<d", x)
    )
    return key ^ (2 ** (bits - 1) - 1) if key < 0 else key


def test_keys_counts_and_indices(client):
    x = np.array([[-1.5, -0.0, np.nan], [0.0, 0.0, 2.0], [2.0, 0.0, -np.inf]], np.float32)
    ops = ["min", "max", "argmin", "argmax", "count_nonzero", "nan_count", "inf_count"]
    _, values = state_of(client, x, ops)
    lowest, highest = -(2**31), 2**31 - 1
    keys = [[float_key(v, 32) for v in row] for row in ([-1.5, -0.0], [2.0, 0.0])]
    assert struct.unpack("<3i", values[State.MIN_VALUES]) == (*keys[0], lowest)
    assert struct.unpack("<3i", values[State.MAX_VALUES]) == (*keys[1], highest)
    found = struct.unpack("<6q", values[State.ARGMIN_VALUES])
    assert found[:4] == (float_key(-1.5, 32), 0, 0, 0)
    assert found[4:] == (lowest, 0)
    found = struct.unpack("<6q", values[State.ARGMAX_VALUES])
    assert found == (~keys[1][0], 2, ~0, 0, lowest, 0)
    assert struct.unpack("<3q", values[State.NONZERO_COUNT_VALUES]) == (2, 0, 3)
    assert struct.unpack("<3q", values[State.NAN_COUNT_VALUES]) == (0, 0, 1)
    assert struct.unpack("<3q", values[State.INF_COUNT_VALUES]) == (0, 0, 1)


def test_a_part_without_elements_has_no_values(client):
    whole = client.reduce_part(np.empty((0, 3)), ["sum"], 0, whole_shape=(4, 3), offset=2)
    (component,) = State.FromString(whole).components
    assert component.values == b""


def test_the_oracle_rounds_to_nearest_even():
    assert rounded(Fraction(2**53 + 1), "float64") == 2.0**53
    assert rounded(Fraction(2**53 + 3), "float64") == 2.0**53 + 4
    assert rounded(power_of_two(-1075), "float64") == 0
    assert rounded(3 * power_of_two(-1075), "float64") == 2.0**-1073
    assert (
        rounded(Fraction(65519), "float16") == 65504 and rounded(Fraction(65520), "float16") > 1e9
    )
    assert result("std", [1.0, 2.0], "float64") == 0.5
    assert result("l2_norm", [1.0, 1.0], "float64") == math.sqrt(2)
