#!/usr/bin/env python3
"""Times the CPU kernels against numpy.sum on one core and a plain read of memory on all.

  bench/kernels/cpu.py [--json FILE] [--date DATE] [--commit SHA] [--max-log2 N]

One core: f32 SUM of 2^4 to 2^28 elements, ours by ctypes and numpy.sum as Python calls them, the
call included in both; and 4 MiB along rows and columns, by several ops of several dtypes, against
NumPy's functions of the same name. All cores: SUM, the describe set and all ops of several dtypes
in memory, 2 GiB or what --bytes says, against a read of the same bytes that does nothing with
them.
Contestants take turns; a time is the least of the rounds, for what else a machine does only adds
to it.

Needs numpy.
"""

import os
import platform
import time

import numpy as np

import native
import report

DESCRIBE = "sum,mean,var,min,max,nan_count,inf_count,l1_norm,l2_norm"
ALL = ("sum,min,max,mean,prod,var,std,l1_norm,l2_norm,count_nonzero,any,all,nan_count,inf_count,"
       "argmin,argmax")
DTYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i8": np.int8, "i32": np.int32,
          "i64": np.int64}
# Along one axis, against NumPy: [outer, count, inner] of so many bytes, folded along count.
AXES_BYTES = 4 << 20
AXES_DTYPES = ("f32", "f64", "i32", "i8")
NUMPY_OPS = {"sum": np.sum, "min": np.min, "argmax": np.argmax, "var": np.var}
ROUNDS = 15


def least_seconds(contestants, rounds=ROUNDS):
    """The least seconds of a call of each, which take turns. A contestant times itself."""
    seconds = [contestant() for contestant in contestants]  # the first call warms up
    for _ in range(rounds):
        seconds = [min(best, contestant()) for best, contestant in zip(seconds, contestants)]
    return seconds


def timed(call, repeats):
    """A contestant that calls `call` so many times from Python."""
    def seconds():
        begin = time.perf_counter()
        for _ in range(repeats):
            call()
        return (time.perf_counter() - begin) / repeats
    return seconds


def one_core(cpu, log2, values):
    count = 1 << log2
    x = values[:count]
    results = np.zeros(1)
    reduction = native.Reduction("f32", "sum", 1, count, 1)
    data, to = x.ctypes.data, results.ctypes.data
    repeats = max(1, min(20000, (1 << 22) // count))
    ours, theirs, alone, read = least_seconds([
        timed(lambda: cpu.reduce(reduction, data, to), repeats),
        timed(lambda: np.sum(x), repeats),
        lambda: cpu.reduce(reduction, data, to, repeats=repeats),
        lambda: cpu.read(data, x.nbytes, repeats=repeats)])
    row = {"case": "one core", "dtype": "f32", "ops": "sum", "elements": count,
           "warpfold_us": ours * 1e6, "numpy_us": theirs * 1e6, "ratio": theirs / ours,
           "without_call_us": alone * 1e6, "read_us": read * 1e6}
    print(f"one core, 2^{log2:<2}: {ours * 1e6:10.2f} us, numpy.sum {theirs * 1e6:10.2f}  "
          f"x{row['ratio']:.2f}   without Python {alone * 1e6:10.2f} us, "
          f"{x.nbytes / alone * 1e-9:5.1f} GB/s; read {x.nbytes / read * 1e-9:5.1f}", flush=True)
    return row


def axis_shapes(count):
    """Rows from short to long, then columns from few to many, long and short."""
    rows = [(count >> log2, 1 << log2, 1) for log2 in (2, 4, 6, 8, 10, 13)]
    columns = [(1, count >> log2, 1 << log2) for log2 in (2, 4, 6, 10)]
    return rows + columns + [(1, 16, count >> 4), (count >> 14, 128, 128)]


def one_axis(cpu, dtype, op, shape, values):
    results = np.zeros(shape[0] * shape[2])
    reduction = native.Reduction(dtype, op, *shape)
    data, to = values.ctypes.data, results.ctypes.data
    tensor = values.reshape(shape)
    ours, theirs = least_seconds([
        timed(lambda: cpu.reduce(reduction, data, to), 1),
        timed(lambda: NUMPY_OPS[op](tensor, axis=1), 1)], rounds=7)
    row = {"case": "one axis", "dtype": dtype, "ops": op, "outer": shape[0], "count": shape[1],
           "inner": shape[2], "warpfold_us": ours * 1e6, "numpy_us": theirs * 1e6,
           "ratio": theirs / ours}
    print(f"one core, {dtype:3} {op:6} {str(shape):20}: {ours * 1e6:10.2f} us, NumPy "
          f"{theirs * 1e6:10.2f}  x{row['ratio']:.2f}", flush=True)
    return row


def all_cores(cpu, dtype, ops_name, ops, values, threads):
    results = np.zeros(64)
    reduction = native.Reduction(dtype, ops, 1, values.size, 1)
    ours, read = least_seconds([
        lambda: cpu.reduce(reduction, values.ctypes.data, results.ctypes.data, threads),
        lambda: cpu.read(values.ctypes.data, values.nbytes, threads)], rounds=7)
    row = {"case": "all cores", "threads": threads, "dtype": dtype, "ops": ops_name,
           "elements": values.size, "warpfold_gbps": values.nbytes / ours * 1e-9,
           "read_gbps": values.nbytes / read * 1e-9, "ratio": read / ours}
    print(f"{threads} threads, {dtype:4} {ops_name:8}: {row['warpfold_gbps']:6.1f} GB/s, read "
          f"{row['read_gbps']:6.1f}  x{row['ratio']:.2f}", flush=True)
    return row


def elements(dtype, size, random):
    """`size` bytes of them, small numbers of both signs; a pattern of 64 Ki repeats."""
    numbers = random.standard_normal(1 << 16) * 40
    return np.resize(numbers.astype(DTYPES[dtype]), size // np.dtype(DTYPES[dtype]).itemsize)


def main():
    parser = report.parser_for(__doc__)
    parser.add_argument("--max-log2", type=int, default=28, help="f32 elements on one core")
    parser.add_argument("--bytes", type=int, default=2 << 30, help="of a tensor on all cores")
    arguments = parser.parse_args()
    cpu = native.Cpu(arguments.build)
    random = np.random.default_rng(20261121)
    values = elements("f32", 4 << arguments.max_log2, random)
    rows = [one_core(cpu, log2, values) for log2 in range(4, arguments.max_log2 + 1, 2)]
    for dtype in AXES_DTYPES:
        values = elements(dtype, AXES_BYTES, random)
        rows += [one_axis(cpu, dtype, op, shape, values)
                 for op in NUMPY_OPS for shape in axis_shapes(values.size)]
    threads = len(os.sched_getaffinity(0))
    for dtype in DTYPES:
        values = elements(dtype, arguments.bytes, random)
        for name, ops in (("sum", "sum"), ("describe", DESCRIBE), ("all", ALL)):
            rows.append(all_cores(cpu, dtype, name, ops, values, threads))
    report.write(arguments, rows, processor=processor_name(), threads=threads, simd=cpu.simd,
                 numpy=np.__version__)


def processor_name():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":")[1].strip() for line in file
                        if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


if __name__ == "__main__":
    main()
