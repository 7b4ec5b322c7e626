#!/usr/bin/env python3
"""Measures clients against each other on one server, in one run.

What Python adds to the C++ client, and what the clients of the Open Inference Protocol
(tritonclient, perf_analyzer) reach of our own on the same path. Every case measures its two in
turns, round by round; the figure is that of both sides' medians, its range that of the rounds.
perf_analyzer is compared with `warpfold bench`, tritonclient, which is Python, with our Python
client. Clients that are not installed are left out. perf_analyzer is found in the PATH, or by
--perf-analyzer.

From a build tree:  bench/service/clients.py --build build/release
From the bundle:    bundle/bench/service/clients.py        (finds bin/ by itself)
"""

import contextlib
import csv
import datetime
import os
import pathlib
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass

from arguments import bench_parser
from cases import KIB, MIB, print_table, write_results
from peers import Peer
from run import Bench
from servers import LOAD, SERVER, Server, few_processors, find_programs, nvidia_smi


@dataclass(frozen=True)
class Load:
    client: str
    way: str  # a method of `warpfold bench`, or a --way of the scripts in bench/peers
    size: int
    clients: int = 1
    keeps_memory: bool = False  # glibc is told to, by the environment


@dataclass(frozen=True)
class Case:
    name: str
    base: Load
    other: Load
    figure: str  # added_us, time or speed: of the other, over the base's, by their medians
    target: tuple | None = None
    few_processors: bool = False

    def value(self, base, other):
        if self.figure == "added_us":
            return other["p50_us"] - base["p50_us"]
        if self.figure == "time":
            return other["p50_us"] / base["p50_us"]
        return base["p50_us"] / other["p50_us"]


# Where messages go back to the system after every call, each of their pages is a page fault in the
# next one. Our Python client sees to it by itself.
KEEPING = {"MALLOC_MMAP_THRESHOLD_": str(32 * MIB), "MALLOC_TRIM_THRESHOLD_": str(128 * MIB)}
SMALL, LARGE = 4 * KIB, 256 * MIB
CPP_SMALL, CPP_LARGE = Load("C++", "unary", SMALL), Load("C++", "stream", LARGE)
PYTHON = "Python"
CASES = [
    Case("4 KiB, Python over C++", CPP_SMALL, Load(PYTHON, "sent", SMALL), "added_us", ("<=", 150)),
    Case("the same on {cpus} processors", CPP_SMALL, Load(PYTHON, "sent", SMALL), "added_us",
         ("<=", 150), few_processors=True),
    Case("4 KiB, grpcio's own call over C++", CPP_SMALL, Load("grpcio", "", SMALL), "added_us"),
    Case("256 MiB, Python over C++", CPP_LARGE, Load(PYTHON, "sent", LARGE), "time",
         ("<=", 1.05)),
    *(Case(f"256 MiB, Python, {way}", CPP_LARGE, Load(PYTHON, way, LARGE), "time")
      for way in ("1 connection", "2 connections", "4 connections", "8 connections", "shared")),
    Case("256 MiB, C++, 4 connections", CPP_LARGE, Load("C++", "striped", LARGE), "time"),
    *(Case(f"{name}, tritonclient / Python", Load(PYTHON, way, size),
           Load("tritonclient", way, size), "speed", (">=", 0.9))
      for name, way, size in (("4 KiB", "sent", SMALL), ("1 MiB", "sent", MIB),
                              ("1 MiB, shared memory", "shared", MIB),
                              ("16 MiB, shared memory", "shared", 16 * MIB))),
    Case("1 MiB, tritonclient keeping memory / Python", Load(PYTHON, "sent", MIB),
         Load("tritonclient", "sent", MIB, keeps_memory=True), "speed", (">=", 0.9)),
    Case("1 MiB, perf_analyzer keeping memory / C++", Load("C++", "infer", MIB),
         Load("perf_analyzer", "infer", MIB, keeps_memory=True), "speed", (">=", 0.9)),
    *(Case(f"{name}, perf_analyzer / C++", Load("C++", way, size, clients),
           Load("perf_analyzer", way, size, clients), "speed", (">=", 0.9))
      for name, way, size, clients in (
          ("4 KiB, 1 client", "infer", SMALL, 1), ("4 KiB, 16 clients", "infer", SMALL, 16),
          ("1 MiB, 1 client", "infer", MIB, 1),
          ("16 MiB, shared memory", "shared", 16 * MIB, 1))),
    *(Case(f"{name} on a GPU, Python, {way} / copied", Load(PYTHON, "gpu, copied", size),
           Load(PYTHON, way, size), "speed")
      for name, size, way in (
          ("4 KiB", SMALL, "gpu, held"), ("64 KiB", 64 * KIB, "gpu"), ("256 KiB", 256 * KIB, "gpu"),
          ("1 MiB", MIB, "gpu"), ("256 MiB", LARGE, "gpu"))),
]


def parse_arguments():
    parser = bench_parser(__doc__, rounds=5, seconds=0.7)
    parser.add_argument("--only", default="", help="cases whose names hold this")
    parser.add_argument("--python", default=sys.executable,
                        help="the interpreter that has grpcio, and tritonclient and torch if any")
    parser.add_argument("--perf-analyzer", default=shutil.which("perf_analyzer") or "",
                        help="a command that runs it (default: %(default)s)")
    parser.add_argument("--latency-cpus", type=int, default=4,
                        help="processors of the second case; 0: no such case")
    return parser.parse_args()


def environment_of(load):
    return {**os.environ, **(KEEPING if load.keeps_memory else {})}


