#!/usr/bin/env python3
"""Measures what counting costs: requests/s with metrics and without, in one run.

Two servers of the same objects run side by side: warpfold-server, whose page is scraped once a
round, and warpfold_uncounted_server, whose metrics count nothing (uncounted_metrics.cc). The same
load (`warpfold bench`, unary) asks them in turns, in many short rounds that start with one as often
as with the other, so that what else the machine does hits both. A cost is the part by which the
medians over the rounds differ; its interval (95 %) comes from drawing the rounds anew.

From a build tree:  bench/service/metrics_cost.py --build build/release
"""

import argparse
import datetime
import json
import os
import pathlib
import random
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

from cases import parse_size, print_table, size_text, write_results
from servers import LOAD, SERVER, Server, find_programs, nvidia_smi

COST_MAX = 0.02  # of the requests/s
DRAWS = 2000
UNCOUNTED_SERVER = "bench/service/warpfold_uncounted_server"
COUNTED, UNCOUNTED = "with metrics", "without"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path,
                        help="a build folder; default: bin/ two folders up")
    parser.add_argument("--backend", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each server in a round")
    parser.add_argument("--size", type=parse_size, default=parse_size("4KiB"))
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--output", type=pathlib.Path, help="write the results here, as JSON")
    return parser.parse_args()


def processor_seconds(pid):
    """What the process has used; by its processor clock, as clock_getcpuclockid(3) makes it."""
    return time.clock_gettime((~pid << 3) | 2)


def measure(client, server, arguments):
    """(requests/s, the server's processor time a request in us)."""
    command = [str(client), "bench", "--json", "--target", server.address,
               "--size", str(arguments.size), "--clients", str(arguments.clients),
               "--duration", str(arguments.seconds), "--warmup", "0"]
    before = processor_seconds(server.process.pid)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    used = processor_seconds(server.process.pid) - before
    if done.returncode != 0 or json.loads(done.stdout)["failures"]:
        sys.exit(f"{shlex.join(command)}\n{done.stdout}{done.stderr}")
    result = json.loads(done.stdout)
    return result["rps"], used / result["requests"] * 1e6


def scrape(server):
    port = server.port_file.read_text().split()[1]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as page:
        return page.read()


def cost(pairs, value):
    """What counting takes, with its 95 % interval: the median of the rounds' own ratios, as what
    else the machine does changes from round to round. `value`: 0 requests/s, 1 processor time."""
    def of_round(pair):
        ratio = pair[COUNTED][value] / pair[UNCOUNTED][value]
        return 1 - ratio if value == 0 else ratio - 1
    costs = [of_round(pair) for pair in pairs]
    draw = random.Random(1)
    drawn = sorted(statistics.median(draw.choices(costs, k=len(costs))) for _ in range(DRAWS))
    return {"cost": statistics.median(costs),
            "low": drawn[DRAWS // 40], "high": drawn[-DRAWS // 40]}


def run(client, servers, arguments):
    """Of each round, what each server gave."""
    for server in servers.values():
        measure(client, server, arguments)  # warm
    pairs = []
    for number in range(arguments.rounds):
        scrape(servers[COUNTED])
        names = [COUNTED, UNCOUNTED] if number % 2 else [UNCOUNTED, COUNTED]
        pairs.append({name: measure(client, servers[name], arguments) for name in names})
    return pairs


def summary(pairs):
    medians = {name: {"requests_per_second": statistics.median(pair[name][0] for pair in pairs),
                      "processor_us": statistics.median(pair[name][1] for pair in pairs)}
               for name in (COUNTED, UNCOUNTED)}
    costs = {"requests_per_second": cost(pairs, 0), "processor_time": cost(pairs, 1)}
    return {"medians": medians, "costs": costs,
            "met": costs["requests_per_second"]["cost"] <= COST_MAX}


def print_summary(result, arguments):
    print_table(f"{size_text(arguments.size)} unary, {arguments.clients} clients, "
                f"{arguments.rounds} rounds",
                ("server", "requests/s", "processor time a request"),
                [(name, f"{median['requests_per_second']:.0f}", f"{median['processor_us']:.2f} us")
                 for name, median in result["medians"].items()])
    for name, part in result["costs"].items():
        print(f"counting costs {part['cost']:.2%} of the {name.replace('_', ' ')} "
              f"({part['low']:.2%} to {part['high']:.2%})")
    verdict = "met" if result["met"] else "missed"
    print(f"target: at most {COST_MAX:.0%} of the requests per second: {verdict}")


def write(path, result, pairs, backend):
    header = {"gpu": nvidia_smi("name"), "processors": os.cpu_count(),
              "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
              "command": shlex.join(sys.argv), "backend": backend}
    rounds = [{name: {"requests_per_second": rps, "processor_us": processor_us}
               for name, (rps, processor_us) in pair.items()} for pair in pairs]
    write_results(path, {**header, **result, "rounds": rounds})


def main():
    arguments = parse_arguments()
    server, uncounted_server, client = find_programs(arguments.build,
                                                     (SERVER, UNCOUNTED_SERVER, LOAD))
    flags = [f"--backend={arguments.backend}", "--listen-address=127.0.0.1:0",
             "--metrics-address=127.0.0.1:0"]
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        with Server("counted", [server, *flags], folder) as counted, \
                Server("uncounted", [uncounted_server, *flags], folder) as uncounted:
            pairs = run(client, {COUNTED: counted, UNCOUNTED: uncounted}, arguments)
            if b"warpfold_requests_total" in scrape(uncounted):
                sys.exit("the server without metrics counts")
    result = summary(pairs)
    print_summary(result, arguments)
    if arguments.output:
        write(arguments.output, result, pairs, arguments.backend)


if __name__ == "__main__":
    main()
