"""A message in DATA frames of one byte each: gRPC keeps a slice for every frame."""

import numpy as np
from findings import MIB, Findings
from honest import beside, request
from raw_http2 import RESOURCE_EXHAUSTED, RawConnection, message

from warpfold._contract import REDUCE_METHOD

MESSAGE_BYTES = 2_000_000
IN_FLIGHT_BYTES = 64 * MIB
FLAGS = (f"--max-bytes-in-flight={IN_FLIGHT_BYTES}", "--max-message-bytes=4MiB")
# --max-bytes-in-flight: "what is in flight in may hold as much again". A slice is gRPC's until
# the message is whole; the server copies such a message into one.
SLICE_BYTES = 64
HELD = {
    "in_flight": IN_FLIGHT_BYTES,
    "on_its_way_in": IN_FLIGHT_BYTES,
    "slices": MESSAGE_BYTES * SLICE_BYTES,
}


def begin(client):
    data = np.ones(MESSAGE_BYTES, np.uint8).tobytes()
    asked = message(request((MESSAGE_BYTES,), "uint8", data=data).SerializeToString())
    number = client.open(REDUCE_METHOD)
    client.send(number, asked, end=True, frame_bytes=1)
    return number


def test_tiny_frames_are_charged_what_they_hold(attack):
    with attack(*FLAGS) as server, RawConnection(server.port) as client:
        findings = Findings(server)
        with beside(server) as honest:
            code, _ = client.await_end(begin(client))
        findings.expect(code in (0, RESOURCE_EXHAUSTED), f"answered with code {code}")
        findings.expect_honest(honest)
        findings.expect_memory(**HELD)
        findings.expect_recovered()
        findings.report()
