#!/usr/bin/env python3
"""What a modest caller has left of a server beside a greedy one.

usage: shares.py [--build BUILD] [--backend BACKEND] [--greedy-clients 512] [--only TEXT]...

The modest caller has enough clients to use the server up, each with one request at a time, and the
greedy one --greedy-clients of the same kind. Measures the modest one alone, beside the greedy one,
and beside it where both show one token, so that the server cannot tell them apart. Server and
callers have processors of their own where there are four or more. Prints, and writes as JSON, the
answers a second and the two ratios to those alone: medians of the rounds.
"""

import contextlib
import hashlib
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

from arguments import bench_parser
from cases import KIB, MIB, Case, is_wanted, write_results
from servers import LOAD, SERVER, Server, find_programs, load_report, nvidia_smi

CASES = [
    Case("4 KiB unary, 64 clients", "unary", 4 * KIB, 64, "rps"),
    Case("4 KiB many, 8 clients", "many", 4 * KIB, 8, "rps"),
    Case("1 MiB unary, 32 clients", "unary", MIB, 32, "rps"),
    Case("16 MiB stream, 16 clients", "stream", 16 * MIB, 16, "rps"),
    Case("16 MiB resident, 16 clients", "resident", 16 * MIB, 16, "rps"),
]
MODEST, GREEDY = "modest", "greedy"


def write_callers(folder):
    """The server's file, and one with the token of each."""
    lines = []
    for name in (MODEST, GREEDY):
        token = f"token-of-the-{name}-caller"
        (folder / name).write_text(token, encoding="utf-8")
        digest = hashlib.sha256(token.encode()).hexdigest()
        lines.append(f"caller={name} token-sha256={digest} scopes=reduce,resident\n")
    (folder / "callers").write_text("".join(lines), encoding="utf-8")


def split_processors():
    """taskset's words for the server and the two callers: a half, a quarter and a quarter."""
    everywhere = sorted(os.sched_getaffinity(0))
    quarter = len(everywhere) // 4
    parts = ((everywhere[:2 * quarter], everywhere[2 * quarter:3 * quarter],
              everywhere[3 * quarter:]) if quarter else (everywhere,) * 3)
    return [["taskset", "--cpu-list", ",".join(map(str, part))] for part in parts]


def as_caller(name, folder):
    return ["env", f"WARPFOLD_TOKEN_FILE={folder / name}"]


@contextlib.contextmanager
def greed(program, server, case, run_by, options):
    """Asks the server for as much as it can while the context lasts."""
    with subprocess.Popen(
            [*run_by, str(program), "bench", "--target", server.address, "--method", case.method,
             "--size", str(case.size), f"--clients={options.greedy_clients}", "--duration=600",
             "--warmup=0", "--give-up-after=60"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as load:
        try:
            time.sleep(3 * options.seconds)  # until all of its clients are there
            if load.poll() is not None:
                raise SystemExit(f"the greedy caller ended: {load.stderr.read()}")
            yield
        finally:
            load.kill()


def modest_rps(program, server, case, run_by, options):
    return load_report(program, server, "--method", case.method, "--size", str(case.size),
                       "--clients", str(case.clients), f"--duration={options.seconds}",
                       f"--warmup={options.seconds / 4}", "--give-up-after=60",
                       run_by=run_by)["rps"]


def measure(programs, case, processors, options):
    """The modest caller's answers a second: alone, beside another, beside more of itself."""
    binary, program = programs
    on_server, on_modest, on_greedy = processors
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        write_callers(folder)
        server = stack.enter_context(Server(
            "server", [*on_server, str(binary), f"--backend={options.backend}",
                       "--log-level=error", "--listen-address=127.0.0.1:0",
                       "--metrics-address=none", f"--callers-file={folder / 'callers'}",
                       "--max-resident-bytes=64GiB",
                       "--max-resident-tensors=4096", "--max-bytes-in-flight=4GiB"], folder))
        modest = [*as_caller(MODEST, folder), *on_modest]
        rates = [modest_rps(program, server, case, modest, options)]
        for name in (GREEDY, MODEST):
            with greed(program, server, case, [*as_caller(name, folder), *on_greedy], options):
                rates.append(modest_rps(program, server, case, modest, options))
        return rates


def main():
    parser = bench_parser(__doc__, rounds=3, seconds=1.0)
    parser.add_argument("--greedy-clients", type=int, default=512)
    parser.add_argument("--only", action="append", default=[], metavar="TEXT",
                        help="cases whose name holds it; may be given several times")
    options = parser.parse_args()
    programs = find_programs(options.build, (SERVER, LOAD))
    processors = split_processors()
    results = {"gpu": nvidia_smi("name"), "greedy_clients": options.greedy_clients, "cases": {}}
    for case in CASES:
        if not is_wanted(case, options.only):
            continue
        rounds = [measure(programs, case, processors, options) for _ in range(options.rounds)]
        alone, apart, as_one = map(statistics.median, zip(*rounds))
        results["cases"][case.name] = {
            "alone_rps": alone, "beside_rps": apart, "beside_as_one_rps": as_one,
            "share": apart / alone, "share_as_one": as_one / alone, "rounds": rounds}
        print(f"{case.name:28} alone {alone:10,.0f}/s, beside another caller {apart / alone:.2f}, "
              f"beside more of itself {as_one / alone:.2f}")
    write_results(options.output, results)


if __name__ == "__main__":
    main()
