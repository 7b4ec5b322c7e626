"""What people write today, measured in the same run: bench/peers, each with its own client."""

import contextlib
import json
import shlex
import statistics
import subprocess
import sys

from cases import MIB, UNARY_BYTES_MAX, print_table, size_text
from servers import ROOT, Server

FOLDER = ROOT / "bench" / "peers"
# name, script, whether it brings a server (the others are clients of warpfold's)
PEERS = [("grpcio + torch.sum", "grpcio_torch.py", True),
         ("Arrow Flight + torch.sum", "flight_torch.py", True),
         ("warpfold, Python client", "warpfold_python.py", False)]


class Peer:
    def __init__(self, python, script):
        self.command = [python, str(FOLDER / script)]

    def missing(self):
        """Why it cannot run here; empty when it can."""
        check = subprocess.run([*self.command, "check"], capture_output=True, text=True,
                               check=False)
        if check.returncode == 0:
            return ""
        return (check.stdout.strip() or check.stderr.strip()).splitlines()[-1]

    def measure(self, address, size, clients, seconds, *more):
        command = [*self.command, "load", "--target", address, "--size", str(size),
                   "--clients", str(clients), "--seconds", str(seconds), *more]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{shlex.join(command)}\n{done.stderr}")
        return json.loads(done.stdout)

    @contextlib.contextmanager
    def rounds(self, address, size, seconds, way, environment):
        """One client, started at once, while others may be: a function that measures, each time."""
        command = [*self.command, "rounds", "--target", address, "--size", str(size),
                   "--seconds", str(seconds), "--way", way]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True, env=environment) as client:
            def measure():
                with contextlib.suppress(BrokenPipeError):  # it failed, and said why
                    client.stdin.write("\n")
                    client.stdin.flush()
                line = client.stdout.readline()
                if not line:
                    sys.exit(f"{shlex.join(command)}: failed")
                return json.loads(line)

            yield measure
            client.stdin.close()


def available(python):
    """(name, Peer, brings a server) of those that can run; says which cannot, and why."""
    found, skipped = [], {}
    for name, script, serves in PEERS:
        peer = Peer(python, script)
        why = peer.missing()
        if why:
            print(f"{name}: skipped: {why}", flush=True)
            skipped[name] = why
        else:
            found.append((name, peer, serves))
    return found, skipped


def compare(bench, warpfold, arguments, cases, folder):
    """Every case on every peer and on warpfold, interleaved. Returns what the JSON gets."""
    found, skipped = available(arguments.peer_python)
    values, runs = {}, []

    def note(name, run):
        runs.append({"server": name, **run})
        values.setdefault((run["bytes"], run["clients"]), {}).setdefault(name, []).append(run)

    with contextlib.ExitStack() as running:
        addresses = {}
        for name, peer, serves in found:
            server = warpfold
            if serves:
                command = [*peer.command, "serve", "--device", arguments.backend]
                server = running.enter_context(Server(name.split()[0], command, folder))
            addresses[name] = server.address
        for _ in range(arguments.peer_rounds):
            for size, clients in cases:
                method = "unary" if size <= UNARY_BYTES_MAX else "stream"
                note("warpfold", bench.measure(warpfold, method, size, clients,
                                               arguments.seconds, requests_min=3))
                for name, peer, _ in found:
                    note(name, peer.measure(addresses[name], size, clients, arguments.seconds))
    names = ["warpfold", *(name for name, _, _ in found)]
    rows, results = [], []
    for (size, clients), by_name in values.items():
        row = [f"{size_text(size)}, {clients} client{'s' if clients > 1 else ''}"]
        for name in names:
            medians = {metric: statistics.median(run[metric] for run in by_name[name])
                       for metric in ("p50_us", "rps", "gb_per_second")}
            results.append({"peer": name, "bytes": size, "clients": clients, **medians})
            row.append(f"{medians['p50_us']:.0f} us, {medians['rps']:.0f} rps" if size < MIB
                       else f"{medians['gb_per_second']:.2f} GB/s")
        rows.append(row)
    print_table("tensor in, sum out", ("request", *names), rows)
    return {"results": results, "skipped": skipped, "runs": runs}
