#!/usr/bin/env python3
"""How far the f32 sums of warpfold, NumPy, torch and CUB are from the exact sum, in ulp.

  bench/kernels/accuracy.py [--count N] [--json FILE] [--date DATE] [--commit SHA]

Every contestant sums the same random elements, of several distributions. The exact sum is
computed in integers: elements of one exponent add up as 24-bit mantissas, and those sums as Python
integers. An ulp is the distance of f32 numbers around the exact sum, so a correctly rounded sum has
an error of up to 0.5. The condition number is the sum of absolute values over that of the values:
the more they cancel, the harder the sum.

Needs numpy; torch and a GPU where they are. Fails where warpfold's error is above 0.5001 ulp or the
backends' bits differ.
"""

import math
import os
import platform
import sys
from fractions import Fraction

import numpy as np

try:
    import torch
except ImportError:
    torch = None

import native
import report

ERROR_MAX_ULP = 0.5001
CHUNK = 1 << 22


def exact_sum(values):
    """The sum of f32 `values` as a Fraction. Of up to 2^29 of them: doubles add the mantissas."""
    by_exponent = np.zeros(256)
    for first in range(0, values.size, CHUNK):
        bits = values[first:first + CHUNK].view(np.uint32)
        exponents = (bits >> 23) & 0xff
        mantissas = (bits & 0x7fffff).astype(np.float64)
        mantissas += np.where(exponents > 0, 2.0 ** 23, 0.0)
        np.negative(mantissas, where=(bits >> 31).astype(bool), out=mantissas)
        by_exponent += np.bincount(exponents, weights=mantissas, minlength=256)
    total = sum(int(mantissa) << max(exponent, 1) for exponent, mantissa in enumerate(by_exponent))
    return Fraction(total, 1 << 150)


def ulp_at(exact):
    """The distance of neighbouring f32 numbers around `exact`, which is not 0."""
    exponent = math.frexp(exact)[1]
    if Fraction(2) ** (exponent - 1) > abs(exact):  # the float nearest to it was rounded up
        exponent -= 1
    return Fraction(2) ** (max(exponent, -125) - 24)


def check_oracle(random):
    """The oracle against math.fsum, whose result is the double nearest to the sum."""
    for exponent_max in (100, -120):  # of all magnitudes, and mostly subnormal
        values = np.ldexp(random.standard_normal(20011, dtype=np.float32),
                          random.integers(-149, exponent_max, 20011, dtype=np.int32))
        if float(exact_sum(values)) != math.fsum(values.tolist()):
            sys.exit("accuracy.py: the exact sum is not math.fsum's")


def uniform(random, count):
    return random.random(count, dtype=np.float32)


def normal(random, count):
    return random.standard_normal(count, dtype=np.float32)


def lognormal(random, count):
    values = random.standard_normal(count, dtype=np.float32)
    values *= np.float32(2)
    return np.exp(values, out=values)


def mixed(random, count):
    """Mantissas in [1, 2), exponents from -20 to 20, both evenly."""
    values = random.random(count, dtype=np.float32)
    values += np.float32(1)
    return np.ldexp(values, random.integers(-20, 21, count, dtype=np.int32), out=values)


def mixed_signed(random, count):
    values = mixed(random, count)
    return np.negative(values, where=random.integers(0, 2, count, dtype=np.uint8).astype(bool),
                       out=values)


