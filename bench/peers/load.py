"""A closed loop of client processes against one server, for the peers.

A peer is a script beside this one with

  serve(device) -> (port, wait)     starts the server on a free port; wait() blocks
  connect(target, size, way) -> send
                                    a client and the request that it repeats; send() returns the sum
  NEEDS                             the modules without which it cannot run

and calls main(). What it then does:

  PEER.py check                                         exit status 3 when a module is missing
  PEER.py serve --port-file FILE [--device auto|cpu|cuda]
  PEER.py load --target HOST:PORT --size BYTES --clients N --seconds S [--way W]    JSON on stdout
  PEER.py rounds --target HOST:PORT --size BYTES --seconds S [--way W]
                                    one client that measures anew for every line on stdin
"""

import argparse
import importlib.util
import json
import math
import multiprocessing
import os
import pathlib
import sys
import time

ELEMENT_BYTES = 4
VALUE = 0.5  # of every element: sums of up to 2^24 of them are exact in float32
REQUESTS_MIN = 3
START_TIMEOUT_S = 120


def device_of(name):
    """The torch device that `name` means here."""
    import warnings

    import torch

    # Received bytes are read-only, of which torch warns; nothing writes to them.
    warnings.filterwarnings("ignore", message="The given buffer is not writable")

    return "cuda" if name == "cuda" or (name == "auto" and torch.cuda.is_available()) else "cpu"


def import_warpfold():
    """The Python client of the tree or the bundle."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "client" / "python"))
    import warpfold

    return warpfold


def served_already(_):
    raise NotImplementedError("warpfold-server serves")


def payload(size):
    import array

    return array.array("f", [VALUE]).tobytes() * (size // ELEMENT_BYTES)


def connected(connect, arguments):
    """A client's request, which has been answered once, and rightly."""
    send = connect(arguments.target, arguments.size, arguments.way)
    expected = VALUE * (arguments.size // ELEMENT_BYTES)
    got = send()
    if not math.isclose(got, expected, rel_tol=1e-5):
        raise RuntimeError(f"the sum is {expected}, and the server says {got}")
    return send


def measured(send, seconds):
    """(start, end, every request's nanoseconds)"""
    start = time.monotonic()
    latencies_ns, end = [], start + seconds
    while len(latencies_ns) < REQUESTS_MIN or time.monotonic() < end:
        before = time.perf_counter_ns()
        send()
        latencies_ns.append(time.perf_counter_ns() - before)
    return start, time.monotonic(), latencies_ns


def repeat(connect, arguments, barrier, queue):
    """One client process."""
    try:
        send = connected(connect, arguments)
        barrier.wait(START_TIMEOUT_S)  # nobody measures while others still connect
        queue.put(measured(send, arguments.seconds))
    except BaseException:
        barrier.abort()  # the others do not wait for it
        raise


def percentile_us(latencies_ns, percent):
    return latencies_ns[max(math.ceil(percent / 100 * len(latencies_ns)), 1) - 1] / 1e3


def load(connect, arguments):
    context = multiprocessing.get_context("spawn")  # gRPC does not survive a fork
    barrier, queue = context.Barrier(arguments.clients), context.Queue()
    clients = [context.Process(target=repeat, args=(connect, arguments, barrier, queue))
               for _ in range(arguments.clients)]
    for client in clients:
        client.start()
    results = []
    while len(results) < len(clients):
        if any(client.exitcode not in (None, 0) for client in clients):
            sys.exit("a client failed")
        try:
            results.append(queue.get(timeout=1))
        except multiprocessing.queues.Empty:
            continue
    for client in clients:
        client.join()
    report(results, arguments)


def rounds(connect, arguments):
    send = connected(connect, arguments)
    for _ in sys.stdin:
        report([measured(send, arguments.seconds)], arguments)


def report(results, arguments):
    elapsed = max(end for _, end, _ in results) - min(start for start, _, _ in results)
    latencies_ns = sorted(latency for _, _, each in results for latency in each)
    print(json.dumps({
        "bytes": arguments.size, "clients": len(results), "requests": len(latencies_ns),
        "seconds": elapsed, "rps": len(latencies_ns) / elapsed,
        "gb_per_second": len(latencies_ns) * arguments.size / elapsed / 1e9,
        **{f"p{percent}_us": percentile_us(latencies_ns, percent) for percent in (50, 90, 99)}}),
        flush=True)


def run_server(serve, arguments):
    port, wait = serve(device_of(arguments.device))
    unfinished = arguments.port_file + ".new"  # renamed: a reader never sees half of it
    with open(unfinished, "w", encoding="utf-8") as file:
        file.write(f"{port}\n")
    os.rename(unfinished, arguments.port_file)
    wait()


def is_there(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # nor is what it would be in
        return False


def main(serve, connect, needs):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("check")
    serving = commands.add_parser("serve")
    serving.add_argument("--port-file", required=True)
    serving.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda"])
    load_of = argparse.ArgumentParser(add_help=False)
    load_of.add_argument("--target", required=True)
    load_of.add_argument("--size", type=int, required=True)
    load_of.add_argument("--seconds", type=float, default=1.0)
    load_of.add_argument("--way", default="", help="which one, of a client that has several")
    loading = commands.add_parser("load", parents=[load_of])
    loading.add_argument("--clients", type=int, default=1)
    commands.add_parser("rounds", parents=[load_of])
    arguments = parser.parse_args()
    missing = [module for module in needs if not is_there(module)]
    if missing:
        print("no " + ", no ".join(missing))
        sys.exit(3)
    if arguments.command == "serve":
        run_server(serve, arguments)
    elif arguments.command == "load":
        load(connect, arguments)
    elif arguments.command == "rounds":
        rounds(connect, arguments)
