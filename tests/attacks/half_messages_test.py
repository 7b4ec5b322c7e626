"""Messages of which the last byte never comes."""

import pytest
from attacked_server import MIB
from findings import Findings
from honest import beside
from new_options import message_ms
from raw_http2 import (
    DEADLINE_EXCEEDED,
    INVALID_ARGUMENT,
    RESOURCE_EXHAUSTED,
    RawConnection,
    message,
)

IN_FLIGHT_BYTES = 64 * MIB
LARGE, LARGE_BYTES = 6, 8 * MIB
SMALL = 64
FLAGS = (f"--max-bytes-in-flight={IN_FLIGHT_BYTES}", "--max-message-bytes=8MiB", message_ms(1000))
# --max-bytes-in-flight: "what is in flight in may hold as much again".
HELD = {"in_flight": IN_FLIGHT_BYTES, "on_its_way_in": IN_FLIGHT_BYTES}
METHODS = [
    "warpfold.v1.ReductionService/Reduce",
    "warpfold.v1.ReductionService/ReduceMany",
    "warpfold.v1.ReductionService/ReduceStream",
    "warpfold.v1.ReductionService/Merge",
    "warpfold.v1.ReductionService/GetServerInfo",
    "inference.GRPCInferenceService/ModelInfer",
    "inference.GRPCInferenceService/ModelStreamInfer",
]


def begin(client, method=METHODS[0]):
    for _ in range(SMALL):
        client.send(client.open("/" + method), message(b"\0", announced=LARGE_BYTES))
    for _ in range(LARGE):
        part = message(bytes(LARGE_BYTES - 1), announced=LARGE_BYTES)
        client.send(client.open("/" + method), part)


@pytest.mark.parametrize("method", METHODS)
def test_half_messages_end(attack, method):
    with attack(*FLAGS) as server, RawConnection(server.port) as client:
        findings = Findings(server)
        with beside(server) as honest:
            begin(client, method)
            findings.expect_ends(client, DEADLINE_EXCEEDED, INVALID_ARGUMENT, RESOURCE_EXHAUSTED)
        findings.expect_honest(honest)
        findings.expect_memory(**HELD)
        findings.expect_no_fault()
        findings.expect_recovered()
        findings.report()
