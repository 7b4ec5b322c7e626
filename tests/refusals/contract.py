"""The messages and methods of all services, as protoc reads them from proto/."""

import string
import subprocess
import tempfile
from pathlib import Path

from google.protobuf import descriptor_pb2, message_factory, text_format

PROTO = Path(__file__).parents[2] / "proto"
FILES = (
    "warpfold/v1/reduction.proto",
    "warpfold/v1/tensor.proto",
    "inference/grpc_service.proto",
    "grpc/health/v1/health.proto",
    "grpc/reflection/v1alpha/reflection.proto",
    "google/rpc/error_details.proto",
)


def _descriptors():
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "contract.binpb"
        command = ["protoc", "--proto_path=.", "--include_imports", f"--descriptor_set_out={made}"]
        subprocess.run([*command, *FILES], cwd=PROTO, check=True)
        return descriptor_pb2.FileDescriptorSet.FromString(made.read_bytes()).file


_files = _descriptors()
# Classes made at run time: modules that protoc generates need a runtime of about its own age.
MESSAGES = message_factory.GetMessages(_files)


class Method:
    def __init__(self, file, service, method):
        self.name = method.name
        self.service = service.name
        self.path = f"/{file.package}.{service.name}/{method.name}"
        self.request = MESSAGES[method.input_type[1:]]
        self.response = MESSAGES[method.output_type[1:]]
        self.client_streams = method.client_streaming
        self.server_streams = method.server_streaming


# By name: no two services share one.
METHODS = {
    method.name: Method(file, service, method)
    for file in _files
    for service in file.service
    for method in service.method
}


def parse(kind, text, **values):
    """The message of the class `kind` that `text` describes, its $names replaced by `values`."""
    return text_format.Parse(string.Template(text).substitute(values), kind())


def v1(name, text="", **values):
    return parse(MESSAGES[f"warpfold.v1.{name}"], text, **values)


def infer(text="", **values):
    return parse(MESSAGES["inference.ModelInferRequest"], text, **values)
