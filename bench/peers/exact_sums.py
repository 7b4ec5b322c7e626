#!/usr/bin/env python3
"""Sums the same hard arrays by warpfold and by others that promise exact or reproducible sums.

  bench/peers/exact_sums.py [--json FILE] [--date DATE] [--commit SHA] [--build FOLDER]
                            [--warpfold-server PATH | --server HOST:PORT] [--cub-program PATH]
  bench/peers/exact_sums.py --table FILE...

Who sums: math.fsum, xsum and bitrep (both of PyPI), numpy.sum, torch.sum, CUB's plain and its
reproducible sum, warpfold by its Python client and by its kernels (--build). Whoever is not
there is named with the reason, on the screen and in the JSON. Of each array, which is summed in 8
orders: is the answer the real sum rounded once (by Python's integers), how far off is it, and does
the order change its bits. math.fsum and xsum add in float64, so their answers to f32 are rounded
twice.

Speed: numpy, torch, xsum and the kernels on one core, from memory; math.fsum and bitrep on one,
from a list of Python's floats, of 16 MiB of elements at most; the server on all cores, of a tensor
that it has, the RPC included; on a GPU, sums one after another in a graph.

CUB has the reproducible sum (gpu_to_gpu) from CCCL 3.1 on, CUDA 13.0 has CCCL 3.0. The program
for --cub-program takes another on its include path, that of PyPI's nvidia-cuda-cccl 13.1 or later:

  pip download --no-deps nvidia-cuda-cccl==13.3.5.0.6 && unzip -d cccl nvidia_cuda_cccl-*.whl
  nvcc -O3 -std=c++20 -arch=sm_90 -cudart static '-DCCCL_WHEEL="13.3.5.0.6"' -I. \\
    -Icccl/nvidia/cu13/include/cccl bench/peers/exact_sums.cu -o exact_sums

--warpfold-program is one that reads and writes the same (exact_sums.cu says what), for a machine
on which the kernels cannot be loaded.
--table writes the Markdown table of the JSON of one run or more, of the same arrays.

Needs numpy. Exit status 1 where an answer of warpfold's is wrong, or a program fails.
"""

import contextlib
import json
import math
import os
import pathlib
import statistics
import sys

# NumPy and torch are timed on one core. Read when they are imported.
for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"
HERE = pathlib.Path(__file__).resolve().parent
sys.path[1:1] = [str(HERE), *(str(HERE.parent / name) for name in ("", "kernels", "service"))]

import numpy as np

import cpu
import exact_arrays
import exact_peers
import report
from cases import parse_sizes, size_text
from quote import exact_sums as quoted
from servers import nvidia_smi

SEED = 20261127
TIMED_ARRAYS = ("normal", "80 binades, both signs")
BEYOND = "over 1e308 ulp"
PATTERN = 1 << 15  # elements of what is timed, which repeat; a power of two


class Case:
    """An array, the orders in which it is summed, and what is right."""

    def __init__(self, dtype, name, values, random):
        self.dtype, self.name, self.count = dtype, name, values.size
        self.units = exact_arrays.exact_units(values)
        self.exact = exact_arrays.rounded_once(self.units, dtype)
        self.orders = exact_arrays.orders(random, values)

    def judge(self, peer, answers):
        """A row of the results. Answers are of the array's dtype, or names of exceptions."""
        named = [self._name_error(answer) for answer in answers]
        words = sorted((error for error in named if isinstance(error, str)), key=badness)
        return {"case": "answer", "dtype": self.dtype, "array": self.name,
                "elements": self.count, "exact": bits_of(self.exact), "peer": peer,
                "orders": len(answers), "right": sum(map(self._is_right, answers)),
                "worst_ulp": words[-1] if words else max(named),
                "answers": sorted({bits_of(answer) for answer in answers})}

    def _is_right(self, answer):
        return not isinstance(answer, str) and bool(answer == self.exact)

    def _name_error(self, answer):
        """Its distance from the real sum in ulp, or a word where there is none."""
        if isinstance(answer, str):
            return answer
        if math.isnan(answer):
            return "NaN"
        if math.isinf(answer):
            return 0.0 if answer == self.exact else "infinite"
        error = exact_arrays.error_ulps(answer, self.units, self.dtype)
        return error if math.isfinite(error) else BEYOND


def badness(word):
    """Orders what an answer is called that has no distance; an exception is the worst."""
    return {BEYOND: 0, "infinite": 1, "NaN": 2}.get(word, 3)


def bits_of(answer):
    """In hexadecimal digits, or the exception that came instead."""
    if isinstance(answer, str):
        return answer
    return f"{int(answer.view(f'u{answer.itemsize}')):0{2 * answer.itemsize}x}"


def from_bits(text, dtype):
    number = int(text, 16)
    whole = {"f32": np.uint32, "f64": np.uint64}[dtype](number)
    return whole.view(exact_arrays.DTYPES[dtype])


def speed_row(dtype, data, size, timed, peer, seconds):
    """`timed` bytes were summed where `size` were asked for."""
    return {"case": "speed", "dtype": dtype, "data": data, "bytes": size, "timed_bytes": timed,
            "peer": peer, "us": seconds * 1e6, "gbps": timed / seconds * 1e-9}


def judge_all(cases, peers):
    for case in cases:
        for peer in peers:
            yield case.judge(peer.name, [peer.answer(order) for order in case.orders])


