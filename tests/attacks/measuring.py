"""What measure.py adds to the tests: processors apart, an honest client in a process of its own,
and figures of each attack.

The tests run as they are. They find what is here in the place of `attacked`, `beside` and
`Findings`, as long as this comes before they are imported.
"""

import contextlib
import os
import sys
import time

import attacked_server
import edge
import findings
import honest
import pytest
from honest_process import Calls, HonestProcess
from raw_http2 import SENT

MIB = attacked_server.MIB
LONGER = 4  # a case is begun again for so many times --seconds at most


def pinned(where):
    return ["taskset", "--cpu-list", ",".join(map(str, sorted(where)))]


class Attack:
    """One test with all its cases, each attack of which is on a server of its own."""

    def __init__(self, name):
        self.name = name
        self.cases, self.runs = 0, 0
        self.without, self.beside = Calls(), Calls()
        self.without_s = self.beside_s = 0.0
        self.without_cpu_s = self.beside_cpu_s = 0.0  # the server's
        self.servers = []  # the figures of each
        self.faults = []  # promises that did not hold

    @staticmethod
    def _latencies(calls):
        def percentile(times, share):
            return round(sorted(times)[min(len(times) - 1, int(share * len(times)))], 3)

        return {
            kind: {
                "calls": len(times),
                "p50_ms": percentile(times, 0.5),
                "p99_ms": percentile(times, 0.99),
            }
            for kind, times in calls.took_ms.items()
            if times
        }

    def _processor_ms(self):
        """Of the server, for a round of honest calls and what else came to it."""
        spent = {
            "without": (self.without_cpu_s, self.without),
            "with": (self.beside_cpu_s, self.beside),
        }
        return {
            when: round(1e3 * cpu_s / len(calls.took_ms["info"]), 3)
            for when, (cpu_s, calls) in spent.items()
            if calls.took_ms["info"]
        }

    def _memory(self):
        """Of the server that came nearest to its bound, or held most where there is no bound."""

        def nearness(server):
            return ("bound" in server, server["peak"] / server.get("bound", MIB))

        known = [server for server in self.servers if "peak" in server]
        if not known:
            return {}
        server = max(known, key=nearness)
        names = ("warm", "peak", "bound", "edge_peak", "edge_bound")
        return {f"{name}_mib": round(server[name] / MIB, 1) for name in names if name in server}

    def result(self):
        recovered = [s["recovered_s"] for s in self.servers if "recovered_s" in s]
        return {
            "attack": self.name,
            "cases": self.cases,
            "runs": self.runs,
            "sent": {
                what: max((server[what] for server in self.servers), default=0)
                for what in ("connections", "bytes")
            },
            "server": self._memory(),
            "without": self._latencies(self.without),
            "with": self._latencies(self.beside),
            "failed": len(self.without.failures) + len(self.beside.failures),
            "tried_again": self.beside.tried_again,
            "server_cpu_ms_a_round": self._processor_ms(),
            "recovered_s": round(max(recovered), 3) if recovered else None,
            "faults": self.faults,
        }


