"""Messages without payload that cost many times their size to parse."""

import pytest
from findings import MIB, Findings
from honest import beside
from raw_http2 import INVALID_ARGUMENT, RESOURCE_EXHAUSTED, RawConnection

BYTES = 24 * MIB  # so that today's 16 to 48 bytes a field leave the machine its memory
FLAGS = ("--max-message-bytes=64MiB", "--max-bytes-in-flight=64MiB")
EMPTY_STATE = b"\x12\x00"  # MergeRequest.states, field 2
UNKNOWN_NUMBER = b"\x78\x01"  # field 15, a varint: no message without payload has it
UNKNOWN_BYTES = b"\x7a\x80\x80\x80\x1e" + bytes(60 * MIB)  # field 15, 60 MiB long

REDUCTIONS = "warpfold.v1.ReductionService/"
TENSORS = "warpfold.v1.TensorService/"
INFERENCE = "inference.GRPCInferenceService/"
METHODS = [
    *(REDUCTIONS + name for name in ("Merge", "GetServerInfo")),
    *(
        TENSORS + name
        for name in (
            "CreateTensor",
            "DeleteTensor",
            "ListTensors",
            "RegisterSharedMemory",
            "RegisterCudaMemory",
            "UnregisterMemory",
            "ListMemory",
        )
    ),
    *(
        INFERENCE + name
        for name in (
            "ServerLive",
            "ServerReady",
            "ModelReady",
            "ServerMetadata",
            "ModelMetadata",
            "ModelConfig",
            "ModelStatistics",
            "RepositoryIndex",
            "SystemSharedMemoryStatus",
            "SystemSharedMemoryRegister",
            "SystemSharedMemoryUnregister",
            "CudaSharedMemoryStatus",
            "CudaSharedMemoryRegister",
            "CudaSharedMemoryUnregister",
        )
    ),
]
PAYLOADS = {
    "empty_states": EMPTY_STATE * (BYTES // len(EMPTY_STATE)),
    "unknown_numbers": UNKNOWN_NUMBER * (BYTES // len(UNKNOWN_NUMBER)),
    "unknown_bytes": UNKNOWN_BYTES,
}


def begin(client):
    client.call("/" + METHODS[0], PAYLOADS["empty_states"])


@pytest.mark.parametrize("kind", PAYLOADS)
def test_messages_are_checked_before_they_are_parsed(attack, kind):
    """The bound is what was received, once, and the 64 KiB that may be parsed."""
    methods = [REDUCTIONS + "Merge"] if kind == "empty_states" else METHODS
    faults = []
    for method in methods:
        with attack(*FLAGS) as server, RawConnection(server.port) as client:
            findings = Findings(server)
            with beside(server) as honest:
                code, _ = client.call("/" + method, PAYLOADS[kind])
            findings.expect(code in (INVALID_ARGUMENT, RESOURCE_EXHAUSTED), f"code {code}")
            findings.expect_honest(honest)
            findings.expect_memory(received=len(PAYLOADS[kind]), parsed=64 << 10)
            findings.expect_recovered()
            faults += [f"{method}: {fault}" for fault in findings.found]
    assert not faults, f"{len(faults)} faults of {len(methods)} methods:\n" + "\n".join(faults)
