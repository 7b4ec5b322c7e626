"""Arrays that are hard to sum, and their exact sums in Python integers.

An exact sum is a whole number of units of 2^-1074, of which every finite float is a multiple. It
comes from float.as_integer_ratio() and Python's integers; nothing here is of warpfold.
"""

import math
from fractions import Fraction

import numpy as np

UNIT_LOG2 = -1074
PRECISION = {"f32": 24, "f64": 53}  # bits of a mantissa
LEAST_LOG2 = {"f32": -149, "f64": -1074}  # of the least subnormal number
ABOVE_LOG2 = {"f32": 128, "f64": 1024}  # the power of two above the largest number
DTYPES = {"f32": np.float32, "f64": np.float64}
PAIRS = 1 << 14  # half of what an array has, about
RANDOM_ORDERS = 5


def exact_units(values):
    """The real sum of finite floats, in units of 2^-1074."""
    total = 0
    for value in values.tolist():
        numerator, denominator = value.as_integer_ratio()  # the denominator is a power of two
        total += numerator << (1 - UNIT_LOG2 - denominator.bit_length())
    return total


def dropped_bits(units, dtype):
    """How many of the last bits of an exact sum a number of `dtype` next to it does not have."""
    return max(abs(units).bit_length() - PRECISION[dtype], LEAST_LOG2[dtype] - UNIT_LOG2)


def rounded_once(units, dtype):
    """The number of `dtype` nearest to an exact sum, of two the even one; infinite beyond."""
    drop = dropped_bits(units, dtype)
    kept, rest = divmod(abs(units), 1 << drop)
    if 2 * rest > 1 << drop or (2 * rest == 1 << drop and kept % 2 == 1):
        kept += 1
    beyond = kept << drop >= 1 << (ABOVE_LOG2[dtype] - UNIT_LOG2)
    magnitude = math.inf if beyond else math.ldexp(kept, drop + UNIT_LOG2)
    return DTYPES[dtype](-magnitude if units < 0 else magnitude)


def error_ulps(answer, units, dtype):
    """How far a finite answer is from the exact sum, in units of the last place around it."""
    numerator, denominator = float(answer).as_integer_ratio()
    off = abs((numerator << (1 - UNIT_LOG2 - denominator.bit_length())) - units)
    try:
        return float(Fraction(off, 1 << dropped_bits(units, dtype)))
    except OverflowError:
        return math.inf


def spread(random, dtype, count, least, most):
    """Mantissas in [1, 2) of both signs, exponents from `least` to `most`, all evenly."""
    mantissas = random.uniform(1, 2, count) * random.choice([-1.0, 1.0], count)
    return np.ldexp(mantissas, random.integers(least, most + 1, count)).astype(DTYPES[dtype])


def among_opposites(random, dtype, few):
    """`few` numbers, among normal ones and their opposites, which cancel."""
    normal = random.standard_normal(PAIRS).astype(DTYPES[dtype])
    return np.concatenate([normal, -normal, np.array(few, DTYPES[dtype])])


def one_between_large(random, dtype):
    large = {"f32": 1e8, "f64": 1e16}[dtype]
    return np.tile(np.array([1, large, -large], DTYPES[dtype]), PAIRS)


def beyond_on_the_way(random, dtype):
    large = {"f32": 3.3e38, "f64": 1.7e308}[dtype]
    return np.array([large] * PAIRS + [-large] * (PAIRS - 1), DTYPES[dtype])


def eighty_binades(random, dtype):
    return spread(random, dtype, 2 * PAIRS, -40, 39)


def all_binades(random, dtype):
    """Those of the least 40 remain; of the others, the opposites are there, too."""
    least, most = {"f32": (-149, 120), "f64": (-1000, 999)}[dtype]
    large = spread(random, dtype, PAIRS, least + 40, most)
    return np.concatenate([large, -large, spread(random, dtype, PAIRS, least, least + 39)])


def alternating(random, dtype):
    """a, -b, a, -b ... where b is the number after a."""
    ones = random.uniform(1, 2, PAIRS).astype(DTYPES[dtype])
    return np.stack([ones, -np.nextafter(ones, DTYPES[dtype](2))], axis=1).reshape(-1)


def subnormals(random, dtype):
    count = 2 * PAIRS
    numbers = random.integers(1, 1 << (PRECISION[dtype] - 1), count) * random.choice([-1, 1], count)
    found = np.ldexp(numbers.astype(np.float64), LEAST_LOG2[dtype]).astype(DTYPES[dtype])
    return np.concatenate([found, np.array([1, -1], DTYPES[dtype])])


def tie(random, dtype):
    ulp = 2.0 ** (1 - PRECISION[dtype])
    return among_opposites(random, dtype, [1 + ulp, ulp / 2])


def broken_tie(random, dtype):
    rest = {"f32": 2.0 ** -140, "f64": 2.0 ** -1000}[dtype]
    return among_opposites(random, dtype, [1, 2.0 ** -PRECISION[dtype], rest])


def below_infinity(random, dtype):
    """The largest number, and the least less than what rounds to infinity with it."""
    half = 2.0 ** (ABOVE_LOG2[dtype] - PRECISION[dtype] - 1)
    largest = float(np.finfo(DTYPES[dtype]).max)
    return among_opposites(random, dtype, [largest, half, -2.0 ** LEAST_LOG2[dtype]])


def normal(random, dtype):
    return random.standard_normal(2 * PAIRS).astype(DTYPES[dtype])


# What an array is called on the pages, by dtype, and what makes it.
ARRAYS = [
    ({"f32": "1, 1e8, -1e8", "f64": "1, 1e16, -1e16"}, one_between_large),
    ({"f32": "3.3e38 and -3.3e38", "f64": "1.7e308 and -1.7e308"}, beyond_on_the_way),
    ("80 binades, both signs", eighty_binades),
    ({"f32": "270 binades, the large cancel", "f64": "2000 binades, the large cancel"},
     all_binades),
    ("a, -b, a, -b; b follows a", alternating),
    ("subnormal numbers, 1 and -1", subnormals),
    ("a tie", tie),
    ({"f32": "a tie and 2^-140", "f64": "a tie and 2^-1000"}, broken_tie),
    ("just short of infinity", below_infinity),
    ("normal", normal),
]


def arrays(seed):
    """Yields (dtype, name, elements) of each array; the same for the same seed."""
    random = np.random.default_rng(seed)
    for dtype in DTYPES:
        for name, make in ARRAYS:
            yield dtype, name if isinstance(name, str) else name[dtype], make(random, dtype)


def orders(random, values):
    """The elements as they are, backward, sorted, and shuffled a few times."""
    return [values, values[::-1].copy(), np.sort(values),
            *(random.permutation(values) for _ in range(RANDOM_ORDERS))]
