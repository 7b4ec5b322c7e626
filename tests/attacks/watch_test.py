"""Calls of Health's Watch, which last for as long as their client wants."""

import contextlib

from findings import Findings
from honest import beside
from new_options import health_watches_max, message_ms, write_idle_ms
from raw_http2 import CANCELLED, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, RawConnection, message
from waiting import until

WATCHES = 1000
WATCHES_MAX = 100
SHARE = WATCHES_MAX // 4  # of one address
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


def await_answers(client):
    """Until each call was told a state, or refused."""
    while client.waiting_calls():
        assert client.read(), f"{client.waiting_calls()} calls get no answer"


def test_so_many_calls_watch_and_no_more(attack):
    with attack(health_watches_max(WATCHES_MAX)) as server:
        findings = Findings(server)
        with contextlib.ExitStack() as stack, beside(server) as honest:
            clients = [
                stack.enter_context(RawConnection(server.port, address=f"127.0.0.{host}"))
                for host in range(1, 6)
            ]
            for client in clients:
                watch(client, WATCHES // len(clients))
                await_answers(client)
            watching = [client.open_calls() for client in clients]
            findings.expect(watching == 4 * [SHARE] + [0], f"{watching} calls watch")
            refused = [
                stream.text
                for client in clients
                for stream in client.streams.values()
                if stream.code == RESOURCE_EXHAUSTED
            ]
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


def test_one_address_leaves_places_to_others(attack):
    """However many connections it has."""
    with attack(health_watches_max(WATCHES_MAX)) as server:
        findings = Findings(server)
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(RawConnection(server.port)) for _ in range(4)]
            for client in clients:
                watch(client, WATCHES_MAX // len(clients) + 1)
                await_answers(client)
            watching = sum(client.open_calls() for client in clients)
            findings.expect(watching == SHARE, f"{watching} calls of one address watch")
            with RawConnection(server.port, address="127.0.0.2") as other:
                watch(other, 1)
                await_answers(other)
                findings.expect(other.open_calls() == 1, f"another's ends by {other.codes()}")
        findings.report()
        await_place(server)


def test_a_call_that_does_not_read_the_state_ends(attack):
    with (
        attack(health_watches_max(WATCHES_MAX), write_idle_ms(1000), log_level="info") as server,
        RawConnection(server.port, window=0) as client,
    ):
        findings = Findings(server)
        with beside(server) as honest:
            watch(client, SHARE)
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
            for _ in range(SHARE):
                client.send(client.open(WATCH_METHOD), message(READINESS)[:-1])
            findings.expect_ends(client, DEADLINE_EXCEEDED)
        findings.expect_honest(honest)
        findings.expect_recovered()
        findings.report()
        await_place(server)
