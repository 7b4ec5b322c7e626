#!/usr/bin/env python3
"""Times the CPU's exact sums of floats in memory against sums that round.

  bench/kernels/cpu_sums.py [--json FILE] [--date DATE] [--commit SHA] [--log2-bytes N]

One core and all cores: SUM against a loop that adds in float64 and does nothing else. One core:
nine statistics against NumPy's mean and std, SUM along columns against np.sum(dtype=float64), and
SUM and the statistics of data that are hard to sum over those of normal data. Contestants take
turns; a time is the least of the rounds, for what else a machine does only adds to it.

Needs numpy.
"""

import os

import numpy as np

import native
import report
from cpu import DESCRIBE, least_seconds, processor_name, timed

# bf16 as the bits of NumPy's float32 that begin with it.
DTYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": None}
ELEMENT_BYTES = {"f32": 4, "f64": 8, "f16": 2, "bf16": 2}
ROUNDS = 7
COLUMNS = 1024


def as_dtype(dtype, numbers):
    """float64 numbers as elements: of bf16 as its bits, cut off."""
    if dtype == "bf16":
        return (numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return numbers.astype(DTYPES[dtype])


def spread(count, binades, random):
    return np.ldexp(random.random(count) - 0.5, random.integers(0, binades, count) - binades // 2)


def kinds(dtype, count, random):
    """Names, and elements of which a pattern of 1 Mi repeats."""
    size = min(count, 1 << 20)
    is_half = dtype == "f16"
    normal = random.standard_normal(size)
    smallest = {"f32": 2.0**-126, "f64": 2.0**-1022, "f16": 2.0**-14, "bf16": 2.0**-126}[dtype]
    huge = normal.copy()
    huge[37::256] *= 2.0 ** (12 if is_half else 60)
    opposites = normal.copy()
    opposites[1::2] = -opposites[0::2]
    numbers = {"normal": normal, "80 binades": spread(size, 26 if is_half else 80, random),
               "250 binades": spread(size, 30 if is_half else 250, random),
               "subnormal": normal * smallest / 64, "one huge of 256": huge,
               "opposites": opposites}
    with np.errstate(over="ignore", under="ignore"):
        return {name: np.resize(as_dtype(dtype, of), count) for name, of in numbers.items()}


def beside_plain(cpu, dtype, values, threads):
    results = np.zeros(1)
    reduction = native.Reduction(dtype, "sum", 1, values.size, 1)
    ours, plain = least_seconds([
        lambda: cpu.reduce(reduction, values.ctypes.data, results.ctypes.data, threads),
        lambda: cpu.plain_sum(dtype, values.ctypes.data, values.size, threads)], ROUNDS)
    return {"case": "plain sum", "dtype": dtype, "ops": "sum", "threads": threads,
            "warpfold_gbps": values.nbytes / ours * 1e-9,
            "other_gbps": values.nbytes / plain * 1e-9, "ratio": plain / ours}


def beside_numpy(cpu, case, dtype, ops, values, shape, function):
    results = np.zeros((ops.count(",") + 1) * shape[0] * shape[2])
    reduction = native.Reduction(dtype, ops, *shape)
    ours, theirs = least_seconds([
        lambda: cpu.reduce(reduction, values.ctypes.data, results.ctypes.data),
        timed(function, 1)], ROUNDS)
    return {"case": case, "dtype": dtype, "ops": ops, "threads": 1,
            "warpfold_gbps": values.nbytes / ours * 1e-9,
            "other_gbps": values.nbytes / theirs * 1e-9, "ratio": theirs / ours}


def hard(cpu, dtype, count, random):
    results = np.zeros(9)
    inputs = kinds(dtype, count, random)
    for name, ops in (("sum", "sum"), ("nine", DESCRIBE)):
        reduction = native.Reduction(dtype, ops, 1, count, 1)
        seconds = least_seconds([
            lambda of=values: cpu.reduce(reduction, of.ctypes.data, results.ctypes.data)
            for values in inputs.values()], ROUNDS)
        for kind, of_kind in zip(inputs, seconds):
            yield {"case": "hard data", "dtype": dtype, "ops": name, "data": kind, "threads": 1,
                   "warpfold_gbps": inputs[kind].nbytes / of_kind * 1e-9,
                   "over_normal": of_kind / seconds[0]}


def show(row):
    print("  ".join(f"{value:.2f}" if isinstance(value, float) else str(value)[:20]
                    for value in row.values()), flush=True)
    return row


def main():
    parser = report.parser_for(__doc__)
    parser.add_argument("--log2-bytes", type=int, default=28, help="of a tensor")
    arguments = parser.parse_args()
    cpu = native.Cpu(arguments.build)
    random = np.random.default_rng(20261127)
    threads = len(os.sched_getaffinity(0))
    size = 1 << arguments.log2_bytes
    rows = []
    for dtype in ("f32", "f64", "bf16"):
        normal = random.standard_normal(1 << 20)
        values = np.resize(as_dtype(dtype, normal), size // ELEMENT_BYTES[dtype])
        rows += [show(beside_plain(cpu, dtype, values, of)) for of in sorted({1, threads})]
        if dtype == "bf16":
            continue
        rows.append(show(beside_numpy(cpu, "mean and std", dtype, DESCRIBE, values,
                                      (1, values.size, 1), lambda v=values: (v.mean(), v.std()))))
        table = values.reshape(-1, COLUMNS)
        rows.append(show(beside_numpy(cpu, f"{COLUMNS} columns", dtype, "sum", values,
                                      (1, *table.shape),
                                      lambda t=table: t.sum(axis=0, dtype=np.float64))))
    for dtype in DTYPES:
        count = size // 4 // ELEMENT_BYTES[dtype]
        rows += [show(row) for row in hard(cpu, dtype, count, random)]
    report.write(arguments, rows, processor=processor_name(), threads=threads, simd=cpu.simd,
                 numpy=np.__version__)


if __name__ == "__main__":
    main()
