"""The formats of the known answers' dtypes: what bits are, and what a number rounds to."""

import struct
from fractions import Fraction
from math import isqrt

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


def is_signed(dtype):
    return dtype in FLOATS or (dtype in INTEGERS and INTEGERS[dtype][1])


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


def float_of(dtype, bits):
    """The value of finite bits."""
    if dtype == "bf16":
        return struct.unpack("<f", struct.pack("<I", bits << 16))[0]
    code, integer = {"f16": "eH", "f32": "fI", "f64": "dQ"}[dtype]
    return struct.unpack("<" + code, struct.pack("<" + integer, bits))[0]


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
