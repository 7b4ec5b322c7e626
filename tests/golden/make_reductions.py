"""Makes reductions.txt: what reductions without rounding must answer, for ever.

Usage: make_reductions.py [--check]

Writes the file beside this script, or with --check fails where it differs. SUM and PROD of integers
and BOOL, and PTP; MIN, MAX, ARGMIN, ARGMAX, COUNT_NONZERO, ANY, ALL, NAN_COUNT, INF_COUNT and
MAX_ABS of every dtype; both NaN policies; the shapes and axes below. Python's integers and plain
loops alone, so that the truth has nothing of the kernels.

The elements, which goldens.cc makes again: word i of shape number n is output i of splitmix64 with
the seed n, that is mix((n + (i + 1) * GAMMA) mod 2^64). An element is made of its word alone by
function (n + the dtype's number) mod 5, of floats mod 7: see integer_bits and float_bits.

A line of the file: `shape`, its number, the dimensions joined by `x`, the axes by `,`, `-` for
none; then for each dtype and shape its name, the policy (`any` of integers), the shape's number and
an answer for each op in the order of INTEGER_OPS or FLOAT_OPS. An answer is a hash of the results
in C order, as unsigned integers of their bits: h = mix((h ^ result) + GAMMA) from 0 on. Or it is
`!INDEX:SUM` of an integer sum that does not fit its result, with the lowest such output and its
exact value; of a product `!INDEX`.
"""

import math
import pathlib
import sys

FILE = pathlib.Path(__file__).with_name("reductions.txt")

GAMMA = 0x9E3779B97F4A7C15
ALL_ONES = (1 << 64) - 1

# Kernels split elements at 4 KiB, rows and columns by their length, and more than one reduced run.
SHAPES = [
    # flat
    ([], []),
    ([1], []),
    ([2], [0]),
    ([7], []),
    ([63], []),
    ([64], []),
    ([1000], [-1]),
    ([4097], []),
    ([12289], []),
    ([20011], []),
    # rows
    ([500, 5], [1]),
    ([257, 16], [1]),
    ([100, 65], [-1]),
    ([65, 128], [1]),
    ([40, 257], [1]),
    ([7, 1023], [1]),
    ([3, 4096], [1]),
    ([2, 6001], [1]),
    # columns
    ([11, 9], [0]),
    ([1000, 3], [0]),
    ([64, 100], [0]),
    ([300, 33], [-2]),
    ([8, 1024], [0]),
    ([3, 2500], [0]),
    ([1100, 8], [0]),
    # columns of planes
    ([3, 50, 20], [1]),
    ([2, 1000, 5], [1]),
    ([5, 17, 64], [-2]),
    # several reduced runs
    ([5, 4, 6], [0, 2]),
    ([3, 40, 30], [0, 2]),
    ([2, 3, 4, 5, 6], [0, 2, 4]),
    ([4, 100, 2, 10], [1, 3]),
    ([16, 3, 128], [2, 0]),
    ([2, 9, 500], [-1, 0]),
    # dimensions of length 1, and reduced alone
    ([1, 1, 1], [1]),
    ([1, 300, 1], [0]),
    ([50, 1, 20], [1]),
    ([7, 1, 9, 1, 11], [0, 1, 4]),
    # several axes as one run
    ([1, 20, 30], []),
    ([20, 30, 4], [0, 1]),
]

INTEGER_OPS = [
    "sum", "prod", "min", "max", "argmin", "argmax", "count_nonzero", "any", "all", "nan_count",
    "inf_count", "max_abs", "ptp",
]  # fmt: skip
FLOAT_OPS = INTEGER_OPS[2:-1]

# Bits of an element, and whether it has a sign.
INTEGERS = {
    "bool": (8, True),
    "i8": (8, True),
    "u8": (8, False),
    "i16": (16, True),
    "u16": (16, False),
    "i32": (32, True),
    "u32": (32, False),
    "i64": (64, True),
    "u64": (64, False),
}
# Bits of the exponent, stored bits of the mantissa.
FLOATS = {
    "f16": (5, 10),
    "bf16": (8, 7),
    "f32": (8, 23),
    "f64": (11, 52),
    "f8_e4m3": (4, 3),
    "f8_e5m2": (5, 2),
}
# Has no infinities: NaN is in their place, all of its bits set.
E4M3 = FLOATS["f8_e4m3"]


