#!/usr/bin/env python3
"""Measures a resident tensor that lies on 1, 2, 4 ... GPUs of this host.

For each number of GPUs a server of its own sees so many of them. One client puts the same tensor
there and reduces it again and again, answer by answer; the times are what it sees, the RPC
included.

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

from cases import parse_size, print_table, size_text
from servers import Server, find_programs, nvidia_smi

SPEEDUP_MIN = 0.9  # of the number of GPUs
OPS = {"SUM": ["sum"],
       "describe": ["sum", "mean", "var", "min", "max", "nan_count", "inf_count", "l1_norm",
                    "l2_norm"]}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, help="a build folder; default: the bundle")
    parser.add_argument("--gpus", type=lambda text: [int(n) for n in text.split(",")],
                        default=[1, 2, 4], help="numbers of GPUs (default: 1,2,4)")
    parser.add_argument("--size", type=parse_size, default=parse_size("16GiB"),
                        help="of the tensor, f32 (default: 16GiB)")
    parser.add_argument("--seconds", type=float, default=2.0, help="per measurement")
    parser.add_argument("--output", type=pathlib.Path, help="write the results here, as JSON")
    return parser.parse_args()


def measure(program, server, size, ops, seconds):
    command = [str(program), "bench", "--json", "--target", server.address, "--timeout", "300",
               "--method", "resident", "--size", str(size), "--op", ",".join(ops),
               "--duration", str(seconds), "--warmup", "0.5", "--requests-min", "20"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)}\n{done.stderr}{server.log_path.read_text()}")
    result = json.loads(done.stdout)
    if result["failures"]:
        sys.exit(f"{shlex.join(command)}\n{done.stdout}")
    return result


def main():
    arguments = parse_arguments()
    server_program, _, client_program = find_programs(arguments.build)
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for gpus in arguments.gpus:
            visible = ",".join(str(ordinal) for ordinal in range(gpus))
            command = ["env", f"CUDA_VISIBLE_DEVICES={visible}", str(server_program),
                       "--backend=cuda", "--listen-address=127.0.0.1:0",
                       "--metrics-address=127.0.0.1:0",
                       f"--max-resident-bytes={2 * arguments.size}",
                       f"--max-resident-tensor-bytes={arguments.size}"]
            with Server(f"gpus-{gpus}", command, pathlib.Path(folder)) as server:
                for name, ops in OPS.items():
                    run = measure(client_program, server, arguments.size, ops, arguments.seconds)
                    if run["device"].count(",") + 1 != gpus:
                        sys.exit(f"{gpus} GPUs, but the tensor lies on {run['device']}")
                    runs.append({"gpus": gpus, "case": name, **run})
                    print(f"{gpus} GPUs, {name}: {run['p50_us']:.0f} us", flush=True)
    first = {run["case"]: run for run in runs if run["gpus"] == arguments.gpus[0]}
    for run in runs:
        start = first[run["case"]]
        run["speedup"] = start["p50_us"] / run["p50_us"]
        run["met"] = run["speedup"] >= SPEEDUP_MIN * run["gpus"] / start["gpus"]
    print_table(f"{size_text(arguments.size)} of f32, p50 of one client",
                ("case", "GPUs", "p50", "speed-up", f"target: {SPEEDUP_MIN} x GPUs"),
                [(run["case"], run["gpus"], f"{run['p50_us']:.0f} us", f"{run['speedup']:.2f}",
                  "met" if run["met"] else "missed") for run in runs])
    if arguments.output:
        results = {"gpu": nvidia_smi("name"), "driver": nvidia_smi("driver_version"),
                   "date": datetime.date.today().isoformat(), "command": shlex.join(sys.argv),
                   "bytes": arguments.size, "runs": runs}
        arguments.output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        print(f"\nwritten: {arguments.output}")


if __name__ == "__main__":
    main()
