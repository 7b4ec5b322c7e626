"""The exact results of the contract's ops over a row of numbers, rounded once: plain fractions."""

import math
from fractions import Fraction

import numpy as np

# (bits of the significand, exponent of the smallest number, exponent at which numbers end)
FORMATS = {
    "float8_e4m3fn": (4, -9, 9),  # but for what would be 480, which is NaN
    "float8_e5m2": (3, -16, 16),
    "float16": (11, -24, 16),
    "bfloat16": (8, -133, 128),
    "float32": (24, -149, 128),
    "float64": (53, -1074, 1024),
}


def power_of_two(exponent):
    return Fraction(2) ** exponent


def rounded(x, dtype):
    """The fraction as the nearest number of the dtype, of two the even one; as a float."""
    if not x:
        return 0.0
    bits, least, end = FORMATS[dtype]
    size = abs(x)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < power_of_two(exponent):
        exponent -= 1
    assert power_of_two(exponent) <= size < power_of_two(exponent + 1)
    place = max(exponent - bits + 1, least)
    nearest = round(x / power_of_two(place)) * power_of_two(place)
    if abs(nearest) >= power_of_two(end):
        return math.inf if x > 0 else -math.inf
    return float(nearest)


def rounded_root(x, dtype):
    """The same of the square root of a fraction."""
    # Digits enough to lie on the right side of every middle; what is cut off counts as a little.
    shift = 1200
    scaled = x * power_of_two(2 * shift)
    whole = scaled.numerator // scaled.denominator
    root = math.isqrt(whole)
    exact = root * root == scaled
    return rounded(Fraction(2 * root + (not exact), 2 ** (shift + 1)), dtype)


def fractions_of(row):
    return [
        Fraction(int(x)) if np.asarray(x).dtype.kind in "biu" else Fraction(float(x)) for x in row
    ]


def result(op, row, dtype, ddof=0):
    """Of finite numbers, one or more; `dtype` is that of the result."""
    x = fractions_of(row)
    if op in ("sum", "mean") and all(v == 0 and math.copysign(1, v) < 0 for v in map(float, row)):
        return -0.0
    if op == "sum":
        return rounded(sum(x), dtype)
    if op == "mean":
        return rounded(sum(x) / len(x), dtype)
    if op == "l1_norm":
        return rounded(sum(map(abs, x)), dtype)
    if op == "l2_norm":
        return rounded_root(sum(v * v for v in x), dtype)
    mean = sum(x) / len(x)
    variance = sum((v - mean) ** 2 for v in x) / (len(x) - ddof)
    return rounded(variance, dtype) if op == "var" else rounded_root(variance, dtype)
