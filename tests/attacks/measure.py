#!/usr/bin/env python3
"""What the attacks cost honest clients: figures, no verdict.

usage: measure.py [--seconds S] [ATTACK...]

Runs each attack over and over for S seconds against a server of its own ($WARPFOLD_SERVER names the
binary; options that it does not have are left out). Server, honest client and attacker are on
processors of their own where there are enough. Prints a line of JSON an attack: the honest client's
p50 and p99 of a 4 KiB Reduce without and under the attack, refused and failed calls, the server's
processor seconds a call, and the time from the attack's end until the gauges are at zero.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / path) for path in (".", "../client_python", "../../client/python")]

import grpc  # noqa: E402
import half_messages_test  # noqa: E402
import header_only_streams_test  # noqa: E402
import many_connections_test  # noqa: E402
import numpy as np  # noqa: E402
import parse_bombs_test  # noqa: E402
import slow_senders_test  # noqa: E402
import tiny_frames_test  # noqa: E402
import unread_answers_test  # noqa: E402
from attacked_server import MIB, attacked, without_unknown_options  # noqa: E402
from honest import Honest  # noqa: E402
from raw_http2 import RawConnection  # noqa: E402

ATTACKS = {
    module.__name__.removesuffix("_test"): module
    for module in (
        unread_answers_test,
        header_only_streams_test,
        slow_senders_test,
        half_messages_test,
        many_connections_test,
        parse_bombs_test,
        tiny_frames_test,
    )
}


def processors():
    """(the server's, the honest client's, the attacker's): apart where there are three."""
    all_of_them = sorted(os.sched_getaffinity(0))
    if len(all_of_them) < 3:
        return {all_of_them[0]}, {all_of_them[-1]}, {all_of_them[-1]}
    clients = max(1, len(all_of_them) // 4)
    rest = all_of_them[: -2 * clients]
    return set(rest), set(all_of_them[-clients:]), set(all_of_them[-2 * clients : -clients])


def pinned(where):
    return ["taskset", "--cpu-list", ",".join(map(str, where))]


def call_until(port, seconds):
    """The honest process: one call after another; prints what became of them."""
    honest = Honest(SimpleNamespace(port=port, credentials=None))
    took_s, failed = [], Counter()
    end = time.monotonic() + seconds
    while (began := time.monotonic()) < end:
        try:
            honest.reduce()
            took_s.append(time.monotonic() - began)
        except grpc.RpcError as error:
            failed[error.code().name] += 1
    p50, p99 = np.percentile(took_s, (50, 99)) * 1e3 if took_s else (None, None)
    print(json.dumps({"calls": len(took_s), "p50_ms": p50, "p99_ms": p99, "failed": failed}))


def start_honest(server, seconds, where):
    command = [sys.executable, "-B", __file__, "--honest", str(server.port), str(seconds)]
    return subprocess.Popen(pinned(where) + command, stdout=subprocess.PIPE, text=True)


def figures(server, honest, before_s):
    result = json.loads(honest.communicate()[0])
    result["server_cpu_s_a_call"] = (server.cpu_s() - before_s) / max(result["calls"], 1)
    return result


def attack_until_done(module, server, honest):
    window = 0 if module is unread_answers_test else 65535
    go_on = getattr(module, "go_on", lambda client: client.read(0.1))
    connections = getattr(module, "CONNECTIONS", 1)
    while honest.poll() is None:
        with contextlib.ExitStack() as stack:
            clients = []
            for _ in range(connections):
                clients.append(stack.enter_context(RawConnection(server.port, window)))
                module.begin(clients[-1])
            while honest.poll() is None and clients[-1].open_calls():
                go_on(clients[-1])


def measure(name, seconds, apart):
    module = ATTACKS[name]
    on_server, on_honest, on_attacker = apart
    flags = without_unknown_options(module.FLAGS)
    with attacked(*flags, run_by=pinned(on_server)) as server:
        result = {"attack": name, "processors": [len(on_server), len(on_honest), len(on_attacker)]}
        before_s = server.cpu_s()
        unloaded = start_honest(server, seconds, on_honest)
        unloaded.wait()
        result["unloaded"] = figures(server, unloaded, before_s)
        server.forget_peak()
        before_s = server.cpu_s()
        honest = start_honest(server, seconds, on_honest)
        attack_until_done(module, server, honest)
        ended = time.monotonic()
        result["attacked"] = figures(server, honest, before_s)
        try:
            server.await_idle()
            result["recovered_after_s"] = time.monotonic() - ended
        except AssertionError as error:
            result["recovered_after_s"] = str(error)
        result["peak_rss_mib"] = server.peak_rss() / MIB
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("attacks", nargs="*", metavar="ATTACK", help=", ".join(ATTACKS))
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--honest", nargs=2, metavar=("PORT", "S"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.honest:
        call_until(int(options.honest[0]), float(options.honest[1]))
        return
    apart = processors()
    os.sched_setaffinity(0, apart[-1])
    for name in options.attacks or ATTACKS:
        print(json.dumps(measure(name, options.seconds, apart)), flush=True)


if __name__ == "__main__":
    main()