def time_all(patterns, peers, sizes, rounds, seconds):
    for (dtype, data), pattern in patterns.items():
        for size in sizes:
            taken = {peer: [] for peer in peers}
            with contextlib.ExitStack() as held:
                measures = {peer: peer.timed(np.resize(pattern, min(size, peer.most) //
                                                       pattern.itemsize), held, seconds)
                            for peer in peers}
                for _ in range(rounds):
                    for peer, measure in measures.items():
                        taken[peer].append(measure())
            for peer, each in taken.items():
                yield speed_row(dtype, data, size, min(size, peer.most), peer.name,
                                statistics.median(each))


def ask_program(path, cases, patterns, sizes):
    """(what the program says of itself, its rows)."""
    records = [(order, 0) for case in cases for order in case.orders]
    speeds = [(*key, size) for key in patterns for size in sizes]
    records += [(patterns[dtype, data], size) for dtype, data, size in speeds]
    head, lines = exact_peers.run_program(path, records)
    found = {(line["peer"], line["record"]): line for line in lines}
    rows = []
    for peer in dict.fromkeys(line["peer"] for line in lines):
        record = 0
        for case in cases:
            answers = [from_bits(found[peer, record + i]["bits"], case.dtype)
                       for i in range(len(case.orders))]
            rows.append(case.judge(peer, answers))
            record += len(case.orders)
        for i, (dtype, data, size) in enumerate(speeds):
            if (peer, record + i) in found:
                rows.append(speed_row(dtype, data, size, size, peer,
                                      found[peer, record + i]["seconds"]))
    return head, rows


def print_row(row):
    if row["case"] == "speed":
        print(f"{row['dtype']} {row['data']}, {size_text(row['timed_bytes'])}: {row['peer']:22} "
              f"{row['gbps']:8.3f} GB/s", flush=True)
    else:
        print(f"{row['dtype']} {row['array']}: {row['peer']:22} {quoted.answer_text(row)}",
              flush=True)


def parse_arguments():
    parser = report.parser_for(__doc__)
    server = parser.add_mutually_exclusive_group()
    server.add_argument("--server", help="host:port of a warpfold server")
    server.add_argument("--warpfold-server", type=pathlib.Path, help="the program, to be started")
    parser.add_argument("--backend", default="cpu", choices=["auto", "cpu", "cuda"],
                        help="of the server that is started (default: %(default)s)")
    parser.add_argument("--cub-program", type=pathlib.Path, help="exact_sums.cu, compiled")
    parser.add_argument("--warpfold-program", type=pathlib.Path, help="one that works like it")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--sizes", default="1MiB,256MiB", help="bytes that are timed; '' for none")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.2, help="per measurement")
    parser.add_argument("--table", nargs="+", type=pathlib.Path, metavar="FILE",
                        help="write the table of these results, and measure nothing")
    arguments = parser.parse_args()
    if arguments.sizes:
        arguments.sizes = parse_sizes(parser, arguments.sizes, "1MiB,256MiB", "f64", 8)
    if arguments.rounds < 1:
        parser.error("--rounds: at least 1")
    for path in (arguments.warpfold_server, arguments.cub_program, arguments.warpfold_program):
        if path and not os.access(path, os.X_OK):
            parser.error(f"{path}: is no program")
    return arguments


def measure(arguments, held):
    """(rows, versions of the peers, why the others are missing, what programs say)."""
    random = np.random.default_rng(arguments.seed)
    made = list(exact_arrays.arrays(arguments.seed))
    patterns = {(dtype, name): values[:PATTERN] for dtype, name, values in made
                if name in TIMED_ARRAYS}
    cases = [Case(*array, random) for array in made]
    missing = {}
    peers = exact_peers.local_peers(arguments.build, missing)
    if address := exact_peers.server_address(arguments, held):
        peers.append(exact_peers.served_peer(address, held))
    else:
        missing["warpfold, server"] = "neither --server nor --warpfold-server was given"
    rows = []

    def add(found):
        for row in found:
            rows.append(row)
            print_row(row)

    versions = {peer.name: peer.version for peer in peers}
    add(judge_all(cases, peers))
    programs = []
    if arguments.cub_program is None:
        missing["CUB"] = "--cub-program was not given"
    for path in filter(None, (arguments.cub_program, arguments.warpfold_program)):
        head, found = ask_program(path, cases, patterns, arguments.sizes)
        programs.append(head)
        versions |= {row["peer"]: head["version"] for row in found}
        for row in found:
            missing.pop(row["peer"], None)
        add(found)
    add(time_all(patterns, peers, arguments.sizes, arguments.rounds, arguments.seconds))
    return rows, versions, missing, programs


def main():
    arguments = parse_arguments()
    if arguments.table:
        runs = [json.loads(path.read_text(encoding="utf-8")) for path in arguments.table]
        print("\n".join(quoted.table_lines(runs)))
        return
    print(f"seed {arguments.seed}")
    with contextlib.ExitStack() as held:
        rows, versions, missing, programs = measure(arguments, held)
    for name, why in missing.items():
        print(f"missing: {name}: {why}")
    report.write(arguments, rows, gpu=nvidia_smi("name") or None, processor=cpu.processor_name(),
                 processors=len(os.sched_getaffinity(0)), seed=arguments.seed, versions=versions,
                 programs=programs, missing=missing, rounds=arguments.rounds,
                 seconds=arguments.seconds)
    wrong = [row for row in rows if quoted.is_wrong(row) and row["peer"].startswith("warpfold")]
    if wrong:
        sys.exit("exact_sums.py: wrong: " + "; ".join(
            f"{row['peer']}, {row['dtype']} {row['array']}" for row in wrong))


if __name__ == "__main__":
    main()
