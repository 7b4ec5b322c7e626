"""Streams that send a byte now and then: never silent for the idle limit, never done."""

import time

from findings import Findings
from honest import beside, request
from new_options import min_bytes_per_s
from raw_http2 import DEADLINE_EXCEEDED, RawConnection, message
from waiting import GUARD_S

from warpfold._contract import REDUCE_STREAM_METHOD, ReduceStreamRequest

SENDERS = 200
IDLE_S = 2
FLAGS = (
    "--workers-per-device=2",
    f"--stream-idle-timeout-ms={1000 * IDLE_S}",
    min_bytes_per_s(1024),
)
CHUNK = message(ReduceStreamRequest(chunk=b"x").SerializeToString())
HEADER = message(ReduceStreamRequest(header=request((1 << 20,), "float32")).SerializeToString())
# What may wait of a stream: its header, and two chunks of 64 KiB at most that came with few bytes.
HELD_BYTES = 3 * (64 << 10)


def begin(client):
    for _ in range(SENDERS):
        client.send(client.open(REDUCE_STREAM_METHOD), HEADER)


def go_on(client):
    """A byte on each stream, and a pause well below the idle limit."""
    for number, stream in client.streams.items():
        if stream.code is None:
            client.send(number, CHUNK)
    client.read_for(IDLE_S / 4)


def test_slow_senders_keep_no_worker(attack):
    with attack(*FLAGS) as server, RawConnection(server.port) as client:
        findings = Findings(server)
        with beside(server) as honest:
            begin(client)
            give_up_at = time.monotonic() + GUARD_S
            while client.open_calls() and time.monotonic() < give_up_at:
                go_on(client)
            findings.expect(not client.open_calls(), f"{client.open_calls()} slow calls go on")
        findings.expect(client.codes() <= {DEADLINE_EXCEEDED}, f"they ended by {client.codes()}")
        findings.expect_honest(honest)
        findings.expect_memory(streams=SENDERS * HELD_BYTES)
        findings.expect_no_fault()
        findings.expect_recovered()
        findings.report()
