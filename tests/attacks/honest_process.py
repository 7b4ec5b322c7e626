"""An honest client in a process of its own, whose times no attacker's Python is part of.

usage: honest_process.py (by measure.py): a line of JSON on stdin names a server, the next line ends
the calls to it. Prints a line for each round of calls, and `null` behind the last.
"""

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections import defaultdict
from types import SimpleNamespace

from honest import KINDS, Honest, Outcome


class Calls(Outcome):
    """What became of the calls, and how long those took that were answered."""

    def __init__(self):
        super().__init__()
        self.took_ms = defaultdict(list)
        self.tried_again = 0

    def add_round(self, took_ms, failures, tried_again):
        for kind, ms in took_ms.items():
            self.took_ms[kind].append(ms)
        self.answered += len(took_ms)
        self.failures += failures
        self.tried_again += tried_again

    def add(self, other):
        for kind, times in other.took_ms.items():
            self.took_ms[kind] += times
        self.answered += other.answered
        self.failures += other.failures
        self.tried_again += other.tried_again


class HonestProcess:
    """The process; `run_by` is a command, such as taskset, that becomes it."""

    def __init__(self, run_by=()):
        command = [*run_by, sys.executable, "-B", __file__]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def close(self):
        self._process.stdin.close()
        self._process.wait()

    def _say(self, order):
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()

    def _read(self, calls):
        for line in self._process.stdout:
            said = json.loads(line)
            if said is None:
                return
            calls.add_round(**said)

    @contextlib.contextmanager
    def calling(self, server, calls, patient=False):
        """Calls until the block ends, and once more each kind of call; `calls` is kept current."""
        pems = [pem.decode() for pem in server.pems]
        self._say({"port": server.port, "pems": pems, "patient": patient})
        reader = threading.Thread(target=self._read, args=(calls,))
        reader.start()
        try:
            yield
        finally:
            self._say("end")
            reader.join()


def one_round(honest):
    """Each kind of call once."""
    took_ms, failed_before, again_before = {}, len(honest.failures), honest.tried_again
    for kind in KINDS:
        failed, began = len(honest.failures), time.monotonic()
        honest.round(getattr(honest, kind))
        if len(honest.failures) == failed:
            took_ms[kind] = 1e3 * (time.monotonic() - began)
    failures, again = honest.failures[failed_before:], honest.tried_again - again_before
    said = {"took_ms": took_ms, "failures": failures, "tried_again": again}
    print(json.dumps(said), flush=True)


def main():
    orders = queue.Queue()

    def take():
        for line in sys.stdin:
            orders.put(json.loads(line))
        orders.put(None)

    threading.Thread(target=take, daemon=True).start()
    while order := orders.get():
        pems = tuple(pem.encode() for pem in order["pems"])
        server = SimpleNamespace(port=order["port"], pems=pems)
        honest = Honest(server, order["patient"])
        while orders.empty():
            one_round(honest)
        one_round(honest)  # begins behind the last act of the attack
        honest.close()
        if orders.get() is None:
            return
        print("null", flush=True)


if __name__ == "__main__":
    main()
