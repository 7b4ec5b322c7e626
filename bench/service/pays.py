#!/usr/bin/env python3
"""Measures where the service pays: ways to get statistics of a tensor, beside each other on a host.

In this process: NumPy on one core, our CPU kernels on one core and on all, torch on the GPU with a
tensor that is there already, and with one that it copies there. By warpfold-server, on the same
host: sent by gRPC on one connection and on four, from shared memory, from a resident tensor, and
from another process's GPU memory (CUDA IPC). Two questions: SUM, and nine statistics in one answer
(warpfold makes one pass, NumPy and torch several). The ways take turns; a figure is the median of
the rounds, each of which is a median of calls. What cannot run here is left out, and the reason is
printed and written.

From a build tree:  bench/service/pays.py --build build/release
From the bundle:    bundle/bench/service/pays.py           (finds bin/ by itself)

Needs numpy; uses torch where it is.
"""

import contextlib
import datetime
import math
import os
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass

# NumPy's norms call BLAS, whose threads would not be one core. Read when NumPy is imported.
for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(1, str(HERE.parent / "kernels"))

import numpy as np

import alone
import cpu
import in_process
from arguments import bench_parser
from cases import GIB, KIB, MIB, parse_sizes, print_table, size_text, write_results
from run import Bench
from servers import LOAD, ROOT, SERVER, Server, find_programs, nvidia_smi

SEED = 20261125
SUM_RTOL = 1e-4  # torch adds in f32; this is to catch a wrong answer, not a rounding
QUESTIONS = ("sum", "describe")
QUICK_SIZES = "4KiB,4MiB"


@dataclass(frozen=True)
class Way:
    name: str
    kind: str  # numpy, kernels, torch, or a method of `warpfold bench`
    option: object = None  # kernels: on one core or on all; torch: where the tensor lies
    least: int = 0  # bytes for which it makes sense
    most: int = GIB


WAYS = [
    Way("NumPy, one core", "numpy"),
    Way("CPU kernels in process, one core", "kernels", "one"),
    Way("CPU kernels in process, all cores", "kernels", "all", MIB),
    Way("torch, tensor on the GPU", "torch", "gpu", most=4 * GIB),
    Way("torch, copied to the GPU", "torch", "host"),
    Way("torch, copied from pinned memory", "torch", "pinned"),
    Way("warpfold, gRPC, 1 connection", "sent"),
    Way("warpfold, gRPC, 4 connections", "striped", least=4 * MIB),
    Way("warpfold, shared memory", "shared"),
    Way("warpfold, resident tensor", "resident", most=4 * GIB),
    Way("warpfold, client's GPU memory", "cuda", most=4 * GIB),
]
IN_PROCESS = ("numpy", "kernels", "torch")


def parse_arguments():
    parser = bench_parser(__doc__, rounds=3, seconds=0.3)
    parser.add_argument("--sizes", default="4KiB,1MiB,64MiB,1GiB,4GiB",
                        help="of the tensors, f32; above 1 GiB only ways on the GPU or resident")
    parser.add_argument("--quick", action="store_true",
                        help="small tensors, one short round: does all of it run?")
    parser.add_argument("--commit", default=commit(), help="for the JSON (default: %(default)s)")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.sizes, arguments.rounds, arguments.seconds = QUICK_SIZES, 1, 0.05
    arguments.sizes = parse_sizes(parser, arguments.sizes, "4KiB,1GiB", "f32", 4)
    if arguments.rounds < 1:
        parser.error("--rounds: at least 1")
    return arguments


def commit():
    """Of the bundle, or of the tree that this file is in."""
    version = ROOT / "VERSION"
    if version.exists():
        return version.read_text(encoding="utf-8").strip()
    done = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"],
                          capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