class Clients:
    """Every client's way to run a Load."""

    def __init__(self, arguments, bench, server, folder):
        self._bench = bench
        self._server = server
        self._seconds = arguments.seconds
        self._perf_analyzer = shlex.split(arguments.perf_analyzer)
        self._csv = folder / "perf_analyzer.csv"
        self._scripts = {name: Peer(arguments.python, script) for name, script in (
            (PYTHON, "warpfold_python.py"), ("grpcio", "grpcio_call.py"),
            ("tritonclient", "triton_python.py"))}
        self._missing = {name: peer.missing() for name, peer in self._scripts.items()}
        self._missing["perf_analyzer"] = "" if self._perf_analyzer else "not found"
        gpu = subprocess.run([arguments.python, "-c", "import torch; torch.ones(1).cuda()"],
                             capture_output=True, check=False).returncode == 0
        self._no_gpu = "" if gpu and arguments.backend != "cpu" else "no torch with a GPU"

    def missing(self, load):
        """Why the load cannot run here; empty when it can."""
        return self._missing.get(load.client, "") or (
            self._no_gpu if load.way.startswith("gpu") else "")

    @contextlib.contextmanager
    def started(self, load):
        """A function of about how many requests a second there will be: {"p50_us", "rps"}."""
        if load.client == "C++":
            yield lambda _: self._bench.measure(self._server, load.way, load.size, load.clients,
                                              self._seconds)
        elif load.client == "perf_analyzer":
            yield lambda rps: self._analyzed(load, max(10, int(rps * self._seconds)))
        else:
            with self._scripts[load.client].rounds(self._server.address, load.size, self._seconds,
                                                   load.way, environment_of(load)) as measure:
                yield lambda _: measure()

    def _analyzed(self, load, count):
        command = [*self._perf_analyzer, "-m", "sum", "-i", "grpc", "-u", self._server.address,
                   f"--shape=INPUT:{load.size // 4}", f"--concurrency-range={load.clients}",
                   f"--request-count={count}", "-f", str(self._csv)]
        if load.way == "shared":
            command.append("--shared-memory=system")
        done = subprocess.run(command, capture_output=True, text=True, check=False,
                              env=environment_of(load))
        if done.returncode != 0:
            sys.exit(f"{shlex.join(command)}\n{done.stdout}{done.stderr}")
        with open(self._csv, encoding="utf-8") as file:
            (row,) = csv.DictReader(file)
        return {"p50_us": float(row["p50 latency"]), "rps": float(row["Inferences/Second"])}


def measure(clients, server, arguments):
    """Prints the table; what the JSON gets."""
    summary, rows = [], []
    for case in CASES:
        if arguments.only not in case.name:
            continue
        name = case.name.format(cpus=arguments.latency_cpus)
        why = clients.missing(case.base) or clients.missing(case.other)
        if case.few_processors and not (
                0 < arguments.latency_cpus < len(os.sched_getaffinity(0))):
            why = "there are no more"
        if why:
            print(f"{name}: skipped: {why}", flush=True)
            summary.append({"case": name, "skipped": why})
            continue
        with contextlib.ExitStack() as held:
            if case.few_processors:
                held.enter_context(few_processors(arguments.latency_cpus, server))
            base, other = (held.enter_context(clients.started(load))
                           for load in (case.base, case.other))
            pairs = []
            for _ in range(arguments.rounds):
                first = base(0)
                pairs.append((first, other(first["rps"])))
        summary.append(summarize(case, name, pairs))
        rows.append(row_of(summary[-1]))
        print(f"{name}: {rows[-1][3]}", flush=True)
    print_table(f"medians of {arguments.rounds} rounds, {arguments.seconds} s each",
                ("case", "base, p50 us", "other, p50 us", "figure", "range", "target"), rows)
    return summary


def summarize(case, name, pairs):
    values = [case.value(*pair) for pair in pairs]
    base, other = ({**vars(load), **{key: statistics.median(run[key] for run in side)
                                     for key in ("p50_us", "rps")}}
                   for load, side in zip((case.base, case.other), zip(*pairs)))
    value = case.value(base, other)
    met = None
    if case.target is not None:
        bound, limit = case.target
        met = value <= limit if bound == "<=" else value >= limit
    return {"case": name, "base": base, "other": other, "figure": case.figure, "value": value,
            "least": min(values), "most": max(values), "target": case.target, "met": met}


def row_of(result):
    digits = 0 if result["figure"] == "added_us" else 2
    goal = ""
    if result["target"] is not None:
        goal = "{} {}: {}".format(*result["target"], "met" if result["met"] else "MISSED")
    return (result["case"], f"{result['base']['p50_us']:.0f}", f"{result['other']['p50_us']:.0f}",
            f"{result['value']:.{digits}f}", f"{result['least']:.{digits}f}.."
            f"{result['most']:.{digits}f}", goal)


def main():
    arguments = parse_arguments()
    server_program, load_program = find_programs(arguments.build, (SERVER, LOAD))
    command = [server_program, "--listen-address=127.0.0.1:0", "--metrics-address=127.0.0.1:0",
               f"--backend={arguments.backend}", "--shared-memory-prefix=/"]
    if arguments.backend != "cpu":
        command.append("--max-cuda-memory-bytes=64GiB")
    results = {"date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
               "command": shlex.join(sys.argv), "gpu": nvidia_smi("name"),
               "driver": nvidia_smi("driver_version"),
               "processors": len(os.sched_getaffinity(0)), "backend": arguments.backend}
    with tempfile.TemporaryDirectory() as folder_name:
        folder = pathlib.Path(folder_name)
        with Server("warpfold", command, folder) as server:
            clients = Clients(arguments, Bench(load_program), server, folder)
            results["cases"] = measure(clients, server, arguments)
    write_results(arguments.output, results)


if __name__ == "__main__":
    main()
