#!/usr/bin/env python3
"""Times reductions of data that are hard to sum, of float tensors on a GPU, over those of normal
data, with all that is summed again.

  bench/kernels/hard_data.py [--json FILE] [--date DATE] [--commit SHA] [--log2-bytes N]
                             [--dtype NAME]...

Each is what the server runs until the host knows the results: of a whole tensor's SUM one kernel
(flat_sum.cuh), else a fold of bounded sums and a second look at the outputs that these leave in
doubt. Medians of calls that take turns, on one input. N(0, 1) stands for all normal data.

Needs torch and a GPU.
"""

import statistics
import time

import torch

import native
import report

DTYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16,
          "bf16": torch.bfloat16}
OPS = {"sum": "sum", "nine": "sum,mean,var,min,max,nan_count,inf_count,l1_norm,l2_norm"}
REPEATS = 9


def spread(dtype, count, binades, lowest):
    """Of both signs and any mantissa, exponents from `lowest` on."""
    mantissas = torch.rand(count, device="cuda", dtype=torch.float64) - 0.5
    exponents = torch.randint(binades, (count,), device="cuda") + lowest
    return torch.ldexp(mantissas, exponents).to(dtype)


def filled(kind, dtype, count):
    is_half = dtype == torch.float16
    if kind == "normal":
        return torch.randn(count, device="cuda", dtype=torch.float32).to(dtype)
    if kind == "80 binades":
        return spread(dtype, count, *((30, -20) if is_half else (80, -60)))
    if kind == "250 binades":
        return spread(dtype, count, *((38, -24) if is_half else (250, -145)))
    if kind == "subnormal":
        tiny = torch.finfo(dtype).tiny
        return (torch.randn(count, device="cuda", dtype=torch.float64) * tiny / 64).to(dtype)
    if kind == "one huge of 256":
        data = torch.randn(count, device="cuda", dtype=torch.float32).to(dtype)
        data[37::256] *= 2.0 ** (12 if is_half else 60)
        return data
    if kind == "opposites":  # which cancel, next to each other and in rows
        data = torch.randn(count, device="cuda", dtype=torch.float32).to(dtype)
        data[1::2] = -data[0::2]
        return data
    if kind == "centred":  # as activations are, each 4,096 of them around 0
        data = torch.randn(count, device="cuda", dtype=torch.float32).view(-1, 4096)
        return (data - data.mean(dim=1, keepdim=True)).to(dtype).flatten()
    assert kind == "all NaN"
    return torch.full((count,), float("nan"), device="cuda", dtype=dtype)


KINDS = ("normal", "80 binades", "250 binades", "subnormal", "one huge of 256", "opposites",
         "centred", "all NaN")


def shapes(count):
    """Names, and [outer, reduced, inner]."""
    yield "flat", (1, count, 1)
    for length in (16, 256, 4096, 1 << 17):
        yield f"rows of {length}", (count // length, length, 1)
        yield f"columns of {length}", (1, length, count // length)


class Call:
    def __init__(self, cuda, dtype, ops, extent):
        self.cuda = cuda
        self.reduction = native.Reduction(dtype, ops, *extent)
        outputs = extent[0] * extent[2]
        self.results = torch.empty(8 * outputs * (1 + ops.count(",")), dtype=torch.uint8,
                                   device="cuda")
        self.scratch = torch.zeros(cuda.scratch_bytes(self.reduction), dtype=torch.uint8,
                                   device="cuda")

    def run(self, data):
        """Seconds, and outputs that were summed again."""
        stream = torch.cuda.current_stream().cuda_stream
        where = (data.data_ptr(), self.results.data_ptr(), self.scratch.data_ptr(), stream)
        begin = time.perf_counter()
        self.cuda.reduce(self.reduction, *where)
        undecided = self.cuda.recompute(self.reduction, *where)
        return time.perf_counter() - begin, undecided


def measure(cuda, name, dtype, inputs, count):
    for shape, extent in shapes(count):
        for ops_name, ops in OPS.items():
            call = Call(cuda, name, ops, extent)
            runs = {kind: [] for kind in inputs}
            for _ in range(1 + REPEATS):
                for kind, data in inputs.items():
                    runs[kind].append(call.run(data))
            medians = {kind: statistics.median(seconds for seconds, _ in of[1:])
                       for kind, of in runs.items()}
            for kind, seconds in medians.items():
                row = {"dtype": name, "shape": shape, "ops": ops_name, "data": kind,
                       "us": seconds * 1e6, "over_normal": seconds / medians["normal"],
                       "summed_again": runs[kind][-1][1]}
                if kind != "normal" and (row["over_normal"] > 1.25 or shape == "flat"):
                    print(f"{name:4} {shape:16} {ops_name:4} {kind:16} {row['us']:9.1f} us, "
                          f"{row['over_normal']:6.2f} of normal, {row['summed_again']} again",
                          flush=True)
                yield row


def main():
    parser = report.parser_for(__doc__)
    parser.add_argument("--log2-bytes", type=int, default=28, help="of a tensor")
    parser.add_argument("--dtype", action="append", choices=DTYPES, help="only this; repeatable")
    arguments = parser.parse_args()
    torch.manual_seed(20261127)
    cuda = native.Cuda(arguments.build)
    rows = []
    for name in arguments.dtype or DTYPES:
        dtype = DTYPES[name]
        count = (1 << arguments.log2_bytes) // torch.empty((), dtype=dtype).element_size()
        inputs = {kind: filled(kind, dtype, count) for kind in KINDS}
        rows += measure(cuda, name, dtype, inputs, count)
    report.write(arguments, rows, gpu=torch.cuda.get_device_name(), torch=torch.__version__)


if __name__ == "__main__":
    main()