class Host:
    """What can run here: the libraries, the server, and why some of the ways cannot."""

    def __init__(self, arguments, bench, server):
        folder = arguments.build / "bench" / "kernels" if arguments.build else None
        self.kernels, self._no_kernels = in_process.load_kernels(folder)
        self.torch, self._no_torch = (None, "--backend=cpu") if arguments.backend == "cpu" else (
            in_process.load_torch())
        self.device = bench.measure(server, "unary", 4 * KIB, 1, 0)["device"]
        self._bench, self._server, self._seconds = bench, server, arguments.seconds

    def obstacle(self, way, size):
        """Why `way` cannot be measured with tensors of `size`; empty when it can."""
        if way.kind == "kernels" and self.kernels is None:
            return self._no_kernels
        if way.kind == "torch" and self.torch is None:
            return self._no_torch
        if way.kind == "cuda" and not self.device.startswith("cuda"):
            return f"the server reduces on {self.device}"
        if not alone.has_room(alone.AloneCase(way.name, way.kind, size, "", 0)):
            return f"no room for {size_text(size)} in memory, or in /dev/shm"
        return ""

    @contextlib.contextmanager
    def started(self, way, question, x):
        """A function without arguments that measures once: microseconds of a call."""
        if way.kind in IN_PROCESS:
            contestant = self._contestant(way, question, x)
            check_sum(way, contestant(), x)
            yield lambda: in_process.median_seconds(contestant, self._seconds) * 1e6
            return
        method = way.kind
        if method == "sent":
            method = "unary" if x.nbytes <= MIB else "stream"
        with alone.flags_for(alone.AloneCase(way.name, method, x.nbytes, "", 0)) as flags:
            if method == "striped":
                flags = ("--connections", "4")
            yield lambda: self._served(method, question, x.nbytes, flags)

    def _contestant(self, way, question, x):
        if way.kind == "numpy":
            return in_process.with_numpy(x, question)
        if way.kind == "torch":
            return in_process.with_torch(self.torch, x, question, way.option)
        threads = 1 if way.option == "one" else len(os.sched_getaffinity(0))
        return in_process.with_kernels(self.kernels, x, question, threads)

    def _served(self, method, question, size, flags):
        run = self._bench.measure(self._server, method, size, 1, self._seconds, warmup=0.1,
                                  flags=("--op", in_process.OPS[question], *flags))
        if run["device"] != self.device:  # "auto" must not mix a GPU's times with a CPU's
            sys.exit(f"{method}: answered by {run['device']}, but before by {self.device}")
        return run["p50_us"]


def check_sum(way, got, x):
    wanted = float(np.sum(x, dtype=np.float64))
    if not math.isclose(got, wanted, rel_tol=SUM_RTOL):
        sys.exit(f"{way.name}: the sum of {size_text(x.nbytes)} is {wanted}, not {got}")


def values_of(size):
    """Uniform in [0, 1): the sum is far from 0, so that a wrong one shows."""
    pattern = np.random.default_rng(SEED).random(1 << 16, dtype=np.float32)
    return np.resize(pattern, size // 4)


def measure_size(host, size, rounds, left_out):
    """Every way and question with tensors of one size. Returns what the JSON gets."""
    x, rows = values_of(size), []
    for way in WAYS:
        if way.least <= size <= way.most and (why := host.obstacle(way, size)):
            print(f"{way.name}, {size_text(size)}: left out: {why}", flush=True)
            left_out.append({"way": way.name, "bytes": size, "why": why})
    ways = [way for way in WAYS if way.least <= size <= way.most and not host.obstacle(way, size)]
    for question in QUESTIONS:
        taken = {way.name: [] for way in ways}
        with contextlib.ExitStack() as held:
            measures = {way.name: held.enter_context(host.started(way, question, x))
                        for way in ways}
            for _ in range(rounds):
                for name, measure in measures.items():
                    taken[name].append(measure())
        for name, times_us in taken.items():
            p50_us = statistics.median(times_us)
            rows.append({"way": name, "question": question, "bytes": size, "p50_us": p50_us,
                         "gb_per_second": size / p50_us * 1e-3, "rounds_us": times_us})
        print(f"{size_text(size)}, {question}: measured", flush=True)
    return rows


def print_rows(rows, sizes):
    for question in QUESTIONS:
        cells = {(row["way"], row["bytes"]): f"{row['p50_us']:.1f}" for row in rows
                 if row["question"] == question}
        names = [way.name for way in WAYS if any(name == way.name for name, _ in cells)]
        print_table(f"{question}, us", ("way", *map(size_text, sizes)),
                    [(name, *(cells.get((name, size), "-") for size in sizes)) for name in names])


def main():
    arguments = parse_arguments()
    server_program, load_program = find_programs(arguments.build, (SERVER, LOAD))
    command = [server_program, "--listen-address=127.0.0.1:0", "--metrics-address=127.0.0.1:0",
               f"--backend={arguments.backend}", *alone.SERVER_FLAGS]
    rows, left_out = [], []
    with tempfile.TemporaryDirectory() as folder, \
            Server("warpfold", command, pathlib.Path(folder)) as server:
        host = Host(arguments, Bench(load_program), server)
        for size in arguments.sizes:
            rows += measure_size(host, size, arguments.rounds, left_out)
    print_rows(rows, arguments.sizes)
    write_results(arguments.output, {
        "date": datetime.date.today().isoformat(), "commit": arguments.commit,
        "command": shlex.join(sys.argv), "gpu": nvidia_smi("name"),
        "driver": nvidia_smi("driver_version"), "device": host.device,
        "processor": cpu.processor_name(), "processors": len(os.sched_getaffinity(0)),
        "simd": host.kernels.simd if host.kernels else None, "numpy": np.__version__,
        "torch": host.torch.__version__ if host.torch else None, "seed": SEED,
        "rounds": arguments.rounds, "seconds": arguments.seconds,
        "left_out": left_out, "results": rows})


if __name__ == "__main__":
    main()
