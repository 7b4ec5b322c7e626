#!/usr/bin/env python3
"""Measures what `import warpfold` takes beside grpcio and NumPy, which it cannot do without.

Each import is in a fresh interpreter; rounds alternate between the three programs, so that what
else the machine does hits them all. The first round, which reads files from the disk and compiles,
does not count.

Run it by the Python whose packages are to be measured:  bench/service/import_cost.py
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys

COST_MAX_MS = 100
PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "client" / "python"
PROGRAMS = {
    "grpcio and NumPy": "import grpc, numpy",
    "and protobuf's messages": "import grpc, numpy\nfrom google.protobuf import message_factory",
    "and warpfold": "import grpc, numpy\nimport warpfold",
}


def import_ms(program):
    timed = (f"import time\nbegin = time.perf_counter()\n{program}\n"
             "print((time.perf_counter() - begin) * 1000)")
    done = subprocess.run([sys.executable, "-c", timed], capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONPATH": str(PACKAGE)})
    return float(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    times_ms = {name: [] for name in PROGRAMS}
    for counts in [False] + [True] * rounds:
        for name, program in PROGRAMS.items():
            taken_ms = import_ms(program)
            if counts:
                times_ms[name].append(taken_ms)
    medians_ms = {name: statistics.median(times) for name, times in times_ms.items()}
    least_ms, *_, all_ms = medians_ms.values()
    print(f"Python {sys.version.split()[0]}, medians of {rounds} rounds")
    for name, median_ms in medians_ms.items():
        print(f"{name:24} {median_ms:6.1f} ms, {median_ms - least_ms:5.1f} more, "
              f"x {median_ms / least_ms:.2f}")
    kept = all_ms - least_ms <= COST_MAX_MS
    print(f"at most {COST_MAX_MS} ms more: {'kept' if kept else 'MISSED'}")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
