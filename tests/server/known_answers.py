"""Makes known_answers.inc of server/core/self_test: what a device has to answer before it serves.

Computed from the definitions in exact integers and fractions, rounded once, with nothing of the
project's: `known_answers.py FILE` writes the table, `--check FILE` says whether it is this one.
The tensors are made here as known_data.cc makes them. Their sums and sums of squares are exact in
float64 in any order, so no answer depends on the order of additions.
"""

import argparse
import sys
from fractions import Fraction
from math import isqrt, prod
from pathlib import Path

from known_numbers import (
    BYTE_FLOATS,
    FLOATS,
    INF,
    INTEGERS,
    NAN,
    code_value,
    encoded,
    finite_code,
    float_of,
    is_signed,
)

ROWS = 2
SIZES = (20012, 2002)  # columns: whole tiles and a ragged one; small enough for a batch
OUTSIDE = 43  # the largest distance from the mean; the mean square of 0 to 43 is near 25 squared
MEAN, MIXED_MEAN = 50, 7
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


def enumerator(op):
    """As the kernels' Op has it."""
    words = {"argmin": "arg_min", "argmax": "arg_max"}.get(op, op).split("_")
    return "Op::k" + "".join(word.capitalize() for word in words)


def lines():
    yield "// Made by tests/server/known_answers.py, which explains it; do not edit."
    for kind, ops in OPS.items():
        yield f"constexpr Op k{kind.title()}Ops[] = {{"
        yield from (f"    {enumerator(op)}," for op in ops)
        yield "};"
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