def mix(z):
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & ALL_ONES
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & ALL_ONES
    return z ^ (z >> 31)


def words_of(number, count):
    return [mix(number + (i + 1) * GAMMA & ALL_ONES) for i in range(count)]


def hash_of(results):
    h = 0
    for result in results:
        h = mix((h ^ result) + GAMMA & ALL_ONES)
    return f"{h:016x}"


def bool_bits(function, w):
    """Either; mostly false; true; false; mostly true."""
    return (w & 1, int(w % 64 == 0), 1, 0, int(w % 64 != 0))[function]


def integer_bits(function, w, bits, is_signed):
    """Any; small ones; 1 and some factors; extremes; such that sums of 64 bits fit."""
    mask = (1 << bits) - 1
    if function == 1:
        return (w % 5 - (2 if is_signed else 0)) & mask
    if function == 2:
        factor = 2 + (w >> 8) % 3 if w % 64 == 0 else 1
        return (-factor if is_signed and w >> 7 & 1 else factor) & mask
    if function == 3:
        largest = mask >> 1 if is_signed else mask
        return (largest, largest + 1 & mask, 0, 1, mask)[w % 5]
    if function == 4 and bits == 64:
        return ((w >> 24) - ((1 << 39) if is_signed else 0)) & mask
    return w & mask


def infinity_of(exponent_bits, stored):
    if (exponent_bits, stored) == E4M3:
        return (1 << (exponent_bits + stored)) - 1
    return ((1 << exponent_bits) - 1) << stored


def float_bits(function, w, exponent_bits, stored):
    """Any; small; finite; special; mostly NaN; zeros and larger ones; zeros and smaller ones."""
    sign = 1 << (exponent_bits + stored)
    infinity = infinity_of(exponent_bits, stored)
    one = ((1 << (exponent_bits - 1)) - 1) << stored
    two = one + (1 << stored)
    x = w & (2 * sign - 1)
    finite = x & ~(sign >> 1) if x & infinity == infinity else x
    if function == 0:
        return x
    if function == 1:
        return (0, sign, one, sign | one, two, sign | two, 1, sign | 1)[w % 8]
    if function == 2:
        return finite
    if function in (5, 6):
        signed = sign if function == 6 else 0
        return (0, sign, signed | one, signed | two)[w % 4]
    nan = infinity | 1 << (stored - 1)
    if function == 3:
        return (nan, infinity | 1, sign | nan, infinity, sign | infinity, 0, sign, infinity - 1,
                sign | 1)[w % 9]  # fmt: skip
    if w % 16 == 0:
        return finite
    return (sign if w >> 5 & 1 else 0) | infinity | (w >> 8 & ((1 << stored) - 1)) | 1


def outputs_of(shape, axes):
    """The number of the output of each element, in C order, and how many outputs there are."""
    reduced = {axis % len(shape) for axis in axes} if axes else set(range(len(shape)))
    outputs = [0]
    count = 1
    for d, length in enumerate(shape):
        if d in reduced:
            outputs = [o for o in outputs for _ in range(length)]
        else:
            outputs = [o * length + i for o in outputs for i in range(length)]
            count *= length
    return outputs, count


def product_of(numbers):
    """The product, or one that does not fit either, of the same sign."""
    if 0 in numbers:
        return 0
    product = 1
    for x in numbers:
        if abs(product) < 1 << 64:
            product *= x
        elif x < 0:
            product = -product
    return product


def integer_answers(rows, bits, is_signed):
    low, high = (-(1 << 63), (1 << 63) - 1) if is_signed else (0, ALL_ONES)

    def exact(results, tells_value):
        for index, result in enumerate(results):
            if not low <= result <= high:
                return f"!{index}:{result}" if tells_value else f"!{index}"
        return hash_of(result & ALL_ONES for result in results)

    def elements(results):
        return hash_of(result & ((1 << bits) - 1) for result in results)

    lowest, highest = [min(row) for row in rows], [max(row) for row in rows]
    nonzero = [len(row) - row.count(0) for row in rows]
    nothing = hash_of(0 for _ in rows)
    return [
        exact([sum(row) for row in rows], True),
        exact([product_of(row) for row in rows], False),
        elements(lowest),
        elements(highest),
        hash_of(row.index(x) for row, x in zip(rows, lowest)),
        hash_of(row.index(x) for row, x in zip(rows, highest)),
        hash_of(nonzero),
        hash_of(int(n > 0) for n in nonzero),
        hash_of(int(n == len(row)) for n, row in zip(nonzero, rows)),
        nothing,
        nothing,
        elements([max(abs(x), abs(y)) for x, y in zip(lowest, highest)]),
        elements([y - x for x, y in zip(lowest, highest)]),
    ]


