#!/usr/bin/env python3
"""Measures warpfold-server against a null server ("the wire") and against its peers, in one run.

All servers run on free ports of this machine. The wire and warpfold answer the same load
(`warpfold bench`) in turns: one round measures the wire, then warpfold, so that what else the
machine does hits both. The table shows medians over the rounds and their ratio; its range is that
of the ratios within a round.
The peers (bench/peers: grpcio + torch.sum, Arrow Flight + torch.sum) have their own clients; those
whose modules --peer-python does not have are skipped. Tensors that do not travel and a server that
nobody asks are measured alone, and so is the server's memory while tensors of growing sizes stream
through it.

From a build tree:  bench/service/run.py --build build/release
From the bundle:    bundle/bench/service/run.py        (finds bin/ by itself)
bench/service/plot.py draws what --output writes.
"""

import contextlib
import datetime
import json
import os
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile

import alone
import peers
from arguments import bench_parser
from cases import (CASES, PEER_CASES, SWEEP_BYTES, UNARY_BYTES_MAX, is_wanted, parse_size,
                   print_table, quick, size_text, unit_text, write_results)
from servers import Server, few_processors, find_programs, nvidia_smi


def parse_arguments():
    parser = bench_parser(__doc__, rounds=5, seconds=1.0)
    parser.add_argument("--server-args", default="", help="more flags for warpfold-server")
    parser.add_argument("--peer-rounds", type=int, default=3, help="0: no peers")
    parser.add_argument("--peer-python", default=sys.executable,
                        help="the interpreter that has torch, pyarrow and grpcio")
    parser.add_argument("--only", action="append", metavar="TEXT",
                        help="cases whose names hold this; may be given again")
    parser.add_argument("--latency-cpus", type=int, default=4,
                        help="processors that the second latency case keeps to, with its servers "
                             "and its client; 0: no such case")
    parser.add_argument("--rss-sizes", default="1GiB,64MiB,1GiB,16GiB",
                        help="tensors to stream for the memory table; empty: none")
    parser.add_argument("--idle-seconds", type=float, default=5,
                        help="to watch an idle server, before and after the load; 0: not at all")
    parser.add_argument("--sweep", action="store_true",
                        help="also unary against stream over sizes, on both servers")
    parser.add_argument("--quick", action="store_true",
                        help="small tensors, one short round: does all of it run?")
    parser.add_argument("--gpu", help="for the JSON; default: what nvidia-smi says")
    parser.add_argument("--driver", help="for the JSON; default: what nvidia-smi says")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rounds = 1
        arguments.peer_rounds = min(arguments.peer_rounds, 1)
        arguments.seconds = 0.1
        arguments.rss_sizes = "64MiB"
        arguments.idle_seconds = min(arguments.idle_seconds, 0.5)
    return arguments


class Bench:
    """The load generator, and all that it has measured."""

    def __init__(self, program):
        self.program = program
        self.runs = []

    def measure(self, server, method, size, clients, seconds, requests_min=3, warmup=0.2,
                flags=()):
        command = [str(self.program), "bench", "--json", "--target", server.address, "--timeout",
                   "120", "--method", method, "--size", str(size), "--clients", str(clients),
                   "--duration", str(seconds), "--warmup", str(warmup), "--requests-min",
                   str(requests_min), *flags]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{shlex.join(command)}\n{done.stderr}{server.log_path.read_text()}")
        result = json.loads(done.stdout)
        if result["failures"] or (result["device"] == "null") != (server.name == "wire"):
            sys.exit(f"{shlex.join(command)}\n{done.stdout}")
        self.runs.append({"server": server.name, **result})
        return result


def selected(arguments):
    """The cases that are wanted and possible here."""
    possible = 0 < arguments.latency_cpus < len(os.sched_getaffinity(0))
    cases = [case for case in CASES if is_wanted(case, arguments.only)
             and (possible or not case.few_processors)]
    return quick(cases) if arguments.quick else cases


