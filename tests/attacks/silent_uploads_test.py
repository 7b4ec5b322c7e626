"""Streams that send a part of their tensor, less than a worker takes at a time, and fall silent."""

from attacked_server import MIB
from findings import Findings
from honest import beside, request
from raw_http2 import RESOURCE_EXHAUSTED, RawConnection, message
from waiting import until

from warpfold._contract import REDUCE_STREAM_METHOD, ReduceStreamRequest

SENDERS = 100
TENSOR_BYTES, SENT_BYTES = 3 * MIB // 2, MIB
IN_FLIGHT_BYTES = 64 * MIB
FLAGS = (f"--max-bytes-in-flight={IN_FLIGHT_BYTES}", "--workers-per-device=2")
# "Those that are read hold half of --max-bytes-in-flight at most", and an honest call beside them.
HELD_BYTES = IN_FLIGHT_BYTES // 2 + MIB
HEADER = message(
    ReduceStreamRequest(header=request((TENSOR_BYTES // 4,), "float32")).SerializeToString()
)
CHUNK = message(ReduceStreamRequest(chunk=bytes(SENT_BYTES)).SerializeToString())


def test_silent_uploads_hold_half_of_the_bytes_in_flight(attack):
    with attack(*FLAGS) as server:
        findings = Findings(server)
        peak_bytes = 0
        with beside(server, patient=True) as honest, RawConnection(server.port) as client:
            streams = [client.open(REDUCE_STREAM_METHOD) for _ in range(SENDERS)]
            for stream in streams:
                client.send(stream, HEADER)
            for stream in streams:
                client.send(stream, CHUNK)
                peak_bytes = max(peak_bytes, server.sample("warpfold_bytes_in_flight"))
            client.ping()
            answered = honest.answered
            until(lambda: honest.answered > answered + 4 or honest.failures, "an honest round")
            peak_bytes = max(peak_bytes, server.sample("warpfold_bytes_in_flight"))
            findings.expect(client.open_calls(), "no silent stream is open to the end")
            findings.expect(
                client.codes() <= {RESOURCE_EXHAUSTED}, f"calls ended by {client.codes()}"
            )
        findings.expect(
            peak_bytes <= HELD_BYTES,
            f"{peak_bytes / MIB:.0f} of {IN_FLIGHT_BYTES / MIB:.0f} MiB were in flight",
        )
        findings.expect_honest(honest)
        findings.expect_recovered()
        findings.report()
