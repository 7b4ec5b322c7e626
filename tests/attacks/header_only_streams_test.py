"""Streams that describe a tensor and send none of it.

They wait in the queue for a worker, each with one of the requests in flight; a worker that takes
one waits for its first byte. Or they wait for a place among those that are read, before everybody
who comes later, and each that gets one is waited for.
"""

from findings import Findings
from honest import Honest, beside, request
from new_options import min_bytes_per_s
from raw_http2 import DEADLINE_EXCEEDED, RawConnection, message

from warpfold._contract import REDUCE_STREAM_METHOD, ReduceStreamRequest

IN_FLIGHT = 64
FLAGS = (
    f"--max-requests-in-flight={IN_FLIGHT}",
    "--workers-per-device=2",
    "--stream-idle-timeout-ms=2000",
    min_bytes_per_s(1024),
)
HEADER_BYTES_MAX = 64 << 10  # a message's bytes beside its payload


def header():
    asked = ReduceStreamRequest(header=request((1 << 20,), "float32"))
    return message(asked.SerializeToString())


def begin(client):
    for _ in range(2 * IN_FLIGHT):
        client.send(client.open(REDUCE_STREAM_METHOD), header())


def go_on(client):
    """A new stream for each that the server has ended."""
    for _ in range(IN_FLIGHT - client.open_calls()):
        client.send(client.open(REDUCE_STREAM_METHOD), header())
    client.read(0.02)


def test_header_only_streams_hold_no_request_in_flight(attack):
    with attack(*FLAGS) as server, RawConnection(server.port) as client:
        findings = Findings(server)
        with beside(server) as honest:
            begin(client)
            findings.expect_ends(client, DEADLINE_EXCEEDED)
        findings.expect_honest(honest)
        findings.expect_memory(headers=2 * IN_FLIGHT * HEADER_BYTES_MAX)
        findings.expect_no_fault()
        findings.expect_recovered()
        findings.report()


FEW_PLACES = ("--max-bytes-in-flight=32MiB", "--workers-per-device=2")
BEFORE_THE_HONEST = 600


def test_header_only_streams_are_before_nobody_that_sends(attack):
    with attack(*FEW_PLACES) as server, RawConnection(server.port) as client:
        findings = Findings(server)
        for _ in range(BEFORE_THE_HONEST):
            client.send(client.open(REDUCE_STREAM_METHOD), header())
        client.ping()
        honest = Honest(server)
        honest.round()
        honest.close()
        findings.expect_honest(honest)
        client.ping()
        open_calls = client.open_calls()
        findings.expect(
            open_calls == BEFORE_THE_HONEST,
            f"{open_calls} of {BEFORE_THE_HONEST} silent streams were open to the end",
        )
        expected = server.sample("warpfold_requests_expected")
        findings.expect(expected == open_calls, f"{expected:.0f} of {open_calls} are expected")
        findings.report()
