"""Makes server/core/known_answers.inc: the answers that a device has to give before it serves.

Computed from the definitions in exact integers and fractions, rounded once, with nothing of the
project's: `known_answers.py FILE` writes the table, `--check FILE` says whether it is this one.
The tensors are made here as server/core/known_data.cc makes them. Their sums and sums of squares
are exact in float64 in any order, so no answer depends on the order of additions.
"""

import argparse
import struct
import sys
from fractions import Fraction
from math import isqrt, prod
from pathlib import Path

ROWS = 2
SIZES = (20012, 2002)  # columns: whole tiles and a ragged one; small enough for a batch
OUTSIDE = 43  # the largest distance from the mean; the mean square of 0 to 43 is near 25 squared
MEAN, MIXED_MEAN = 50, 7
NAN, INF = "nan", float("inf")

# bits, then: of integers whether signed; of floats precision and smallest exponent of a unit;
# the factor of the balanced elements and its power of two.
INTEGERS = {
    "i8": (8, True, 1),
    "u8": (8, False, 2),
    "i16": (16, True, 300),
    "u16": (16, False, 600),
    "i32": (32, True, 4099),
    "u32": (32, False, 4099),
    "i64": (64, True, 4099),
    "u64": (64, False, 4099),
}
FLOATS = {
    "f16": (16, 11, -24, 21, -10),
    "bf16": (16, 8, -133, 1, -3),
    "f32": (32, 24, -149, 4099, -10),
    "f64": (64, 53, -1074, 4099, -40),
    "f8_e4m3": (8, 4, -9, 1, -9),
    "f8_e5m2": (8, 3, -16, 1, -16),
}
BYTE_FLOATS = ("f8_e4m3", "f8_e5m2")  # whose sums are f32
QUIET_NAN = {
    "f16": bytes.fromhex("007e"),
    "bf16": bytes.fromhex("c07f"),
    "f32": bytes.fromhex("0000c07f"),
    "f64": bytes.fromhex("000000000000f87f"),
    "f8_e4m3": b"\x7f",
    "f8_e5m2": b"\x7e",
}
NAMES = {"bool": "Bool", "bf16": "BF16", "f8_e4m3": "F8E4M3", "f8_e5m2": "F8E5M2"}
DTYPES = ["bool", *INTEGERS, *FLOATS]

COUNTS = ["count_nonzero", "any", "all"]
ARGS = ["argmin", "argmax"]
MOMENTS = ["mean", "var", "std", "l1_norm", "l2_norm"]
EXTREMES = ["min", "max"]
OF_BOTH = ["max_abs", "ptp"]
SPECIALS = ["nan_count", "inf_count"]
ALL_BUT_PROD = ["sum", *EXTREMES, *MOMENTS, *COUNTS, *SPECIALS, *ARGS]
OPS = {
    "balanced": ALL_BUT_PROD,
    "omit": ALL_BUT_PROD,
    "product": ["prod", "sum", *EXTREMES, *COUNTS, *ARGS],
    "extremes": [*EXTREMES, *ARGS, *COUNTS, *OF_BOTH],
    "special": ["sum", *EXTREMES, *ARGS, *SPECIALS, *COUNTS, *OF_BOTH],
}


def is_signed(dtype):
    return dtype in FLOATS or (dtype in INTEGERS and INTEGERS[dtype][1])


def states(seed, count):
    """Knuth's linear congruential generator."""
    state = seed
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        yield state


def row_states(columns, row):
    return states(1000 * columns + row, columns)


def is_hole(state, pair, has_holes):
    return has_holes and pair >= 4 and (state >> 40) % 8 == 0


