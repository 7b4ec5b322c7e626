"""Messages without payload that cost many times their size to parse."""

import pytest
from findings import MIB, Findings
from honest import beside
from raw_http2 import INVALID_ARGUMENT, OK, RESOURCE_EXHAUSTED, RawConnection

BYTES = 24 * MIB  # so that today's 16 to 48 bytes a field leave the machine its memory
HEADER_BYTES_MAX = 64 << 10  # what a message may have beside its payload
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


INFER_BYTES = 38 * MIB // 10  # what typed elements may have


def field(number, content):
    """A protobuf field of type bytes."""
    length = len(content)
    varint = b""
    while length >= 0x80:
        varint += bytes([length & 0x7F | 0x80])
        length >>= 7
    return bytes([number << 3 | 2]) + varint + bytes([length]) + content


def empties(number):
    return field(number, b"") * (INFER_BYTES // 2)


# ReduceRequest: sources 2, ops 3. Two bytes or four, of which each becomes an object or two.
PARTS = {
    "sources": field(2, b""),
    "sources_of_tensors": field(2, field(2, b"")),
    "ops": field(3, b""),
    "ops_with_parameters": field(3, field(2, b"")),
}
CARRIERS = {
    "Reduce": lambda request: request,
    "ReduceMany": lambda request: request,
    "ReduceStream": lambda request: field(1, request),
}
# ModelInferRequest: parameters 4, inputs 5, of which parameters are 4 and contents 5, outputs 6.
NO_ELEMENTS = {
    "outputs": empties(6),
    "parameters": empties(4),
    "inputs": empties(5),
    "parameters_of_an_input": field(5, empties(4)),
    "contents_of_an_input": field(5, empties(5)),
    "contents_of_bytes": field(5, field(5, empties(8))),
    "contents_of_no_elements": field(5, field(5, empties(6))),
    "unknown_contents": field(5, field(5, UNKNOWN_NUMBER * (INFER_BYTES // 2))),
    "an_id": field(3, b"i" * INFER_BYTES),
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
            findings.expect_memory(received=len(PAYLOADS[kind]), parsed=HEADER_BYTES_MAX)
            findings.expect_recovered()
            faults += [f"{method}: {fault}" for fault in findings.found]
    assert not faults, f"{len(faults)} faults of {len(methods)} methods:\n" + "\n".join(faults)


def reductions(size):
    """(method, message) of each kind of parts, so many bytes of them by every method."""
    for part in PARTS.values():
        for method, carry in CARRIERS.items():
            yield f"/{REDUCTIONS}{method}", carry(part * (size // len(part)))


def test_a_reduction_of_millions_of_parts_is_not_parsed(attack):
    with attack(*FLAGS) as server, RawConnection(server.port) as client:
        findings = Findings(server)
        with beside(server) as honest:
            for method, asked in reductions(BYTES):
                code, text = client.call(method, asked)
                if method.endswith("ReduceMany"):  # an item fails alone
                    findings.expect(code == OK, f"{method}: {code} {text}")
                    continue
                findings.expect(
                    code == RESOURCE_EXHAUSTED and "above the limit of 65536" in text,
                    f"{method} is parsed: {code} {text}",
                )
        findings.expect_honest(honest)
        findings.expect_memory(received=BYTES, parsed=HEADER_BYTES_MAX)
        findings.expect_recovered()
        findings.report()


def test_a_reduction_of_as_many_parts_as_it_may_have_is_gone_once_it_is_refused(attack):
    """Parsed it has 40 bytes for one, as states have (server/frontend/native/state_message.cc)."""
    with attack(*FLAGS) as server, RawConnection(server.port) as client:
        findings = Findings(server)
        with beside(server) as honest:
            for method, asked in list(reductions(HEADER_BYTES_MAX - 8)) * 10:
                code, text = client.call(method, asked)
                wanted = OK if method.endswith("ReduceMany") else INVALID_ARGUMENT
                findings.expect(code == wanted, f"{method}: {code} {text}")
        findings.expect_honest(honest)
        findings.expect_memory(parsed=40 * HEADER_BYTES_MAX)
        findings.expect_recovered()
        findings.report()


def test_only_elements_have_more_than_64_kib_of_a_model_infer_message(attack):
    """What is parsed is refused by what is in it: there is no model of that name, no such input."""
    kinds = NO_ELEMENTS | {f"{name}_beside_elements": rest for name, rest in NO_ELEMENTS.items()}
    with attack(*FLAGS) as server, RawConnection(server.port) as client:
        findings = Findings(server)
        with beside(server) as honest:
            for name, payload in kinds.items():
                elements = field(7, bytes(MIB)) if name.endswith("_beside_elements") else b""
                code, text = client.call(f"/{INFERENCE}ModelInfer", payload + elements)
                findings.expect(
                    code == RESOURCE_EXHAUSTED and "above the limit of 65536" in text,
                    f"{name} is parsed: {code} {text}",
                )
        findings.expect_honest(honest)
        findings.expect_memory(received=INFER_BYTES + MIB, parsed=HEADER_BYTES_MAX)
        findings.expect_recovered()
        findings.report()
