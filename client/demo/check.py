#!/usr/bin/env python3
"""Checks the output of `warpfold describe --json` against NumPy, value by value.

usage: check.py MODEL.safetensors DESCRIBE.json

The checkpoint is read here by a few lines of Python and NumPy alone. Minima, maxima, counts (of
elements, NaNs and infinities) and integer sums must be equal. Float sums and means must lie in an
interval that is derived, not chosen: see float_interval. Prints one line; exits 1 and lists every
difference when there is one.
"""

import itertools
import json
import math
import struct
import sys
from fractions import Fraction

import numpy as np

DTYPES = {"F32": ("f32", np.float32), "F64": ("f64", np.float64),
          "I32": ("i32", np.int32), "I64": ("i64", np.int64)}
UNIT_ROUNDOFF = 2.0 ** -53  # of float64


def read_safetensors(path):
    """Yields (name, dtype name, array) for each tensor of the file."""
    with open(path, "rb") as file:
        (header_bytes,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(header_bytes))
        data = np.memmap(path, np.uint8, "r", offset=8 + header_bytes)
    header.pop("__metadata__", None)
    for name, entry in header.items():
        dtype_name, dtype = DTYPES[entry["dtype"]]
        begin, end = entry["data_offsets"]
        yield name, dtype_name, data[begin:end].view(dtype).reshape(entry["shape"])


def exact_sum(values):
    """The sum of float64 values, rounded once (math.fsum is exact)."""
    chunks = (values[i:i + 65536].tolist() for i in range(0, values.size, 65536))
    return math.fsum(itertools.chain.from_iterable(chunks))


def float_interval(exact, magnitude, count, divisor):
    """The least and the greatest float64 that a sum of `count` values, divided, may come out as.

    `exact` is the sum, `magnitude` the sum of absolute values.

    The server adds in float64 along a tree. A value takes part in at most `depth` additions: no
    more than 8 in a row in a tile, then binary folds of workers and tiles. So by the standard bound
    (Higham, Accuracy and Stability, section 4.2) the sum is off by at most
    depth * u / (1 - depth * u) * sum|x|. The depth is taken 8 larger, which covers the rounding of
    `magnitude`; the slack covers the roundings of `exact`, of the ends, and of the division.
    """
    depth = 16 + math.ceil(math.log2(max(count, 2)))
    error = depth * UNIT_ROUNDOFF / (1 - depth * UNIT_ROUNDOFF) * magnitude
    low, high = exact - error, exact + error
    slack = 4 * UNIT_ROUNDOFF * max(abs(low), abs(high))
    return (low - slack) / divisor, (high + slack) / divisor


class Checker:
    def __init__(self):
        self.values = 0
        self.nearest = 0
        self.floats = 0
        self.differences = []

    def equal(self, what, got, expected):
        self.values += 1
        if not (got == expected or (got != got and expected != expected)):
            self.differences.append(f"{what}: {got!r}, but NumPy has {expected!r}")

    def between(self, what, got, low, high, exact, dtype):
        """Rounding to `dtype` keeps order, so the rounded answer lies between the rounded ends."""
        self.values += 1
        self.floats += 1
        self.nearest += dtype(got) == dtype(exact)
        if not dtype(low) <= dtype(got) <= dtype(high):
            self.differences.append(f"{what}: {got!r}, outside [{dtype(low)!r}, {dtype(high)!r}]")

    def tensor(self, name, array, row):
        flat = array.ravel()
        self.equal(f"{name} NaNs", row["nan_count"], int(np.isnan(flat).sum()))
        self.equal(f"{name} infinities", row["inf_count"], int(np.isinf(flat).sum()))
        if array.dtype.kind == "f" and flat.size > 0:
            round_to = array.dtype.type
            self.equal(f"{name} min", round_to(float(row["min"])), flat.min())
            self.equal(f"{name} max", round_to(float(row["max"])), flat.max())
            self.float_sums(name, flat, row)
        elif flat.size > 0:
            self.equal(f"{name} min", row["min"], int(flat.min()))
            self.equal(f"{name} max", row["max"], int(flat.max()))
            total = int(flat.sum(dtype=object))
            self.equal(f"{name} sum", row["sum"], total)
            if abs(total) <= 2 ** 53:  # the sum is a float64: one rounding, in the division
                self.equal(f"{name} mean", row["mean"], float(Fraction(total, flat.size)))
            else:
                mean = float(Fraction(total, flat.size))
                self.between(f"{name} mean", row["mean"], np.nextafter(mean, -np.inf),
                             np.nextafter(mean, np.inf), mean, np.float64)

    def float_sums(self, name, flat, row):
        dtype = flat.dtype.type
        wide = flat.astype(np.float64)
        if not np.isfinite(wide).all():
            self.equal(f"{name} sum", float(row["sum"]), float(wide.sum()))
            self.equal(f"{name} mean", float(row["mean"]), float(wide.mean()))
            return
        exact = exact_sum(wide)
        magnitude = float(np.abs(wide).sum())
        for what, divisor in (("sum", 1), ("mean", flat.size)):
            low, high = float_interval(exact, magnitude, flat.size, divisor)
            self.between(f"{name} {what}", float(row[what]), low, high, exact / divisor, dtype)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[2], encoding="utf-8") as file:
        rows = {row["name"]: row for row in json.load(file)["tensors"]}
    checker = Checker()
    names = set()
    for name, dtype_name, array in read_safetensors(sys.argv[1]):
        names.add(name)
        row = rows.get(name)
        if row is None:
            checker.differences.append(f"{name}: is not described")
        elif row["note"] is not None:
            checker.differences.append(f"{name}: {row['note']}")
        elif [row["dtype"], row["shape"], row["count"]] != [
                dtype_name, list(array.shape), array.size]:
            checker.differences.append(f"{name}: dtype, shape or count differ")
        else:
            checker.tensor(name, array, row)
    for name in rows.keys() - names:
        checker.differences.append(f"{name}: is not in the file")
    if checker.differences or checker.values == 0:
        print(*checker.differences, sep="\n", file=sys.stderr)
        sys.exit(f"checked {len(names)} tensors, {checker.values} values: "
                 f"{len(checker.differences)} differ")
    print(f"checked {len(names)} tensors, {checker.values} values: all agree "
          f"({checker.nearest} of {checker.floats} float sums and means are the nearest float)")


if __name__ == "__main__":
    main()