def distances(seed, columns, has_holes):
    """Of each pair of elements from the mean; none of a pair that is missing."""
    for pair, state in enumerate(states(seed, columns // 2)):
        hole = is_hole(state, pair, has_holes)
        yield None if hole else (state >> 32) % (OUTSIDE + 1)


def four_squares(total):
    """total as four squares of at most OUTSIDE**2; None when that cannot be."""
    for a in range(min(isqrt(total), OUTSIDE), -1, -1):
        for b in range(min(isqrt(total - a * a), a), -1, -1):
            rest = total - a * a - b * b
            for c in range(min(isqrt(rest), b), -1, -1):
                d = isqrt(rest - c * c)
                if d * d == rest - c * c and d <= c:
                    return a, b, c, d
    return None


def balance(columns, row, has_holes):
    """A seed, and four distances in place of its first, that make the variance a square."""
    seed = 1000 * columns + 10 * row + has_holes
    while True:
        seed += 1_000_003
        pairs = [d for d in distances(seed, columns, has_holes) if d is not None]
        others = sum(d * d for d in pairs[4:])
        k = isqrt(others // len(pairs))
        while k * k * len(pairs) < others:
            k += 1
        rest = k * k * len(pairs) - others
        if rest <= 4 * OUTSIDE**2 and (first := four_squares(rest)) is not None:
            return seed, first


BALANCES = {
    (columns, row, holes): balance(columns, row, holes)
    for holes in (False, True)
    for columns in SIZES
    for row in range(ROWS)
}


def unit_power(kind, dtype):
    """A tensor's elements are made as integers; this power of two is 1."""
    if dtype not in FLOATS:
        return 0
    if kind == "extremes" and dtype in BYTE_FLOATS:
        return FLOATS[dtype][4]
    return {"balanced": FLOATS[dtype][4], "omit": FLOATS[dtype][4], "product": -1}.get(kind, 0)


def balanced(dtype, columns, row, has_holes=False):
    seed, first = BALANCES[columns, row, has_holes]
    mean = MIXED_MEAN if row == 1 and is_signed(dtype) else MEAN
    factor = FLOATS[dtype][3] if dtype in FLOATS else INTEGERS[dtype][2] if dtype != "bool" else 1
    elements = []
    for pair, state in enumerate(states(seed, columns // 2)):
        distance = first[pair] if pair < 4 else (state >> 32) % (OUTSIDE + 1)
        two = [mean + distance, mean - distance] if dtype != "bool" else [1, 0]
        if state >> 63:
            two.reverse()
        hole = is_hole(state, pair, has_holes)
        elements += [NAN, NAN] if hole else [two[0] * factor, two[1] * factor]
    return elements


def code_value(dtype, code):
    """What a float of 8 bits is, in units of its smallest; None of what is no number."""
    _, precision, _ = FLOATS[dtype][:3]
    exponent, mantissa = divmod(code & 0x7F, 1 << (precision - 1))
    ones = 0x7F >> (precision - 1)
    if code & 0x7F == 0x7F or (exponent == ones and dtype == "f8_e5m2"):
        return None
    size = mantissa if exponent == 0 else (mantissa | 1 << (precision - 1)) << (exponent - 1)
    return -size if code & 0x80 else size


def finite_code(dtype, code):
    """The code, or where all bits of its exponent are set the one a binade below."""
    precision = FLOATS[dtype][1]
    ones = 0x80 - (1 << (precision - 1))
    return code - (1 << (precision - 1)) if code & ones == ones else code


def codes(dtype, columns, row, has_holes):
    """In place of balanced elements, which floats of 8 bits do not have."""
    seed, _ = BALANCES[columns, row, has_holes]
    elements = []
    for pair, state in enumerate(states(seed, columns // 2)):
        if is_hole(state, pair, has_holes):
            elements += [NAN, NAN]
            continue
        two = (state >> 32 & 0xFF, state >> 40 & 0xFF)
        elements += [code_value(dtype, finite_code(dtype, code)) for code in two]
    return elements


def product(dtype, columns, row):
    elements = []
    for state in row_states(columns, row):
        draw = (state >> 33) % (columns // 10)
        if dtype == "bool":
            elements.append(int(row == 0 or draw != 0))
            continue
        # In halves of floats: 1/2, 3 and 1.
        value = ((1, 1, 6, 2) if dtype in FLOATS else (2, 2, 3, 1))[min(draw, 3)]
        elements.append(-value if is_signed(dtype) and (state >> 45) % 16 == 0 else value)
    return elements


def float_of(dtype, bits):
    """The value of finite bits."""
    if dtype == "bf16":
        return struct.unpack("<f", struct.pack("<I", bits << 16))[0]
    code, integer = {"f16": "eH", "f32": "fI", "f64": "dQ"}[dtype]
    return struct.unpack("<" + code, struct.pack("<" + integer, bits))[0]


def extremes(dtype, columns, row):
    """The top bits of the generator; of floats never all exponent bits."""
    elements = []
    for state in row_states(columns, row):
        if (state >> 20) % 10 == 0:
            elements.append(0)
        elif dtype == "bool":
            elements.append(state >> 63)
        elif dtype in INTEGERS:
            bits = state >> (64 - INTEGERS[dtype][0])
            wraps = is_signed(dtype) and state >> 63
            elements.append(bits - (1 << INTEGERS[dtype][0] if wraps else 0))
        else:
            size, precision = FLOATS[dtype][:2]
            bits = state >> (64 - size)
            if dtype in BYTE_FLOATS:
                elements.append(code_value(dtype, finite_code(dtype, bits)))
                continue
            exponent_ones = (1 << (size - 1)) - (1 << (precision - 1))
            if bits & exponent_ones == exponent_ones:
                bits -= 1 << (precision - 1)
            elements.append(float_of(dtype, bits))
    return elements


def special(dtype, columns, row):
    elements = []
    for state in row_states(columns, row):
        draw = (state >> 33) % 50
        if draw < 3:
            specials = [NAN, INF, -INF] if dtype != "f8_e4m3" else [NAN, NAN, NAN]
            elements.append(specials[draw])
        else:
            size = draw % 8 if dtype in BYTE_FLOATS else draw
            elements.append(0 if draw < 10 else size if state >> 63 else -size)
    return elements


def result_dtype(op, dtype):
    if dtype in BYTE_FLOATS and op in ("sum", "prod", *MOMENTS, "ptp"):
        return "f32"
    if op in ("sum", "prod"):
        return dtype if dtype in FLOATS else "i64" if is_signed(dtype) else "u64"
    if op in ("mean", "var", "std", "l1_norm", "l2_norm"):
        return dtype if dtype in FLOATS else "f64"
    if op in ("min", "max"):
        return dtype
    if op in ("max_abs", "ptp"):
        return dtype.replace("i", "u") if dtype in INTEGERS else dtype
    return "bool" if op in ("any", "all") else "i64"


def rounded(value, dtype, is_root=False):
    """To nearest even, once: of `value`, or of its square root. Infinite past the largest."""
    _, precision, smallest = FLOATS[dtype][:3]
    negative, size = value < 0, abs(value)
    if size == 0:
        return size
    power = size.numerator.bit_length() - size.denominator.bit_length()
    power = power // 2 if is_root else power
    unit_power = max(power - precision - 4, smallest - 4)  # a few bits more than are kept
    scaled = size / Fraction(2) ** (unit_power * (2 if is_root else 1))
    units = isqrt(int(scaled)) if is_root else int(scaled)
    exact = units * units == scaled if is_root else units == scaled
    drop = max(units.bit_length() - precision, smallest - unit_power)
    kept, rest = divmod(units, 1 << drop)
    half = 1 << (drop - 1)
    if rest > half or (rest == half and (not exact or kept & 1)):
        kept += 1
    result = kept * Fraction(2) ** (unit_power + drop)
    if result >= Fraction(2) ** (3 - smallest - precision):
        result = INF
    return -result if negative else result


def encoded(value, dtype, is_root=False):
    """The bytes of a result."""
    if dtype == "bool":
        return bytes([int(value)])
    if dtype in INTEGERS:
        size, signed, _ = INTEGERS[dtype]
        assert value == int(value)
        return int(value).to_bytes(size // 8, "little", signed=signed)
    if value == NAN:
        return QUIET_NAN[dtype]
    if dtype in BYTE_FLOATS:
        if abs(value) == INF:
            return b"\x7c" if value > 0 else b"\xfc"
        units = value / Fraction(2) ** FLOATS[dtype][2]
        return bytes([next(c for c in range(256) if code_value(dtype, c) == units)])
    number = float(rounded(value, dtype, is_root)) if abs(value) < INF else float("inf")
    number = -number if value < 0 < number else number
    if dtype == "bf16":
        return struct.pack("<f", number)[2:]
    return struct.pack("<" + {"f16": "e", "f32": "f", "f64": "d"}[dtype], number)


def answer(op, dtype, row, omits, power):
    """The bytes of one output; elements are in units of 2**power."""
    there = [(x, i) for i, x in enumerate(row) if not (omits and x == NAN)]
    values = [x for x, _ in there]
    numbers = [x for x in values if x != NAN]
    has_nan = len(numbers) < len(values)
    out = result_dtype(op, dtype)
    if op in ("nan_count", "inf_count", "count_nonzero", "any", "all"):
        nonzero = sum(x == NAN or x != 0 for x in values)
        counts = {
            "nan_count": sum(x == NAN for x in row),
            "inf_count": sum(x != NAN and abs(x) == INF for x in row),
            "count_nonzero": nonzero,
            "any": nonzero > 0,
            "all": nonzero == len(values),
        }
        return encoded(counts[op], out)
    if op in ("argmin", "argmax"):
        best = NAN if has_nan else min(numbers) if op == "argmin" else max(numbers)
        return encoded(next(i for x, i in there if x == best), out)
    if has_nan:
        return encoded(NAN, out)
    unit = Fraction(2) ** power
    if op in ("min", "max"):
        return encoded(Fraction((min if op == "min" else max)(numbers)) * unit, out)
    if op == "max_abs":
        return encoded(Fraction(max(map(abs, numbers))) * unit, out)
    if op == "ptp":
        return encoded(Fraction(max(numbers)) * unit - Fraction(min(numbers)) * unit, out)
    count, total = len(numbers), sum(numbers)
    if op in ("var", "std"):
        moment = Fraction(count * sum(x * x for x in numbers) - total * total, count * count)
        root = Fraction(isqrt(moment.numerator), isqrt(moment.denominator))
        assert root**2 == moment or dtype in BYTE_FLOATS
        return encoded(moment * unit * unit, out, is_root=op == "std")
    if op == "l2_norm":
        return encoded(sum(x * x for x in numbers) * unit * unit, out, is_root=True)
    if op == "prod":
        return encoded(prod(numbers) * unit**count, out)
    plain = {"sum": total, "mean": Fraction(total, count), "l1_norm": sum(map(abs, numbers))}
    return encoded(plain[op] * unit, out)


def tensor(kind, dtype, columns):
    if kind in ("balanced", "omit") and dtype in BYTE_FLOATS:
        return [codes(dtype, columns, row, kind == "omit") for row in range(ROWS)]
    if kind in ("balanced", "omit"):
        return [balanced(dtype, columns, row, kind == "omit") for row in range(ROWS)]
    make = {"product": product, "extremes": extremes, "special": special}[kind]
    return [make(dtype, columns, row) for row in range(ROWS)]


def lines():
    yield "// Made by tests/server/known_answers.py, which explains it; do not edit."
    yield "constexpr Balance kBalances[] = {"
    for (columns, row, holes), (seed, first) in BALANCES.items():
        numbers = ", ".join(map(str, first))
        yield f"    {{{columns}, {row}, {str(holes).lower()}, {seed}, {{{numbers}}}}},"
    yield "};"
    yield "constexpr AnswerLine kAnswers[] = {"
    for dtype in DTYPES:
        for columns in SIZES:
            for kind, ops in OPS.items():
                if kind in ("omit", "special") and dtype not in FLOATS:
                    continue
                rows, power = tensor(kind, dtype, columns), unit_power(kind, dtype)
                outputs = [
                    answer(op, dtype, row, kind == "omit", power) for op in ops for row in rows
                ]
                text = b"".join(outputs).hex()
                name = NAMES.get(dtype, dtype.upper())
                yield f'    {{DType::k{name}, Kind::k{kind.title()}, {columns}, "{text}"}},'
    yield "};"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    arguments = parser.parse_args()
    text = "\n".join(lines()) + "\n"
    if not arguments.check:
        arguments.file.write_text(text, encoding="utf-8")
    elif arguments.file.read_text(encoding="utf-8") != text:
        sys.exit(f"{arguments.file} is not what {Path(__file__).name} makes")


if __name__ == "__main__":
    main()
