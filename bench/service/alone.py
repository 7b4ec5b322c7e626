"""What the null server has no counterpart for: tensors that are not sent, an idle server."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace

from cases import GIB, QUICK_BYTES_MAX, is_wanted, print_table
from servers import Server


@dataclass(frozen=True)
class AloneCase:
    name: str
    method: str  # of `warpfold bench`
    size: int
    metric: str  # gb_per_second, or kernel_share: the kernel's part of what the client waits for
    target: float  # on a GPU: the least that it should be


ALONE_CASES = [
    AloneCase("1 GiB shared", "shared", GIB, "gb_per_second", 50),
    AloneCase("4 GiB resident", "resident", 4 * GIB, "kernel_share", 0.93),
    AloneCase("4 GiB in the client's GPU memory", "cuda", 4 * GIB, "kernel_share", 0.93),
]
# What the cases need of the server.
SERVER_FLAGS = ("--shared-memory-prefix=/warpfold-bench-", "--max-resident-bytes=8GiB",
                "--max-resident-tensor-bytes=4GiB", "--max-cuda-memory-bytes=4GiB")
EXPORTER = pathlib.Path(__file__).resolve().parent / "cuda_export.py"
IDLE_SHARE_MAX = 0.01  # of one processor


def value_of(metric, run):
    if metric == "kernel_share":
        return run["server_p50_us"]["kernel"] / run["p50_us"]
    return run[metric]


def has_room(case):
    """Whether this host has the memory, twice the case's tensor, and enough of it to share."""
    with open("/proc/meminfo", encoding="utf-8") as lines:
        kib = {name: int(rest.split()[0]) for name, rest in (line.split(":") for line in lines)}
    in_memory = kib["MemAvailable"] * 1024 > 2 * case.size
    return in_memory and (case.method != "shared" or
                          shutil.disk_usage("/dev/shm").free > case.size)


@contextlib.contextmanager
def flags_for(case):
    """What `warpfold bench` needs beside, while it is there."""
    if case.method != "cuda":
        yield ()
        return
    with subprocess.Popen([sys.executable, EXPORTER, str(case.size)], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as exporter:
        yield "--cuda-handle", exporter.stdout.readline().strip()
        exporter.stdin.close()


def paused_wire(bench, null_program, pause_us, seconds, folder):
    """The p50 of the wire when it answers after as long as the kernel takes: the least there is."""
    command = [null_program, "--listen-address=127.0.0.1:0", f"--pause-us={pause_us:.0f}"]
    with tempfile.TemporaryDirectory(dir=folder) as own:
        with Server("wire", command, pathlib.Path(own)) as wire:
            return bench.measure(wire, "resident", QUICK_BYTES_MAX, 1, seconds)["p50_us"]


def compare(bench, warpfold, null_program, arguments, folder):
    """The cases, one client each. Returns their summary."""
    on_gpu = bench.measure(warpfold, "unary", 4096, 1, 0)["device"].startswith("cuda")
    cases = [case for case in ALONE_CASES if is_wanted(case, arguments.only)
             and (on_gpu or case.method != "cuda")]
    if arguments.quick:
        cases = [replace(case, size=QUICK_BYTES_MAX, name=f"{case.name}, of 4 MiB")
                 for case in cases]
    summary, rows = [], []
    for case in cases:
        if not has_room(case):
            print(f"{case.name}: no room for it in memory, or in /dev/shm", flush=True)
            continue
        with flags_for(case) as flags:
            runs = [bench.measure(warpfold, case.method, case.size, 1, arguments.seconds,
                                  requests_min=5, flags=flags) for _ in range(arguments.rounds)]
        run = sorted(runs, key=lambda run: value_of(case.metric, run))[len(runs) // 2]
        value = value_of(case.metric, run)
        met = value >= case.target if on_gpu else None
        wire_us = None
        if case.metric == "kernel_share":
            wire_us = paused_wire(bench, null_program, run["server_p50_us"]["kernel"],
                                  arguments.seconds, folder)
        summary.append({"case": case.name, "method": case.method, "bytes": case.size,
                        "metric": case.metric, "value": value, "target": case.target, "met": met,
                        "p50_us": run["p50_us"], "gb_per_second": run["gb_per_second"],
                        "paused_wire_p50_us": wire_us,
                        "server_p50_us": run["server_p50_us"]})
        rows.append((case.name, f"{run['p50_us']:.0f} us", f"{run['gb_per_second']:.1f} GB/s",
                     f"{run['server_p50_us']['total']:.0f} us",
                     f"{run['server_p50_us']['kernel']:.0f} us",
                     "" if wire_us is None else f"{wire_us:.0f} us", f"{value:.3g}",
                     "" if met is None else f">= {case.target}: {'met' if met else 'MISSED'}"))
    print_table("tensors that are not sent, 1 client",
                ("case", "p50", "rate", "in the server", "kernel", "wire with that pause",
                 "value", "target"), rows)
    return summary


def processor_seconds(server):
    """What the server has used of processors so far."""
    with open(f"/proc/{server.process.pid}/stat", encoding="utf-8") as stat:
        fields = stat.read().rpartition(")")[2].split()
    user, system = int(fields[11]), int(fields[12])
    return (user + system) / os.sysconf("SC_CLK_TCK")


def idle_share(server, seconds):
    """The part of one processor that a server takes which nobody asks anything."""
    before, start = processor_seconds(server), time.monotonic()
    time.sleep(seconds)
    return (processor_seconds(server) - before) / (time.monotonic() - start)


def idle(server, seconds, when):
    share = idle_share(server, seconds)
    met = share < IDLE_SHARE_MAX
    print(f"\nidle server, {when}: {100 * share:.2f}% of a processor in {seconds} s, "
          f"target < {100 * IDLE_SHARE_MAX:.0f}%: {'met' if met else 'MISSED'}", flush=True)
    return {"when": when, "seconds": seconds, "share": share, "target": IDLE_SHARE_MAX, "met": met}
