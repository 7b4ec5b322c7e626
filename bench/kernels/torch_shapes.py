#!/usr/bin/env python3
"""Times warpfold's sums along one axis of an f32 matrix against torch.sum(dim), in one process.

  bench/kernels/torch_shapes.py [--json FILE] [--date DATE] [--commit SHA] [--step N]

Every matrix with 2^4 to 2^26 kept and 2^4 to 2^26 reduced indices that fits in 16 GiB, reduced
along its inner axis ([kept, reduced], dim 1) and its outer one ([reduced, kept], dim 0). Both write
into memory that is there already. Times are medians of graph replays that take turns, on up to 64
inputs in rotation, which are past the L2 from 4 MiB each up; sums are checked first. About a
minute on an H200.

Needs torch and a GPU.
"""

import statistics
import sys

import torch

import native
import report

SMALLEST, LARGEST = 4, 26  # logarithms
BYTES_MAX = 16 << 30
REPEATS = 9


class Matrix:
    """A shape, its inputs in the one large buffer, and where results go."""

    def __init__(self, kept, reduced, is_inner, buffer):
        self.kept, self.reduced, self.is_inner = kept, reduced, is_inner
        count = kept * reduced
        self.dim = 1 if is_inner else 0
        shape = (kept, reduced) if is_inner else (reduced, kept)
        # 256 MiB in rotation, or 64 inputs.
        inputs = min(max((1 << 26) // count, 1), 64)
        self.inputs = [buffer[i * count:(i + 1) * count].view(shape) for i in range(inputs)]
        self.launches = inputs * max(1, min((1 << 28) // count, 64) // inputs)
        outer, inner = (kept, 1) if is_inner else (1, kept)
        self.reduction = native.Reduction("f32", "sum", outer, reduced, inner)


class Warpfold:
    def __init__(self, cuda, matrix):
        self.cuda, self.matrix = cuda, matrix
        self.sums = torch.empty(matrix.kept, device="cuda")
        self.scratch = torch.zeros(cuda.scratch_bytes(matrix.reduction), dtype=torch.uint8,
                                   device="cuda")

    def launch(self, x):
        self.cuda.reduce(self.matrix.reduction, x.data_ptr(), self.sums.data_ptr(),
                         self.scratch.data_ptr(), torch.cuda.current_stream().cuda_stream)


class Torch:
    def __init__(self, matrix):
        self.matrix = matrix
        self.sums = torch.empty(matrix.kept, device="cuda")

    def launch(self, x):
        torch.sum(x, dim=self.matrix.dim, out=self.sums)


def check_sums(matrix, ours, theirs):
    """Ours of the first input against torch's in float64 where there is room, else in float32."""
    x = matrix.inputs[0]
    ours.launch(x)
    theirs.launch(x)
    wanted = theirs.sums
    if x.numel() <= 1 << 26:
        wanted = torch.sum(x, dim=matrix.dim, dtype=torch.float64)
        tolerance = 2.0 ** -23
    else:
        tolerance = 1e-4
    if not torch.allclose(ours.sums.double(), wanted.double(), rtol=tolerance, atol=0):
        sys.exit(f"torch_shapes.py: wrong sums of {tuple(x.shape)} along {matrix.dim}")


def graph_of(contestant, matrix):
    # Not by torch.cuda.graph(), which empties torch's cache of memory each time.
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        graph.capture_begin()
        for i in range(matrix.launches):
            contestant.launch(matrix.inputs[i % len(matrix.inputs)])
        graph.capture_end()
    return graph


def seconds_of(graph, launches):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e-3 / launches


def measure(cuda, kept, reduced, is_inner, buffer):
    matrix = Matrix(kept, reduced, is_inner, buffer)
    contestants = [Warpfold(cuda, matrix), Torch(matrix)]
    check_sums(matrix, *contestants)
    graphs = [graph_of(contestant, matrix) for contestant in contestants]
    for graph in graphs:
        seconds_of(graph, 1)  # a first replay uploads it
    seconds = [[], []]
    for _ in range(REPEATS):
        for graph, of_one in zip(graphs, seconds):
            of_one.append(seconds_of(graph, matrix.launches))
    ours, theirs = map(statistics.median, seconds)
    return {"kept": kept, "reduced": reduced, "axis": "inner" if is_inner else "outer",
            "warpfold_us": ours * 1e6, "torch_us": theirs * 1e6, "ratio": theirs / ours,
            "warpfold_gbps": kept * reduced * 4 / ours * 1e-9}


def print_summary(rows):
    for axis in ("inner", "outer"):
        ratios = sorted((row["ratio"], row["kept"], row["reduced"]) for row in rows
                        if row["axis"] == axis)
        mean = statistics.geometric_mean(ratio for ratio, _, _ in ratios)
        behind = [entry for entry in ratios if entry[0] < 1]
        print(f"{axis} axis: {len(ratios)} shapes, torch's time / ours {mean:.2f} in the geometric "
              f"mean, {ratios[0][0]:.2f} to {ratios[-1][0]:.1f}; behind on {len(behind)}")
        for ratio, kept, reduced in behind[:40]:
            print(f"  kept 2^{kept.bit_length() - 1}, reduced 2^{reduced.bit_length() - 1}: "
                  f"{ratio:.3f}")


def main():
    parser = report.parser_for(__doc__)
    parser.add_argument("--step", type=int, default=1, help="every so many powers of two")
    arguments = parser.parse_args()
    torch.manual_seed(20261121)
    buffer = torch.empty(BYTES_MAX // 4, device="cuda")
    for part in buffer.chunk(16):
        part.uniform_()
    cuda = native.Cuda(arguments.build)
    powers = range(SMALLEST, LARGEST + 1, arguments.step)
    rows = [measure(cuda, 1 << kept, 1 << reduced, is_inner, buffer)
            for is_inner in (True, False) for kept in powers for reduced in powers
            if 4 << (kept + reduced) <= BYTES_MAX]
    print_summary(rows)
    report.write(arguments, rows, gpu=torch.cuda.get_device_name(), torch=torch.__version__,
                 runtime_cuda=torch.version.cuda)


if __name__ == "__main__":
    main()
