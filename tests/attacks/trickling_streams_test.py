"""Streams that bring a byte now and then, and keep the places of those that have bytes to give."""

from attacked_server import MIB
from findings import Findings
from honest import beside, request
from raw_http2 import RawConnection, message

from warpfold import _contract

# A quarter of it is for uploads: one place, of 7 MiB.
IN_FLIGHT_BYTES = 32 * MIB
FLAGS = (f"--max-bytes-in-flight={IN_FLIGHT_BYTES}", "--stream-idle-timeout-ms=30000")
STREAMS = 4
BYTES = 150
PAUSE_S = 0.03  # shorter than a place waits for its client
HEADER = message(
    _contract.ReduceStreamRequest(header=request((1 << 20,), "float32")).SerializeToString()
)
BYTE = message(_contract.ReduceStreamRequest(chunk=b"\0").SerializeToString())


def test_trickling_streams_keep_no_place(attack):
    with attack(*FLAGS) as server:
        findings = Findings(server)
        with RawConnection(server.port) as client:
            streams = [client.open(_contract.REDUCE_STREAM_METHOD) for _ in range(STREAMS)]
            for number in streams:
                client.send(number, HEADER)
            client.ping()
            with beside(server) as honest:
                for _ in range(BYTES):
                    for number in streams:
                        client.send(number, BYTE)
                    client.read_for(PAUSE_S)
                answered_meanwhile = honest.answered
        findings.expect(
            answered_meanwhile > 10, f"only {answered_meanwhile} honest calls beside the attack"
        )
        findings.expect_honest(honest)
        findings.expect_memory(in_flight=IN_FLIGHT_BYTES, on_its_way_in=IN_FLIGHT_BYTES)
        findings.expect_recovered()
        findings.report()
