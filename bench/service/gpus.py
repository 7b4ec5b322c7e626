#!/usr/bin/env python3
"""Measures servers with 1, 2, 4 ... GPUs of this host.

For each number of GPUs a server of its own sees so many of them. One client puts the same large
tensor there, which lies on all of them, and reduces it again and again, answer by answer; the times
are what it sees, the RPC included. Then many clients send small tensors, stream large ones and
reduce resident ones of their own, each of which lies on one GPU.

From the bundle:    bundle/bench/service/gpus.py --gpus 1,2,4
"""

import argparse
import datetime
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass

from cases import (KIB, MIB, parse_size, print_table, size_text, unit_text,
                   write_results)
from servers import Server, find_programs, nvidia_smi

SPEEDUP_MIN = 0.9  # of the number of GPUs
DESCRIBE = ("sum", "mean", "var", "min", "max", "nan_count", "inf_count", "l1_norm", "l2_norm")


@dataclass(frozen=True)
class GpuCase:
    name: str
    method: str = "resident"  # of `warpfold bench`
    size: int | None = None  # none: --size, one tensor on all GPUs, which has a target
    ops: tuple = ("sum",)
    clients: int = 1
    metric: str = "p50_us"


CASES = (
    GpuCase("SUM"),
    GpuCase("describe", ops=DESCRIBE),
    GpuCase("256 MiB resident, 16 clients", size=256 * MIB, clients=16, metric="rps"),
    GpuCase("4 KiB unary, 64 clients", "unary", 4 * KIB, clients=64, metric="rps"),
    GpuCase("256 MiB stream, 8 clients", "stream", 256 * MIB, clients=8, metric="gb_per_second"),
)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, help="a build folder; default: the bundle")
    parser.add_argument("--gpus", type=lambda text: [int(n) for n in text.split(",")],
                        default=[1, 2, 4], help="numbers of GPUs (default: 1,2,4)")
    parser.add_argument("--size", type=parse_size, default=parse_size("16GiB"),
                        help="of the tensor, f32 (default: 16GiB)")
    parser.add_argument("--seconds", type=float, default=1.5, help="per measurement")
    parser.add_argument("--only", default="", help="cases whose name has this, such as SUM")
    parser.add_argument("--output", type=pathlib.Path, help="write the results here, as JSON")
    return parser.parse_args()


def measure(program, server, case, size, seconds):
    command = [str(program), "bench", "--json", "--target", server.address, "--timeout", "300",
               "--method", case.method, "--size", str(case.size or size),
               "--op", ",".join(case.ops), "--clients", str(case.clients),
               "--duration", str(seconds), "--warmup", "0.5", "--requests-min",
               "20" if case.clients == 1 else "3"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)}\n{done.stderr}{server.log_path.read_text()}")
    result = json.loads(done.stdout)
    if result["failures"]:
        sys.exit(f"{shlex.join(command)}\n{done.stdout}")
    return result


def add_speedups(runs, first_gpus):
    """How much better each run is than that of `first_gpus` GPUs, and whether that is enough."""
    first = {run["case"]: run for run in runs if run["gpus"] == first_gpus}
    for run in runs:
        pair = run[run["metric"]], first[run["case"]][run["metric"]]
        run["speedup"] = pair[1] / pair[0] if run["metric"] == "p50_us" else pair[0] / pair[1]
        run["met"] = (run["speedup"] >= SPEEDUP_MIN * run["gpus"] / first_gpus
                      if run["split"] else None)


def main():
    arguments = parse_arguments()
    cases = [case for case in CASES if arguments.only in case.name]
    server_program, _, client_program = find_programs(arguments.build)
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for gpus in arguments.gpus:
            visible = ",".join(str(ordinal) for ordinal in range(gpus))
            command = ["env", f"CUDA_VISIBLE_DEVICES={visible}", str(server_program),
                       "--backend=cuda", "--listen-address=127.0.0.1:0",
                       "--metrics-address=127.0.0.1:0",
                       f"--max-resident-bytes={2 * arguments.size + 16 * 256 * MIB}",
                       f"--max-resident-tensor-bytes={arguments.size}"]
            with Server(f"gpus-{gpus}", command, pathlib.Path(folder)) as server:
                for case in cases:
                    run = measure(client_program, server, case, arguments.size, arguments.seconds)
                    split = case.size is None
                    if split and run["device"].count(",") + 1 != gpus:
                        sys.exit(f"{gpus} GPUs, but the tensor lies on {run['device']}")
                    runs.append({"gpus": gpus, "case": case.name, "metric": case.metric,
                                 "split": split, **run})
                    print(f"{gpus} GPUs, {case.name}: {unit_text(case.metric, run[case.metric])}",
                          flush=True)
    add_speedups(runs, arguments.gpus[0])
    print_table(f"{size_text(arguments.size)} of f32 by one client, and many clients",
                ("case", "GPUs", "result", "in the server", "kernel", "speed-up",
                 f"target: {SPEEDUP_MIN} x GPUs"),
                [(run["case"], run["gpus"], unit_text(run["metric"], run[run["metric"]]),
                  *(unit_text("p50_us", run["server_p50_us"][stage])
                    for stage in ("total", "kernel")), f"{run['speedup']:.2f}",
                  {True: "met", False: "missed", None: ""}[run["met"]]) for run in runs])
    if arguments.output:
        results = {"gpu": nvidia_smi("name"), "driver": nvidia_smi("driver_version"),
                   "date": datetime.date.today().isoformat(), "command": shlex.join(sys.argv),
                   "bytes": arguments.size, "runs": runs}
        write_results(arguments.output, results)


if __name__ == "__main__":
    main()