class Measuring:
    """A plugin of pytest. `report` gets an Attack's result when its last case has run."""

    def __init__(self, seconds, apart, report):
        self._seconds = seconds
        self._on_server, self._on_honest, self._on_attacker = apart
        self._report = report
        self._attack = None
        self.grpc = None  # the server's version of it
        self._cases = {}
        self._has_beside = False
        self._server = None  # the figures of the attack that runs
        self._acted_at = None  # when it did its last act beside an honest client
        self._honest = HonestProcess(pinned(self._on_honest))
        self._take_places()

    def close(self):
        self._finish()
        self._honest.close()

    def _take_places(self):
        attacked, running_edge, measuring = attacked_server.attacked, edge.running_edge, self

        @contextlib.contextmanager
        def attacked_apart(*flags, run_by=(), **others):
            run_by = [*pinned(measuring._on_server), *run_by]
            with attacked(*flags, run_by=run_by, **others) as server:
                measuring._begin(server)
                try:
                    yield server
                finally:
                    measuring._end(server)

        @contextlib.contextmanager
        def running_edge_apart(*arguments):
            with contextlib.ExitStack() as stack:
                os.sched_setaffinity(0, measuring._on_server)  # nginx takes it over
                try:
                    running = stack.enter_context(running_edge(*arguments))
                finally:
                    os.sched_setaffinity(0, measuring._on_attacker)
                yield running

        class MeasuredFindings(findings.Findings):
            def __init__(self, server):
                measuring._call_without(server)
                super().__init__(server)
                measuring._server["figures"] = self.figures

        attacked_server.attacked = attacked_apart
        edge.running_edge = running_edge_apart
        findings.Findings = MeasuredFindings
        honest.beside = self._beside

    def _begin(self, server):
        self.grpc = server.grpc_version()
        before = {"connections": SENT.connections, "bytes": SENT.bytes}
        self._server = {"process": server, "figures": {}, "before": before}
        self._acted_at = None

    def _end(self, server):
        """Keeps the figures of the attack on this server."""
        if self._server["process"] is not server:
            return  # one of several
        kept = dict(self._server["figures"])
        if kept and "peak" not in kept and server.process.poll() is None:
            kept["peak"] = server.peak_rss()
        if "idle_at" in kept:
            kept["recovered_s"] = kept["idle_at"] - (self._acted_at or kept["over_at"])
        for what, before in self._server["before"].items():
            kept[what] = getattr(SENT, what) - before
        self._attack.servers.append(kept)

    def _call_without(self, server):
        """Honest calls to a server that nobody attacks yet."""
        attack = self._attack
        if not self._has_beside or attack.without_s >= self._seconds:
            return
        before_s = server.cpu_s()
        with self._honest.calling(server, attack.without):
            time.sleep(self._seconds / 2)
        attack.without_cpu_s += server.cpu_s() - before_s
        attack.without_s += self._seconds / 2

    @contextlib.contextmanager
    def _beside(self, server, patient=False):
        calls, began, before_s = Calls(), time.monotonic(), server.cpu_s()
        try:
            with self._honest.calling(server, calls, patient):
                yield calls
                self._acted_at = time.monotonic()
            self._attack.beside_cpu_s += server.cpu_s() - before_s
        finally:
            self._attack.beside.add(calls)
            self._attack.beside_s += time.monotonic() - began

    def _finish(self):
        if self._attack is not None:
            self._report(self._attack.result())
        self._attack = None

    @staticmethod
    def _name(item):
        return f"{item.path.name}::{item.originalname}"

    def pytest_collection_modifyitems(self, items):
        for item in items:
            name = self._name(item)
            self._cases[name] = self._cases.get(name, 0) + 1

    def pytest_runtest_logreport(self, report):
        """An error of the script is told; a test that is skipped has no line."""
        if report.failed:
            print(f"measure: {report.nodeid}:\n{report.longreprtext}", file=sys.stderr)

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem):
        """Runs the case, and again until its share of honest calls is beside it."""
        name = self._name(pyfuncitem)
        if self._attack is None or self._attack.name != name:
            self._finish()
            self._attack = Attack(name)
        attack = self._attack
        attack.cases += 1
        self._has_beside = "beside" in pyfuncitem.function.__code__.co_names
        # A folder of pytest's has the files of the first run.
        once = not self._has_beside or "tmp_path" in pyfuncitem.fixturenames
        enough_s = attack.beside_s + self._seconds / self._cases[name]
        give_up_at = time.monotonic() + LONGER * self._seconds
        names = pyfuncitem._fixtureinfo.argnames
        arguments = {name: pyfuncitem.funcargs[name] for name in names}
        while True:
            attack.runs += 1
            try:
                pyfuncitem.obj(**arguments)
            except AssertionError as error:
                attack.faults.append(str(error))
                break
            if once or attack.beside_s >= enough_s or time.monotonic() > give_up_at:
                break
        return True
