"""Unread answers of methods without a tensor: lists of what there is, and what probes ask for.

No window is open, and the limits of time are the server's own.
"""

import contextlib

import grpc
import pytest
from attacked_server import MIB
from findings import Findings
from honest import beside, request
from raw_http2 import CANCELLED, RESOURCE_EXHAUSTED, RawConnection, message
from waiting import until

from warpfold import _contract

TENSORS = 1000
IN_FLIGHT_BYTES = 32 * MIB
CONNECTIONS = 8
CALL_BYTES = 16 << 10  # as the server counts a call whose answer waits
KSERVE = "/inference.GRPCInferenceService/"
LIST_TENSORS = "/warpfold.v1.TensorService/ListTensors"
HEALTH = "/grpc.health.v1.Health/Check"
# By name: method, request, and how many calls.
ATTACKS = {
    "ListTensors": (LIST_TENSORS, b"", 3000),
    "ModelStatistics": (KSERVE + "ModelStatistics", b"", 8000),
    "ServerLive": (KSERVE + "ServerLive", b"", 8000),
    # Of a field that the message does not have.
    "ServerInfo_asked_by_60_KiB": (
        _contract.GET_SERVER_INFO_METHOD,
        b"\x7a\x80\xe0\x03" + bytes(60 << 10),
        4000,
    ),
}
# What an operator's probe may ask.
PROBES = (
    HEALTH,
    KSERVE + "ServerLive",
    KSERVE + "ServerReady",
    _contract.GET_SERVER_INFO_METHOD,
)


def upload_empty_tensors(server):
    asked = _contract.CreateTensorRequest()
    asked.tensor.dtype = _contract.DTYPES["uint8"]
    asked.tensor.shape.append(0)
    with grpc.insecure_channel(f"localhost:{server.port}") as channel:
        create = channel.unary_unary(_contract.CREATE_TENSOR_METHOD)
        for _ in range(TENSORS):
            create(asked.SerializeToString())


def probe(server, findings, methods):
    """Each is to be answered at once."""
    with RawConnection(server.port) as prober:
        for method in methods:
            code, text = prober.call(method, b"")
            findings.expect(code == 0, f"{method} ends by {code} {text}")


@pytest.mark.parametrize("name", ATTACKS)
def test_unread_lists_are_counted_and_give_way(attack, name):
    method, asked, calls = ATTACKS[name]
    with attack(f"--max-bytes-in-flight={IN_FLIGHT_BYTES}", log_level="info") as server:
        upload_empty_tensors(server)
        findings = Findings(server)
        with contextlib.ExitStack() as stack:
            clients = [
                stack.enter_context(RawConnection(server.port, window=0))
                for _ in range(CONNECTIONS)
            ]
            # Patient: unread answers of calls without a tensor leave those of others no room until
            # they have waited for a second.
            with beside(server, patient=True) as honest:
                for client in clients:
                    for _ in range(calls // CONNECTIONS):
                        client.send(client.open(method), message(asked), end=True)
                    client.ping()
                probe(server, findings, [HEALTH])
            codes = set().union(*(client.codes() for client in clients))
            findings.expect(
                codes <= {CANCELLED, RESOURCE_EXHAUSTED, -1}, f"calls ended by {codes}"
            )
        findings.expect_honest(honest)
        # Calls without a tensor whose answers are small, beyond the bytes in flight.
        beyond_bytes = 1024 * (server.call_bytes() + (4 << 10))
        findings.expect_memory(answers=IN_FLIGHT_BYTES, calls=beyond_bytes)
        findings.expect_recovered()
        findings.report()


def test_a_list_without_room_is_refused_and_probes_are_answered(attack):
    """Three quarters of the bytes in flight are answers that nobody reads."""
    with attack(f"--max-bytes-in-flight={IN_FLIGHT_BYTES}") as server:
        upload_empty_tensors(server)
        findings = Findings(server)
        one = request((1,), "float32", data=bytes(4)).SerializeToString()
        with contextlib.ExitStack() as stack:
            for _ in range(2):
                client = stack.enter_context(RawConnection(server.port, window=0))
                for _ in range(IN_FLIGHT_BYTES // CALL_BYTES // 2):
                    client.send(client.open(_contract.REDUCE_METHOD), message(one), end=True)
            until(
                lambda: server.sample("warpfold_bytes_in_flight") > 0.749 * IN_FLIGHT_BYTES,
                "answers that hold three quarters",
            )
            with RawConnection(server.port) as reader:
                code, text = reader.call(LIST_TENSORS, b"")
            probe(server, findings, PROBES)
            findings.expect(code == RESOURCE_EXHAUSTED, f"a list ends by {code}")
            findings.expect("--max-bytes-in-flight" in text, f"the refusal says {text!r}")
        findings.expect_recovered()
        findings.report()
