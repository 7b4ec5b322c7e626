#!/usr/bin/env python3
"""Two builds of the server side by side: what a change costs, or gains, small and large requests.

usage: beside.py OLD NEW [--build BUILD] [--old-client CLIENT] [--backend BACKEND] [--rounds 7]
                 [--only TEXT]... [--callers]

OLD and NEW are server binaries. Each round starts a process of each, as two processes of one binary
differ by up to a tenth, and measures each case three times of each in turns, as machines drift.
Prints, and writes as JSON, NEW over OLD: of the medians over all rounds, the median of the rounds'
own ratios, and each of those. With --callers NEW asks its callers for a token, and serves its
metrics to who has one; both are sent the token. taskset gives all of it fewer processors.
"""

import contextlib
import hashlib
import os
import pathlib
import statistics
import tempfile

from arguments import bench_parser
from cases import CASES, GIB, Case, is_wanted, write_results
from servers import LOAD, Server, find_programs, load_report, nvidia_smi

NAMES = ("4 KiB unary, 1 client", "4 KiB unary, 64 clients", "4 KiB many, 1 client",
         "4 KiB many, 8 clients", "256 MiB stream, 1 client")
RESIDENT = Case("4 GiB resident, 1 client", "resident", 4 * GIB, 1, "p50_us")  # but for its kernel
TURNS = 3


def rate(program, server, case, seconds):
    """Answers a second."""
    return load_report(program, server, "--method", case.method, "--size", str(case.size),
                       "--clients", str(case.clients), f"--duration={seconds}",
                       f"--warmup={seconds / 4}")["rps"]


def new_flags(asks, folder):
    """NEW's own flags, and the token in the environment of its clients."""
    if not asks:
        return ["--metrics-address=none"]
    token = "token-of-the-bench"
    (folder / "token").write_text(token, encoding="utf-8")
    os.environ["WARPFOLD_TOKEN_FILE"] = str(folder / "token")
    digest = hashlib.sha256(token.encode()).hexdigest()
    (folder / "callers").write_text(
        f"caller=bench token-sha256={digest} scopes=reduce,resident,metrics\n", encoding="utf-8")
    return [f"--callers-file={folder / 'callers'}", "--metrics-address=127.0.0.1:0",
            "--metrics-auth=on"]


def measure_round(number, binaries, programs, cases, options):
    """{case: (median of OLD, of NEW)} of one process of each, loaded by its program."""
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        order = [0, 1] if number % 2 == 0 else [1, 0]
        servers = {}
        for which in order:
            command = [str(binaries[which]), f"--backend={options.backend}", "--log-level=error",
                       "--listen-address=127.0.0.1:0", "--max-resident-bytes=8GiB",
                       *(new_flags(options.callers, folder) if which else
                         ["--metrics-address=none"])]
            servers[which] = stack.enter_context(Server(f"server{which}", command, folder))
        medians = {}
        for case in cases:
            rates = ([], [])
            for turn in range(TURNS):
                for which in order if turn % 2 == 0 else order[::-1]:
                    rates[which].append(
                        rate(programs[which], servers[which], case, options.seconds))
            medians[case.name] = tuple(statistics.median(of) for of in rates)
        return medians


def main():
    parser = bench_parser(__doc__, rounds=7, seconds=0.4)
    parser.add_argument("old", type=pathlib.Path, metavar="OLD", help="a server's binary")
    parser.add_argument("new", type=pathlib.Path, metavar="NEW", help="another's")
    parser.add_argument("--old-client", type=pathlib.Path, metavar="CLIENT",
                        help="OLD's own warpfold, where the contract has changed since")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT",
                        help="cases whose name holds it; may be given several times")
    parser.add_argument("--callers", action="store_true",
                        help="NEW asks for a token, and has its metrics on")
    options = parser.parse_args()
    (program,) = find_programs(options.build, (LOAD,))
    programs = (options.old_client or program, program)
    cases = [case for case in (*CASES, RESIDENT)
             if case.name in (*NAMES, RESIDENT.name) and is_wanted(case, options.only)]
    rounds = [measure_round(number, (options.old, options.new), programs, cases, options)
              for number in range(options.rounds)]
    results = {"gpu": nvidia_smi("name"), "cases": {}}
    for case in cases:
        old, new = zip(*(one[case.name] for one in rounds))
        ratios = [after / before for before, after in zip(old, new)]
        of_medians = statistics.median(new) / statistics.median(old)
        results["cases"][case.name] = {"old_rps": old, "new_rps": new, "of_medians": of_medians,
                                       "of_rounds": statistics.median(ratios), "ratios": ratios}
        print(f"{case.name:26} {of_medians:.3f} of medians, {statistics.median(ratios):.3f} of "
              f"rounds {[round(ratio, 2) for ratio in ratios]}")
    write_results(options.output, results)


if __name__ == "__main__":
    main()
