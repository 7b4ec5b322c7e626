#!/usr/bin/env python3
"""Measures how a client should cut a large tensor: chunks of a stream, stripes over connections.

For ClientOptions' defaults (client/cpp/client.h): by size the speed of one stream against stripes
of several least sizes over several connections, and of one stream by its chunks' size. One client;
medians of the rounds, which take turns.

From the bundle:    bundle/bench/service/stripes.py --backend cuda
"""

import datetime
import json
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile

from arguments import bench_parser
from cases import KIB, MIB, print_table, size_text, write_results
from servers import Server, find_programs, nvidia_smi

SIZES = tuple(n * MIB for n in (4, 8, 16, 32, 64, 256, 1024))
CONNECTIONS = (2, 4, 8)
STRIPES = (MIB, 4 * MIB, 16 * MIB)
CHUNKS = tuple(n * KIB for n in (256, 512, 1024, 2048, 4096))
CHUNKED_SIZE = 256 * MIB


def loads():
    """(size, name, flags of `warpfold bench`) of all that is measured."""
    for chunk in CHUNKS:
        yield (CHUNKED_SIZE, f"chunks of {size_text(chunk)}",
               ("--method", "stream", "--chunk-size", str(chunk)))
    for size in SIZES:
        yield size, "one stream", ("--method", "stream")
        for connections in CONNECTIONS:
            for stripe in STRIPES:
                if 2 * stripe > size:
                    continue
                yield (size, f"{connections} x {size_text(stripe)}",
                       ("--method", "striped", "--connections", str(connections),
                        "--stripe-size", str(stripe)))


def measure(program, server, size, flags, seconds):
    command = [str(program), "bench", "--json", "--target", server.address, "--size", str(size),
               "--duration", str(seconds), "--warmup", "0.1", "--requests-min", "3", *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 or json.loads(done.stdout)["failures"]:
        sys.exit(f"{shlex.join(command)}\n{done.stdout}{done.stderr}{server.log_path.read_text()}")
    return json.loads(done.stdout)["gb_per_second"]


def main():
    arguments = bench_parser(__doc__, rounds=2, seconds=0.3).parse_args()
    server_program, _, client_program = find_programs(arguments.build)
    speeds = {}
    with tempfile.TemporaryDirectory() as folder:
        command = [str(server_program), f"--backend={arguments.backend}",
                   "--listen-address=127.0.0.1:0", "--metrics-address=127.0.0.1:0"]
        with Server("stripes", command, pathlib.Path(folder)) as server:
            for _ in range(arguments.rounds):
                for size, name, flags in loads():
                    speeds.setdefault((size, name), []).append(
                        measure(client_program, server, size, flags, arguments.seconds))
    runs = [{"bytes": size, "way": name, "gb_per_second": statistics.median(kept)}
            for (size, name), kept in speeds.items()]
    print_table("GB/s, one client", ("size", "way", "GB/s"),
                [(size_text(run["bytes"]), run["way"], f"{run['gb_per_second']:.2f}")
                 for run in runs])
    if arguments.output:
        results = {"gpu": nvidia_smi("name"), "date": datetime.date.today().isoformat(),
                   "command": shlex.join(sys.argv), "backend": arguments.backend, "runs": runs}
        write_results(arguments.output, results)


if __name__ == "__main__":
    main()