def compare(bench, wire, warpfold, arguments):
    """The cases, interleaved. Returns their summary."""
    cases = selected(arguments)
    ratios = [[] for _ in cases]
    values = [([], []) for _ in cases]
    for _ in range(arguments.rounds):
        for index, case in enumerate(cases):
            with contextlib.ExitStack() as held:
                if case.few_processors:
                    held.enter_context(few_processors(arguments.latency_cpus, wire, warpfold))
                pair = [bench.measure(server, case.method, case.size, case.clients,
                                      arguments.seconds, flags=case.flags)[case.metric]
                        for server in (wire, warpfold)]
            ratios[index].append(pair[1] / pair[0])
            for kept, value in zip(values[index], pair):
                kept.append(value)
    summary, rows = [], []
    for case, own_ratios, pair in zip(cases, ratios, values):
        name = case.name.format(cpus=arguments.latency_cpus)
        on_wire, on_warpfold = (statistics.median(v) for v in pair)
        ratio, least, most = on_warpfold / on_wire, min(own_ratios), max(own_ratios)
        met, goal = None, ""
        if case.target is not None:
            bound, limit = case.target
            met = ratio <= limit if bound == "<=" else ratio >= limit
            goal = f"{bound} {limit}: {'met' if met else 'MISSED'}"
        summary.append({"case": name, "method": case.method, "bytes": case.size,
                        "clients": case.clients, "metric": case.metric, "wire": on_wire,
                        "warpfold": on_warpfold, "ratio": ratio, "ratio_min": least,
                        "ratio_max": most, "target": case.target, "met": met})
        rows.append((name, unit_text(case.metric, on_wire), unit_text(case.metric, on_warpfold),
                     f"{ratio:.2f}", f"{least:.2f}..{most:.2f}", goal))
    print_table(f"medians of {arguments.rounds} rounds, {arguments.seconds} s each",
                ("case", "wire", "warpfold", "ratio", "range", "target"), rows)
    return summary


def sweep(bench, servers, arguments):
    """Unary against stream by size: where a client should change from one to the other."""
    rows, summary = [], []
    for size in SWEEP_BYTES:
        row = [size_text(size)]
        for server in servers:
            speeds = {"unary": [], "stream": []}
            for _ in range(arguments.rounds):
                for method, kept in speeds.items():
                    if method == "stream" or size <= UNARY_BYTES_MAX:
                        kept.append(bench.measure(server, method, size, 1,
                                                  arguments.seconds)["gb_per_second"])
            medians = [statistics.median(kept) if kept else None for kept in speeds.values()]
            row += ["-" if m is None else f"{m:.2f}" for m in medians]
            summary.append({"bytes": size, "server": server.name,
                            "unary_gb_per_second": medians[0], "stream_gb_per_second": medians[1]})
        rows.append(row)
    print_table("GB/s, one client", ("size", "wire unary", "wire stream", "warpfold unary",
                                     "warpfold stream"), rows)
    return summary


def memory(bench, warpfold, sizes):
    """What streaming tensors of growing size does to the server's memory."""
    rows, summary = [], []

    def note(label):
        now_kib, peak_kib = warpfold.memory_kib()
        rows.append((label, f"{now_kib / 1024:.1f}", f"{peak_kib / 1024:.1f}"))
        summary.append({"after": label, "rss_kib": now_kib, "peak_rss_kib": peak_kib})

    note("start")
    for size in sizes:
        bench.measure(warpfold, "stream", size, 1, 0, requests_min=1, warmup=0)
        note(f"streaming {size_text(size)}")
    print_table("server memory, MiB", ("after", "VmRSS", "VmHWM"), rows)
    return summary


def main():
    arguments = parse_arguments()
    server_program, null_program, load_program = find_programs(arguments.build)
    bench = Bench(load_program)
    sizes = [parse_size(text) for text in arguments.rss_sizes.split(",") if text]
    results = {"date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
               "command": shlex.join(sys.argv),
               "gpu": arguments.gpu if arguments.gpu is not None else nvidia_smi("name"),
               "driver": (arguments.driver if arguments.driver is not None
                          else nvidia_smi("driver_version")),
               "processors": len(os.sched_getaffinity(0)), "backend": arguments.backend}
    server_command = [server_program, "--listen-address=127.0.0.1:0",
                      "--metrics-address=127.0.0.1:0", f"--backend={arguments.backend}",
                      *alone.SERVER_FLAGS, *shlex.split(arguments.server_args)]
    with tempfile.TemporaryDirectory() as folder_name, contextlib.ExitStack() as running:
        folder = pathlib.Path(folder_name)
        if sizes:  # first and by itself: its memory is to be that of streaming alone
            with Server("warpfold", server_command, folder) as fresh:
                results["memory"] = memory(bench, fresh, sizes)
            fresh.port_file.unlink()
        wire = running.enter_context(
            Server("wire", [null_program, "--listen-address=127.0.0.1:0"], folder))
        warpfold = running.enter_context(Server("warpfold", server_command, folder))
        results["idle"] = []
        if arguments.idle_seconds > 0:
            results["idle"].append(alone.idle(warpfold, arguments.idle_seconds, "fresh"))
        results["cases"] = compare(bench, wire, warpfold, arguments)
        results["alone"] = alone.compare(bench, warpfold, null_program, arguments, folder)
        if arguments.idle_seconds > 0:
            results["idle"].append(alone.idle(warpfold, arguments.idle_seconds, "after the load"))
        if arguments.peer_rounds > 0:
            cases = PEER_CASES[:2] if arguments.quick else PEER_CASES
            results["peers"] = peers.compare(bench, warpfold, arguments, cases, folder)
        if arguments.sweep:
            results["sweep"] = sweep(bench, (wire, warpfold), arguments)
    results["runs"] = bench.runs
    write_results(arguments.output, results)


if __name__ == "__main__":
    main()