def float_answers(rows, exponent_bits, stored, omits_nan):
    """Of bits, by which numbers are compared: as a sign and a magnitude they order as integers."""
    sign = 1 << (exponent_bits + stored)
    infinity = infinity_of(exponent_bits, stored)
    nan = infinity | 1 << (stored - 1)
    largest = infinity if nan != infinity else infinity - 1
    none = ALL_ONES  # -1

    def ordered(bits):  # -0.0 as -1, 0.0 as 0
        return bits if bits < sign else ~(bits - sign)

    def signed(key):  # both zeros as 0
        return key if key >= 0 else key + 1

    def bits_of(key):
        return key if key >= 0 else ~key + sign

    results = [[] for _ in FLOAT_OPS]
    for row in rows:
        is_nan = [bits & (sign - 1) > largest for bits in row]
        nans = sum(is_nan)
        places = [i for i in range(len(row)) if not is_nan[i]]
        keys = [ordered(row[i]) for i in places]
        numbers = [signed(key) for key in keys]
        if nans and not omits_nan:
            extremes = [nan, nan]
            indices = [is_nan.index(True)] * 2
        elif not keys:
            extremes = [nan, nan]
            indices = [none, none]
        else:
            extremes = [bits_of(min(keys)), bits_of(max(keys))]
            indices = [places[numbers.index(best)] for best in (min(numbers), max(numbers))]
        zeros = numbers.count(0)
        counted = len(places) + (0 if omits_nan else nans)
        infinities = numbers.count(infinity) + numbers.count(-infinity)
        nonzero = counted - zeros
        counts = [nonzero, int(nonzero > 0), int(zeros == 0), nans, infinities]
        max_abs = max(bits & (sign - 1) for bits in extremes) if counted else 0
        for of_op, answer in zip(results, [*extremes, *indices, *counts, max_abs]):
            of_op.append(answer)
    return [hash_of(of_op) for of_op in results]


def split(elements, outputs, count):
    rows = [[] for _ in range(count)]
    for element, output in zip(elements, outputs):
        rows[output].append(element)
    return rows


def lines():
    for number, (shape, axes) in enumerate(SHAPES):
        dimensions = "x".join(map(str, shape)) or "-"
        yield f"shape {number} {dimensions} {','.join(map(str, axes)) or '-'}"
    for number, (shape, axes) in enumerate(SHAPES):
        words = words_of(number, math.prod(shape))
        outputs, count = outputs_of(shape, axes)
        for dtype_number, (name, (bits, is_signed)) in enumerate(INTEGERS.items()):
            function = (number + dtype_number) % 5
            if name == "bool":
                elements = [bool_bits(function, w) for w in words]
            else:
                elements = [integer_bits(function, w, bits, is_signed) for w in words]
                if is_signed:
                    elements = [x - (1 << bits) if x >> (bits - 1) else x for x in elements]
            answers = integer_answers(split(elements, outputs, count), bits, is_signed)
            yield " ".join([name, "any", str(number), *answers])
        for dtype_number, (name, layout) in enumerate(FLOATS.items(), len(INTEGERS)):
            function = (number + dtype_number) % 7
            rows = split([float_bits(function, w, *layout) for w in words], outputs, count)
            for policy in ("propagate", "omit"):
                answers = float_answers(rows, *layout, policy == "omit")
                yield " ".join([name, policy, str(number), *answers])


def main():
    text = "".join(line + "\n" for line in lines())
    if sys.argv[1:] == ["--check"]:
        if FILE.read_text(encoding="ascii") != text:
            sys.exit(f"{FILE} is not what this script makes")
        print(f"{FILE.name}: {text.count(chr(10))} lines are as made")
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        FILE.write_text(text, encoding="ascii")


if __name__ == "__main__":
    main()
