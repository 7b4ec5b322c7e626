"""Calls of Health's Watch, which last for as long as their client wants."""

from findings import Findings
from honest import beside
from new_options import health_watches_max, message_ms, write_idle_ms
from raw_http2 import CANCELLED, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, RawConnection, message
from waiting import until

WATCHES = 1000  # on one connection
WATCHES_MAX = 100
CHECK_METHOD = "/grpc.health.v1.Health/Check"
WATCH_METHOD = "/grpc.health.v1.Health/Watch"
CALL_BYTES = 32 << 10  # of gRPC and of ours
READINESS = b"\x0a\x09readiness"  # HealthCheckRequest.service


def watch(client, count):
    for _ in range(count):
        client.send(client.open(WATCH_METHOD), message(READINESS), end=True)


def await_place(server):
    """Until a call may watch: those of a connection that has ended give their places back."""
    with RawConnection(server.port) as client:

        def watches():
            number = client.open(WATCH_METHOD)
            client.send(number, message(READINESS), end=True)
            while client.waiting_calls():
                assert client.read(), "a call that watches gets no answer"
            return client.streams[number].code is None

        until(watches, "a call that watches")


def test_so_many_calls_watch_and_no_more(attack):
    with attack(health_watches_max(WATCHES_MAX)) as server:
        findings = Findings(server)
        with RawConnection(server.port) as client, beside(server) as honest:
            watch(client, WATCHES)
            while client.waiting_calls():  # until each was told a state, or refused
                assert client.read(), f"{client.waiting_calls()} calls get no answer"
            refused = [s.text for s in client.streams.values() if s.code == RESOURCE_EXHAUSTED]
            watching = client.open_calls()
            findings.expect(watching == WATCHES_MAX, f"{watching} calls watch")
            findings.expect(len(refused) == WATCHES - WATCHES_MAX, f"{len(refused)} are refused")
            findings.expect(
                all("--max-health-watches" in text for text in refused),
                f"the refusals do not name the option: {set(refused)}",
            )
            with RawConnection(server.port) as prober:
                code, text = prober.call(CHECK_METHOD, READINESS)
                findings.expect(code == 0, f"Check is answered by {code}: {text}")
        findings.expect_honest(honest)
        findings.expect_memory(calls=WATCHES * CALL_BYTES)
        findings.expect_recovered()
        findings.report()
        await_place(server)


def test_a_call_that_does_not_read_the_state_ends(attack):
    with (
        attack(health_watches_max(WATCHES_MAX), write_idle_ms(1000), log_level="info") as server,
        RawConnection(server.port, window=0) as client,
    ):
        findings = Findings(server)
        with beside(server) as honest:
            watch(client, WATCHES_MAX)
            findings.expect_ends(client, -1, CANCELLED)
        findings.expect_honest(honest)
        findings.expect_recovered()
        findings.report()
        server.await_log_line(b"--write-idle-timeout-ms")
        await_place(server)


def test_a_call_that_does_not_say_what_it_watches_ends(attack):
    with (
        attack(health_watches_max(WATCHES_MAX), message_ms(1000)) as server,
        RawConnection(server.port) as client,
    ):
        findings = Findings(server)
        with beside(server) as honest:
            for _ in range(WATCHES_MAX):
                client.send(client.open(WATCH_METHOD), message(READINESS)[:-1])
            findings.expect_ends(client, DEADLINE_EXCEEDED)
        findings.expect_honest(honest)
        findings.expect_recovered()
        findings.report()
        await_place(server)
