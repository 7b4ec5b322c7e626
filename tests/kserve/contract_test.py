"""proto/inference has the protocol's names, numbers and types: those that tritonclient carries."""

import shutil
import subprocess
from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2
from tritonclient.grpc import model_config_pb2, service_pb2

ROOT = Path(__file__).parents[2]
FILES = ("inference/grpc_service.proto", "inference/model_config.proto")


def theirs():
    files = []
    for module in (service_pb2, model_config_pb2):
        file = descriptor_pb2.FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(file)
        files.append(file)
    return files


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    if shutil.which("protoc") is None:
        pytest.skip("protoc is not installed")
    made = tmp_path_factory.mktemp("proto") / "inference.binpb"
    command = ["protoc", "--proto_path=proto", f"--descriptor_set_out={made}", *FILES]
    subprocess.run(command, cwd=ROOT, check=True)
    return list(descriptor_pb2.FileDescriptorSet.FromString(made.read_bytes()).file)


def facts(files):
    """Everything that travels, by name: {"message.field": (number, type, ...), ...}."""
    found = {}

    def add_enum(enum, prefix):
        for value in enum.value:
            found[f"{prefix}{enum.name}.{value.name}"] = value.number

    def add_message(message, prefix):
        name = prefix + message.name
        found[name] = message.options.map_entry
        for field in message.field:
            in_oneof = field.HasField("oneof_index")
            oneof = message.oneof_decl[field.oneof_index].name if in_oneof else ""
            fact = (field.number, field.type, field.label, field.type_name, oneof)
            found[f"{name}.{field.name}"] = fact
        for nested in message.nested_type:
            add_message(nested, name + ".")
        for enum in message.enum_type:
            add_enum(enum, name + ".")

    for file in files:
        assert file.package == "inference"
        for message in file.message_type:
            add_message(message, "")
        for enum in file.enum_type:
            add_enum(enum, "")
        for service in file.service:
            for method in service.method:
                found[f"{service.name}/{method.name}"] = (
                    method.input_type,
                    method.output_type,
                    method.client_streaming,
                    method.server_streaming,
                )
    return found


def test_what_we_have_is_as_the_protocol_has_it(ours):
    protocol = facts(theirs())
    different = {
        name: (fact, protocol.get(name, "not there"))
        for name, fact in facts(ours).items()
        if protocol.get(name) != fact
    }
    assert not different


# gRPC itself answers these with UNIMPLEMENTED; client_test.py asks them.
LEFT_OUT = {
    f"GRPCInferenceService/{method}"
    for method in ("RepositoryModelLoad", "RepositoryModelUnload", "TraceSetting", "LogSettings")
}


def test_no_other_method_is_missing(ours):
    methods = {name for name in facts(theirs()) if "/" in name}
    assert methods - LEFT_OUT == {name for name in facts(ours) if "/" in name}
    assert LEFT_OUT < methods


def test_no_field_of_an_inference_is_missing(ours):
    messages = ("ModelInfer", "InferParameter", "InferTensorContents", "ModelStream")
    needed = {name for name in facts(theirs()) if name.startswith(messages)}
    assert len(needed) > 40
    assert needed <= facts(ours).keys()
