"""What can be wrong with a message before anybody asks what is in it."""

import gzip

from asking import answer_of_call
from contract import METHODS
from reduction_faults import SUM

MESSAGE_BYTES_MAX = (1 << 20) + (64 << 10)  # servers.SMALL's, with what is beside the payload


def no_message(client, method):
    return client.begin(method)


def half_a_message(client, method):
    return client.begin(method).send(b"", size=10)


def no_protobuf(client, method):
    return client.begin(method, b"\xff")


def too_large(client, method):
    return client.begin(method, bytes(MESSAGE_BYTES_MAX + 1))


def compressed(client, method):
    return client.begin(method, grpc_encoding="gzip").send(gzip.compress(b""), flag=1)


def too_late(client, method):
    # Done all the same, and of no name to all regions of the kind.
    message = "name: 'none'" if method.endswith("SharedMemoryUnregister") else ""
    return client.begin(method, message, grpc_timeout="0m")


# What every method can be sent.
ANY = [no_message, half_a_message, no_protobuf, too_large, compressed, too_late]
# Streams that are served and had nothing in them: none of these is a refusal.
STREAMS_OF_NOTHING = [no_message, half_a_message]


def any_method(client):
    for name, method in METHODS.items():
        for send in ANY:
            if method.server_streams and send in STREAMS_OF_NOTHING:
                continue
            yield f"{send.__name__}/{name}", client.end(send(client, name), name)


def unknown_method(client):
    """Of Triton's, those that this server does not have, and of nobody's."""
    paths = [
        "/warpfold.v1.ReductionService/Unknown",
        "/warpfold.v2.ReductionService/Reduce",
        *(
            f"/inference.GRPCInferenceService/{method}"
            for method in (
                "RepositoryModelLoad",
                "RepositoryModelUnload",
                "TraceSetting",
                "LogSettings",
            )
        ),
    ]
    for path in paths:
        call = client.connection.call(path).send(b"").half_close()
        yield path[1:], answer_of_call(call)


def tagged(field, kind, rest=b""):
    """A protobuf field: kind 0 is a varint, 2 bytes."""
    return bytes([field << 3 | kind]) + rest


# Of a message whose field of this number is the payload.
BYTES = {
    "a_field_number_of_0": lambda field: b"\x02\x00",
    "a_group": lambda field: tagged(1, 3),
    "a_string_that_is_no_utf8": lambda field: None,  # STRINGS has the fields
    "a_tag_cut_short": lambda field: b"\x80",
    "a_wire_type_of_7": lambda field: tagged(1, 7),
    "payload_cut_short": lambda field: tagged(field, 2, b"\x05abcd"),
    "payload_of_a_length_cut_short": lambda field: tagged(field, 2, b"\x80"),
    "payload_of_a_length_of_64_bits": lambda field: tagged(field, 2, b"\xff" * 9 + b"\x01"),
    "payload_that_is_a_number": lambda field: tagged(field, 0, b"\x01"),
    "payload_twice": lambda field: tagged(field, 2, b"\x01a") * 2,
    "too_much_beside_the_payload": lambda field: tagged(14, 2, b"\x80\x80\x04" + bytes(1 << 16)),
}
# A string in a message: of ReduceRequest, of a stream's header, of ModelInferRequest.
STRINGS = {
    "Reduce": b"\x0a\x01\xff",
    "ReduceMany": b"\x0a\x01\xff",
    "ReduceStream": b"\x0a\x03\x0a\x01\xff",
    "WriteTensor": b"\x0a\x03\x0a\x01\xff",
    "ModelInfer": b"\x1a\x01\xff",
    "ModelStreamInfer": b"\x1a\x01\xff",
}
PAYLOAD_FIELDS = {method: 7 if method.startswith("Model") else 15 for method in STRINGS}
# The first message of a stream, which is as it should be.
HEADERS = {
    "ReduceStream": f"header {{ {SUM} }}",
    "WriteTensor": 'header { tensor_id: "$unwritten" size_bytes: 16 }',
}


def message_bytes(client):
    for method, field in PAYLOAD_FIELDS.items():
        for name, make in BYTES.items():
            message = make(field) or STRINGS[method]
            yield f"{name}/{method}", client.ask(method, message)
            if method in HEADERS:
                answer = client.ask(method, HEADERS[method], message)
                yield f"{name}/{method}/after_the_header", answer
    for method, header in HEADERS.items():
        call = client.begin(method, header).send(b"", size=10)
        yield f"half_a_message/{method}/after_the_header", client.end(call, method)
        answer = client.ask(method, header, bytes(MESSAGE_BYTES_MAX + 1))
        yield f"too_large/{method}/after_the_header", answer
