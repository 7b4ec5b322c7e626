"""Calls that wait for their clients, and refusals that nobody reads: thousands of them.

No window is open, and the limits of time are the server's own.
"""

import contextlib

import pytest
from attacked_server import MIB
from findings import Findings
from honest import REDUCE_MANY_METHOD, beside, request
from raw_http2 import CANCELLED, RESOURCE_EXHAUSTED, RawConnection, message

from warpfold import _contract

IN_FLIGHT_BYTES = 32 * MIB
CALL_BYTES = 16 << 10  # as the server counts a call that waits for its client
CALLS_MAX = IN_FLIGHT_BYTES // CALL_BYTES
STREAMS_A_CONNECTION = 1000
ITEMS = 63  # that a stream may have in flight, but for one
KSERVE = "/inference.GRPCInferenceService/"
# An item that is refused: its tensor has no data.
REFUSED = message(request((1,), "float32").SerializeToString())
HEADER = message(
    _contract.ReduceStreamRequest(header=request((1 << 20,), "float32")).SerializeToString()
)
# By name: the method, and what each call brings of its request.
ATTACKS = {
    "Reduce_without_a_request": (_contract.REDUCE_METHOD, b""),
    "ModelInfer_without_a_request": (KSERVE + "ModelInfer", b""),
    "ReduceMany_without_an_item": (REDUCE_MANY_METHOD, b""),
    "ReduceMany_of_refusals": (REDUCE_MANY_METHOD, ITEMS * REFUSED),
    "ReduceStream_of_a_header": (_contract.REDUCE_STREAM_METHOD, HEADER),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_calls_that_wait_for_their_clients_are_counted_and_give_way(attack, name):
    method, brought = ATTACKS[name]
    connections = 8
    with attack(f"--max-bytes-in-flight={IN_FLIGHT_BYTES}", log_level="info") as server:
        findings = Findings(server)
        with contextlib.ExitStack() as stack:
            # Patient: beyond what may wait they are refused until some have waited for a second.
            with beside(server, patient=True) as honest:
                clients = [
                    stack.enter_context(RawConnection(server.port, window=0))
                    for _ in range(connections)
                ]
                for client in clients:
                    for _ in range(STREAMS_A_CONNECTION):
                        client.send(client.open(method), brought)
                    client.ping()
            codes = set().union(*(client.codes() for client in clients))
            findings.expect(
                codes <= {CANCELLED, RESOURCE_EXHAUSTED, -1}, f"calls ended by {codes}"
            )
        findings.expect_honest(honest)
        findings.expect_memory(answers=IN_FLIGHT_BYTES, calls=CALLS_MAX * server.call_bytes())
        findings.expect_recovered()
        findings.report()
