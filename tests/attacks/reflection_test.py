"""Calls of server reflection: many of them, large ones, and ones that nobody goes on with."""

from attacked_server import MIB
from findings import Findings
from honest import beside
from new_options import message_ms, reflection_streams_max, write_idle_ms
from raw_http2 import CANCELLED, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, RawConnection, message
from waiting import until

STREAMS = 300
STREAMS_MAX = 4
METHOD = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
# Of ServerReflectionRequest.
LIST_SERVICES = b"\x3a\x00"
THREADS_BESIDE = 8  # gRPC's pollers and timers, which come and go
LARGE_BYTES = 4 * MIB
SMALL_BYTES_MAX = 64 << 10


def await_place(server):
    """Until a call is served: those of a connection that has ended give theirs back."""
    with RawConnection(server.port) as client:
        until(lambda: client.call(METHOD, LIST_SERVICES)[0] == 0, "a call that is served")


def test_reflection_streams_take_a_bounded_number_of_threads(attack):
    with attack(reflection_streams_max(STREAMS_MAX)) as server:
        findings = Findings(server)
        before = server.threads()
        with RawConnection(server.port) as client, beside(server) as honest:
            for _ in range(STREAMS):
                client.send(client.open(METHOD), message(LIST_SERVICES))
            while client.waiting_calls():  # until each was answered or refused
                assert client.read(), f"{client.waiting_calls()} streams get no answer"
            threads = server.threads()
            refused = [s.text for s in client.streams.values() if s.code == RESOURCE_EXHAUSTED]
            findings.expect(
                len(refused) == STREAMS - STREAMS_MAX, f"{len(refused)} streams are refused"
            )
            findings.expect(
                all("--max-reflection-streams" in text for text in refused),
                f"the refusals do not name the option: {set(refused)}",
            )
        bound = before + STREAMS_MAX + THREADS_BESIDE
        findings.expect(
            threads <= 1.1 * bound, f"{threads} threads, {before} before; the bound is {bound}"
        )
        findings.expect_honest(honest)
        findings.expect_recovered()
        findings.report()
        await_place(server)


def test_large_requests_are_refused_before_they_are_parsed(attack):
    """Each field takes two bytes of the message, some sixty parsed, and as much in a copy."""
    fields = message(b"\x7a\x00" * (LARGE_BYTES // 2))
    streams = 2 * STREAMS_MAX
    with (
        attack(reflection_streams_max(streams)) as server,
        RawConnection(server.port, window=0) as client,
    ):
        findings = Findings(server)
        with beside(server) as honest:
            for _ in range(streams):
                client.send(client.open(METHOD), fields)
            findings.expect_ends(client, RESOURCE_EXHAUSTED)
        findings.expect_honest(honest)
        findings.expect_memory(received=streams * LARGE_BYTES)
        findings.expect_recovered()
        findings.report()
        await_place(server)


def test_one_request_of_a_stream_is_answered_at_a_time(attack):
    """Of a client that asks on and reads nothing, until its stream ends."""
    asked = b"\x22\xf0\xff\x03" + bytes(SMALL_BYTES_MAX - 16)  # a symbol; it comes back
    with (
        attack(
            reflection_streams_max(STREAMS_MAX), write_idle_ms(1000), log_level="info"
        ) as server,
        RawConnection(server.port, window=0) as client,
    ):
        findings = Findings(server)
        with beside(server) as honest:
            numbers = [client.open(METHOD) for _ in range(STREAMS_MAX)]
            for number in numbers:
                client.send(number, message(asked))
                client.send(number, message(LIST_SERVICES) * 1000)
            # A status would have to wait behind the answer: such a call is reset.
            findings.expect_ends(client, -1, CANCELLED)
        received = {stream.received for stream in client.streams.values()}
        findings.expect(received == {0}, f"bytes of answers came: {received}")
        findings.expect_honest(honest)
        # The answer and the next request, each with what the transport reads ahead.
        findings.expect_memory(held=STREAMS_MAX * 4 * SMALL_BYTES_MAX)
        findings.expect_recovered()
        findings.report()
        server.await_log_line(b"--write-idle-timeout-ms")
        await_place(server)


def test_a_stream_that_falls_silent_gives_its_place_back(attack):
    with (
        attack(reflection_streams_max(STREAMS_MAX), message_ms(1000)) as server,
        RawConnection(server.port) as client,
    ):
        findings = Findings(server)
        with beside(server) as honest:
            client.open(METHOD)  # before its first request
            client.send(client.open(METHOD), message(LIST_SERVICES))  # after it
            client.send(client.open(METHOD), message(LIST_SERVICES)[:-1])  # in it
            findings.expect_ends(client, DEADLINE_EXCEEDED)
        findings.expect_honest(honest)
        findings.expect_recovered()
        findings.report()
        await_place(server)