def cancelling(random, count):
    """Normal values, their opposites far from them, and 100 values in [0, 1) that remain."""
    values = np.empty(count, np.float32)
    half = (count - 100) // 2
    values[:half] = random.standard_normal(half, dtype=np.float32)
    values[half:2 * half] = -np.roll(values[:half], half // 3)
    values[2 * half:] = random.random(count - 2 * half, dtype=np.float32)
    return values


DISTRIBUTIONS = {
    "uniform in [0, 1)": uniform,
    "normal": normal,
    "lognormal, sigma 2": lognormal,
    "2^-20 to 2^20": mixed,
    "2^-20 to 2^20, both signs": mixed_signed,
    "normal, cancelling": cancelling,
}


class Host:
    """The contestants in host memory."""

    def __init__(self, folder):
        self.cpu = native.Cpu(folder)
        self.threads = len(os.sched_getaffinity(0))

    def sums(self, values):
        result = np.zeros(1, np.float64)
        self.cpu.reduce(native.Reduction("f32", "sum", 1, values.size, 1), values.ctypes.data,
                        result.ctypes.data, self.threads)
        yield "warpfold, CPU", result.view(np.float32)[0]
        yield "NumPy", np.sum(values)
        if torch is not None:
            yield "torch, CPU", np.float32(torch.sum(torch.from_numpy(values)).item())


class Gpu:
    """The contestants on the first GPU."""

    def __init__(self, folder):
        self.cuda = native.Cuda(folder)
        self.stream = torch.cuda.current_stream().cuda_stream

    def sums(self, values):
        data = torch.from_numpy(values).cuda()
        result = torch.zeros(2, device="cuda")
        reduction = native.Reduction("f32", "sum", 1, values.size, 1)
        scratch = self.scratch(self.cuda.scratch_bytes(reduction))
        arguments = (reduction, data.data_ptr(), result.data_ptr(), scratch.data_ptr(), self.stream)
        self.cuda.reduce(*arguments)
        self.cuda.recompute(*arguments)
        yield "warpfold, CUDA", np.float32(result[0].item())
        cub_bytes = self.cuda.cub_scratch_bytes(values.size)
        scratch = self.scratch(cub_bytes)
        self.cuda.cub_sum(data.data_ptr(), values.size, result.data_ptr(), scratch.data_ptr(),
                          cub_bytes, self.stream)
        yield "CUB", np.float32(result[0].item())
        yield "torch, CUDA", np.float32(torch.sum(data).item())

    @staticmethod
    def scratch(size):
        return torch.zeros(size + 1, dtype=torch.uint8, device="cuda")


def measure(name, values, places):
    exact = exact_sum(values)
    ulp = ulp_at(exact)
    row = {"distribution": name, "count": values.size, "exact": float(exact),
           "condition": float(np.sum(np.abs(values), dtype=np.float64) / abs(float(exact))),
           "errors_ulp": {}}
    ours = set()
    for place in places:
        for contestant, value in place.sums(values):
            row["errors_ulp"][contestant] = float(abs(Fraction(float(value)) - exact) / ulp)
            if contestant.startswith("warpfold"):
                ours.add(float(value))
                if row["errors_ulp"][contestant] > ERROR_MAX_ULP:
                    sys.exit(f"accuracy.py: {contestant}, {name}: "
                             f"{row['errors_ulp'][contestant]} ulp")
    if len(ours) > 1:
        sys.exit(f"accuracy.py: {name}: warpfold's backends differ: {ours}")
    print(f"{name}: condition {row['condition']:.3g}; " +
          ", ".join(f"{who} {error:.4g}" for who, error in row["errors_ulp"].items()), flush=True)
    return row


def main():
    parser = report.parser_for(__doc__)
    parser.add_argument("--count", type=int, default=10 ** 8, help="elements of each distribution")
    parser.add_argument("--seed", type=int, default=20261121)
    arguments = parser.parse_args()
    random = np.random.default_rng(arguments.seed)
    check_oracle(random)
    places = [Host(arguments.build)]
    on_gpu = torch is not None and torch.cuda.is_available()
    if on_gpu:
        places.append(Gpu(arguments.build))
    rows = [measure(name, draw(random, arguments.count), places)
            for name, draw in DISTRIBUTIONS.items()]
    report.write(arguments, rows, gpu=torch.cuda.get_device_name() if on_gpu else None,
                 processor=f"{platform.machine()}, {places[0].threads} threads, "
                           f"{places[0].cpu.simd}",
                 numpy=np.__version__, torch=torch.__version__ if torch else None,
                 seed=arguments.seed)


if __name__ == "__main__":
    main()
