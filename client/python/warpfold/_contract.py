"""The contract's messages and names, from its descriptors.

contract.binpb is what protoc makes of proto/warpfold/v1/*.proto; a test compares the two.
The classes are built here instead of being generated, because a protobuf runtime refuses modules
that a newer protoc generated, while every runtime reads descriptors (tried: 3.20 to 7.36). They
live in a descriptor pool of their own, so that google/rpc/*.proto never meets another package's
copy.
"""

from __future__ import annotations

from importlib import resources
from typing import Any, Literal

from google.protobuf import descriptor_pb2, message_factory

from ._catalogue import NUMPY_DTYPES, Op

__all__ = [
    "CREATE_TENSOR_METHOD",
    "CreateTensorRequest",
    "CreateTensorResponse",
    "DELETE_TENSOR_METHOD",
    "DTYPES",
    "DTYPE_NAMES",
    "DeleteTensorRequest",
    "GET_SERVER_INFO_METHOD",
    "GetServerInfoResponse",
    "KIND_NAMES",
    "LIST_MEMORY_METHOD",
    "ListMemoryResponse",
    "MERGE_METHOD",
    "MergeRequest",
    "NAN_POLICY_OMIT",
    "OPS",
    "OP_NAMES",
    "Op",
    "PartialState",
    "REDUCE_METHOD",
    "REDUCE_STREAM_METHOD",
    "REGISTER_CUDA_MEMORY_METHOD",
    "REGISTER_SHARED_MEMORY_METHOD",
    "ReduceRequest",
    "ReduceResponse",
    "ReduceStreamRequest",
    "RegisterCudaMemoryRequest",
    "RegisterSharedMemoryRequest",
    "RetryInfo",
    "Status",
    "TensorSpec",
    "UNREGISTER_MEMORY_METHOD",
    "UnregisterMemoryRequest",
    "WRITE_TENSOR_METHOD",
    "WriteTensorHeader",
    "WriteTensorRequest",
    "WriteTensorResponse",
]

_files = descriptor_pb2.FileDescriptorSet.FromString(
    resources.files(__package__).joinpath("contract.binpb").read_bytes()
)
_messages: dict[str, Any] = message_factory.GetMessages(_files.file)

ReduceRequest = _messages["warpfold.v1.ReduceRequest"]
ReduceStreamRequest = _messages["warpfold.v1.ReduceStreamRequest"]
ReduceResponse = _messages["warpfold.v1.ReduceResponse"]
MergeRequest = _messages["warpfold.v1.MergeRequest"]
PartialState = _messages["warpfold.v1.PartialState"]
GetServerInfoResponse = _messages["warpfold.v1.GetServerInfoResponse"]
CreateTensorRequest = _messages["warpfold.v1.CreateTensorRequest"]
CreateTensorResponse = _messages["warpfold.v1.CreateTensorResponse"]
WriteTensorHeader = _messages["warpfold.v1.WriteTensorHeader"]
WriteTensorRequest = _messages["warpfold.v1.WriteTensorRequest"]
WriteTensorResponse = _messages["warpfold.v1.WriteTensorResponse"]
DeleteTensorRequest = _messages["warpfold.v1.DeleteTensorRequest"]
RegisterSharedMemoryRequest = _messages["warpfold.v1.RegisterSharedMemoryRequest"]
RegisterCudaMemoryRequest = _messages["warpfold.v1.RegisterCudaMemoryRequest"]
UnregisterMemoryRequest = _messages["warpfold.v1.UnregisterMemoryRequest"]
ListMemoryResponse = _messages["warpfold.v1.ListMemoryResponse"]
TensorSpec = _messages["warpfold.v1.TensorSpec"]
Status = _messages["google.rpc.Status"]
RetryInfo = _messages["google.rpc.RetryInfo"]

_file = ReduceRequest.DESCRIPTOR.file


def _method(service: Any, name: str) -> str:
    return f"/{service.full_name}/{service.methods_by_name[name].name}"


_reductions = _file.services_by_name["ReductionService"]
_tensors = CreateTensorRequest.DESCRIPTOR.file.services_by_name["TensorService"]
REDUCE_METHOD = _method(_reductions, "Reduce")
REDUCE_STREAM_METHOD = _method(_reductions, "ReduceStream")
MERGE_METHOD = _method(_reductions, "Merge")
GET_SERVER_INFO_METHOD = _method(_reductions, "GetServerInfo")
CREATE_TENSOR_METHOD = _method(_tensors, "CreateTensor")
WRITE_TENSOR_METHOD = _method(_tensors, "WriteTensor")
DELETE_TENSOR_METHOD = _method(_tensors, "DeleteTensor")
REGISTER_SHARED_MEMORY_METHOD = _method(_tensors, "RegisterSharedMemory")
REGISTER_CUDA_MEMORY_METHOD = _method(_tensors, "RegisterCudaMemory")
UNREGISTER_MEMORY_METHOD = _method(_tensors, "UnregisterMemory")
LIST_MEMORY_METHOD = _method(_tensors, "ListMemory")


def _numbers(enum: str, prefix: str) -> dict[str, int]:
    """The enum's numbers by their names in lower case, without the one for 'not given'."""
    values = _file.enum_types_by_name[enum].values
    return {v.name[len(prefix) :].lower(): v.number for v in values if v.number != 0}


OPS = _numbers("Op", "OP_")
OP_NAMES = {number: name for name, number in OPS.items()}
NAN_POLICY_OMIT = _numbers("NanPolicy", "NAN_POLICY_")["omit"]

# The contract's dtypes by NumPy's names.
# Those that this client knows.
DTYPES = {
    NUMPY_DTYPES[name]: number
    for name, number in _numbers("DType", "DTYPE_").items()
    if name in NUMPY_DTYPES
}
DTYPE_NAMES = {number: name for name, number in DTYPES.items()}

_KINDS = PartialState.DESCRIPTOR.enum_types_by_name["Kind"].values
KIND_NAMES = {value.number: value.name for value in _KINDS}
