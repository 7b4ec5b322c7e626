#!/usr/bin/env python3
"""What the attacks cost the server and its honest clients: figures, no verdict.

usage: measure.py [--seconds S] [--output FILE] [ATTACK...]

Runs the tests of this folder, or those whose names have ATTACK in them, against the server that
$WARPFOLD_SERVER names, else bin/warpfold-server or build/release/server/warpfold-server of this
tree. Server, honest client and attackers are processes of their own, on processors of their own
where there are enough. A test that has an honest client beside its attack is begun again until the
client has called for S seconds.

Prints a line of JSON an attack: the connections and bytes that the attackers sent to one server
(all that raw_http2.py sent, before TLS), the server's peak of resident memory and the bound that
the test derives, p50 and p99 of honest calls without and beside the attack, how many failed, how
many were refused and tried again (where the test lets its client be patient), the server's
processor time for a round of honest calls, and the time from the attack's last act until the server
holds nothing for any request. A promise that does not hold is in the line, too. FILE gets all of
it. Exit status: pytest's, for errors of a script. Needs grpcio, protobuf, numpy, pytest and what
requirements.txt names; prlimit, taskset and openssl; nginx for the attacks at the edge.
"""

import argparse
import datetime
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE / path) for path in (".", "../client_python", "../../client/python")]
ROLES = ("server", "honest", "attackers")
SERVERS = ("bin/warpfold-server", "build/release/server/warpfold-server")


def processors():
    """(the server's, the honest client's, the attackers'): apart where there are three."""
    all_of_them = sorted(os.sched_getaffinity(0))
    if len(all_of_them) < 3:
        return {all_of_them[0]}, {all_of_them[-1]}, {all_of_them[-1]}
    clients = max(1, len(all_of_them) // 4)
    rest = all_of_them[: -2 * clients]
    return set(rest), set(all_of_them[-clients:]), set(all_of_them[-2 * clients : -clients])


def commit():
    """Of the tree, or of the bundle."""
    command = ["git", "-C", HERE, "describe", "--always", "--dirty", "--match=v*"]
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        version = ROOT / "VERSION"
        return version.read_text().strip() if version.exists() else "unknown"


def model_of_processor():
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((s.partition(":")[2].strip() for s in lines if s.startswith("model name")), "")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("attacks", nargs="*", metavar="ATTACK")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--output", type=Path, metavar="FILE")
    parser.add_argument("--commit", default=commit(), help="the server's; of this tree by default")
    parser.add_argument("--date", default=str(datetime.date.today()))
    options = parser.parse_args()
    for server in SERVERS:
        if (ROOT / server).exists():
            os.environ.setdefault("WARPFOLD_SERVER", str(ROOT / server))
    count, apart = len(os.sched_getaffinity(0)), processors()
    os.sched_setaffinity(0, apart[-1])

    import pytest  # after --help, which needs neither
    from measuring import Measuring

    result = {
        "processor": model_of_processor(),
        "processors": {"all": count, **dict(zip(ROLES, map(len, apart)))},
        "date": options.date,
        "commit": options.commit,
        "command": shlex.join(["tests/attacks/measure.py", *sys.argv[1:]]),
        "grpc": None,
        "attacks": [],
    }

    def report(attack):
        result["grpc"] = measuring.grpc
        result["attacks"].append(attack)
        print(json.dumps(attack), flush=True)
        if options.output:  # each time: a run that is cut short leaves what it has
            options.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")

    measuring = Measuring(options.seconds, apart, report)
    arguments = [str(HERE), "-o", "addopts=", "-s", "-p", "no:cacheprovider", "-p", "no:terminal"]
    if options.attacks:
        arguments += ["-k", " or ".join(options.attacks)]
    code = pytest.main(arguments, plugins=[measuring])
    measuring.close()
    sys.exit(code)


if __name__ == "__main__":
    main()
