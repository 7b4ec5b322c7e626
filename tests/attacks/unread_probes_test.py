"""Answers of Health/Check that nobody reads, which come in whatever is held.

No window is open, and the limits of time are the server's own.
"""

import contextlib
import os

from findings import Findings
from honest import beside
from raw_http2 import CANCELLED, RawConnection, message
from waiting import until

CONNECTIONS = 20
CALLS = 1000  # on each
HEALTH = "/grpc.health.v1.Health/Check"
CALLS_MAX = 256


def flood(server):
    """The connections, none of which reads an answer; a probe asks after each."""
    clients = []
    for _ in range(CONNECTIONS):
        client = RawConnection(server.port, window=0)
        clients.append(client)
        for _ in range(CALLS):
            client.send(client.open(HEALTH), message(b""), end=True)
        client.ping()
        with RawConnection(server.port) as prober:
            assert prober.call(HEALTH, b"") == (0, ""), "a probe is not answered"
    return clients


def test_unread_checks_are_few_and_probes_are_answered(attack):
    with attack() as server:
        findings = Findings(server)
        with beside(server) as honest:
            clients = flood(server)

        def open_calls():
            for client in clients:
                client.read(0)
            return sum(client.open_calls() for client in clients)

        with contextlib.suppress(AssertionError):
            until(lambda: open_calls() <= CALLS_MAX, "the ends of calls")
        findings.expect(open_calls() <= CALLS_MAX, f"{open_calls()} unread calls are open")
        for client in clients:
            client.__exit__()
        codes = set().union(*(client.codes() for client in clients))
        findings.expect(codes <= {CANCELLED, -1}, f"calls ended by {codes}")
        findings.expect_honest(honest)
        # All calls that a connection sends at once are here before the first of them begins, and
        # each processor of the server may be at another connection.
        bursts = min(CONNECTIONS, len(os.sched_getaffinity(server.process.pid)))
        findings.expect_memory(checks=(CALLS_MAX + bursts * CALLS) * server.call_bytes())
        findings.expect_recovered()
        findings.report()
