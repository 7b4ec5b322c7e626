#!/usr/bin/env python3
"""What overload does to the answers: 4 KiB tensors at three times what the server can do.

usage: overload.py [--build BUILD] [--backend BACKEND] [--times 3] [--connections 64] ...

First --capacity-clients clients, each with one request at a time, find the capacity; then
--client-processes make calls on --connections at --times that rate, at random times, whether the
server keeps up or not, and give up after --timeout-ms. Both again for each round. Server and
clients are on processors of their own where there are enough: clients need the more of them; the
offered rate shows whether they made so many calls. --burners processes take time of the server's
processors, where the clients could not otherwise. Prints, and writes as JSON: answers a second that
were OK, over the capacity (goodput); calls that failed, by code; and the p99 of the server's own
time of those it admitted, an upper bound by its histogram.
"""

import collections
import contextlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import urllib.request

from arguments import bench_parser
from cases import write_results
from servers import LOAD, SERVER, Server, find_programs, load_report, nvidia_smi

OPEN_LOOP = "bench/service/warpfold_open_loop"

BUCKET = re.compile(
    r'^warpfold_request_duration_seconds_bucket\{method="Reduce",le="([^"]+)"\} (\d+)$', re.M)


def split_processors(on_server):
    """(the server's, the clients'): so many and the rest, or all for both where there are few."""
    everywhere = sorted(os.sched_getaffinity(0))
    if len(everywhere) <= on_server:
        return everywhere, everywhere
    return everywhere[:on_server], everywhere[on_server:]


def pinned(processors):
    return ["taskset", "--cpu-list", ",".join(map(str, processors))]


def buckets(server):
    """Answered requests by the upper bound of their time in the server, in seconds."""
    port = server.port_file.read_text().split()[1]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as page:
        text = page.read().decode()
    return {float(bound): int(count) for bound, count in BUCKET.findall(text)}


def p99_bound_s(before, after):
    counts = {bound: after[bound] - before.get(bound, 0) for bound in after}
    wanted = 0.99 * counts[float("inf")]
    return min(bound for bound, count in counts.items() if count >= wanted)


def capacity_rps(program, server, processors, options):
    report = load_report(program, server, "--size=4KiB", f"--clients={options.capacity_clients}",
                         f"--duration={options.seconds}", f"--warmup={options.seconds / 5}",
                         run_by=pinned(processors))
    return report["rps"]


def open_loop(program, server, processors, options, rate):
    """What became of all calls: of several processes, since gRPC searches all calls of one."""
    count = min(options.client_processes, options.connections)
    command = [*pinned(processors), str(program), f"--target={server.address}",
               f"--rate={rate / count}", f"--duration={options.seconds}",
               f"--connections={options.connections // count}",
               f"--timeout-ms={options.timeout_ms}"]
    running = [subprocess.Popen([*command, f"--seed={seed}"], stdout=subprocess.PIPE)
               for seed in range(count)]
    reports = [json.loads(process.communicate()[0]) for process in running]
    failures = collections.Counter()
    for report in reports:
        failures.update(report["failures"])
    return {
        "seconds": options.seconds,
        "failures": dict(failures),
        **{key: sum(report[key] for report in reports)
           for key in ("made", "ok", "unanswered_at_end")},
        **{key: max(report[key] for report in reports) for key in ("p50_us", "p99_us")},
    }


def measure(programs, server, processors, options):
    load, loop = programs
    capacity = capacity_rps(load, server, processors, options)
    before = buckets(server)
    run = open_loop(loop, server, processors, options, options.times * capacity)
    ok_rps = run["ok"] / run["seconds"]
    return {
        "capacity_rps": capacity,
        "offered_rps": run["made"] / run["seconds"],
        "ok_rps": ok_rps,
        "goodput": ok_rps / capacity,
        "failures": run["failures"],
        "unanswered_at_end": run["unanswered_at_end"],
        "client_p50_us": run["p50_us"],
        "client_p99_us": run["p99_us"],
        "admitted_p99_s_at_most": p99_bound_s(before, buckets(server)),
    }


def main():
    parser = bench_parser(__doc__, rounds=3, seconds=3)
    parser.add_argument("--times", type=float, default=3, help="of the capacity that is offered")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--client-processes", type=int, default=16)
    parser.add_argument("--timeout-ms", type=int, default=30000, help="of a call")
    parser.add_argument("--capacity-clients", type=int, default=64)
    parser.add_argument("--server-processors", type=int, default=2)
    parser.add_argument("--requests-in-flight", type=int, default=1024)
    parser.add_argument("--burners", type=int, default=0, help="busy loops beside the server")
    options = parser.parse_args()
    server_program, *programs = find_programs(options.build, (SERVER, LOAD, OPEN_LOOP))
    on_server, on_clients = split_processors(options.server_processors)
    with contextlib.ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        for _ in range(options.burners):
            loop = [*pinned(on_server), sys.executable, "-c", "while True: pass"]
            burner = subprocess.Popen(loop)
            stack.callback(burner.kill)
        command = [*pinned(on_server), str(server_program), f"--backend={options.backend}",
                   f"--max-requests-in-flight={options.requests_in_flight}",
                   "--listen-address=127.0.0.1:0", "--log-level=error"]
        with Server("warpfold", command, pathlib.Path(folder)) as server:
            rounds = [measure(programs, server, on_clients, options)
                      for _ in range(options.rounds)]
    results = {
        "gpu": nvidia_smi("name"),
        "processors": {"server": len(on_server), "clients": len(on_clients)},
        "burners": options.burners,
        "times": options.times,
        "connections": options.connections,
        "timeout_ms": options.timeout_ms,
        "requests_in_flight": options.requests_in_flight,
        "rounds": rounds,
        "goodput": statistics.median(one["goodput"] for one in rounds),
        "admitted_p99_s_at_most": max(one["admitted_p99_s_at_most"] for one in rounds),
    }
    for one in rounds:
        print(f"capacity {one['capacity_rps']:.0f}/s, offered {one['offered_rps']:.0f}, OK "
              f"{one['ok_rps']:.0f} ({one['goodput']:.2f}), failed {one['failures']}, p99 in the "
              f"server at most {one['admitted_p99_s_at_most']:g} s")
    print(f"goodput {results['goodput']:.2f} (median)")
    write_results(options.output, results)


if __name__ == "__main__":
    main()
