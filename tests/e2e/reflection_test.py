"""A client that brings no contract learns each service by reflection, and calls it."""

import grpc
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from grpc_reflection.v1alpha import reflection_pb2
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)
from grpc_reflection.v1alpha.reflection_pb2_grpc import ServerReflectionStub
from running_server import running_server

TIMEOUT_S = 60
HEALTH = "grpc.health.v1.Health"


@pytest.fixture(scope="module")
def channel():
    with running_server("--backend=cpu") as target, grpc.insecure_channel(target) as channel:
        yield channel


@pytest.fixture(scope="module")
def served(channel):
    return ProtoReflectionDescriptorDatabase(channel)


def answer(channel, service, method, fields):
    """What a unary method answers, by nothing but the service's descriptor."""
    of = service.methods_by_name[method]
    call = channel.unary_unary(
        f"/{service.full_name}/{method}",
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=GetMessageClass(of.output_type).FromString,
    )
    return call(GetMessageClass(of.input_type)(**fields), timeout=TIMEOUT_S)


def test_each_service_that_is_listed_is_described(served):
    names = set(served.get_services())
    assert names == {
        HEALTH,
        "grpc.reflection.v1alpha.ServerReflection",
        "inference.GRPCInferenceService",
        "warpfold.v1.ReductionService",
        "warpfold.v1.TensorService",
    }
    pool = DescriptorPool(served)
    for name in names:
        assert pool.FindServiceByName(name).methods, name


def test_health_is_checked_by_what_reflection_says_of_it(channel, served):
    health = DescriptorPool(served).FindServiceByName(HEALTH)
    assert set(health.methods_by_name) == {"Check", "Watch"}
    checked = answer(channel, health, "Check", {"service": "readiness"})
    states = checked.DESCRIPTOR.fields_by_name["status"].enum_type.values_by_number
    assert states[checked.status].name == "SERVING"
    with pytest.raises(grpc.RpcError) as refused:
        answer(channel, health, "Check", {"service": "other"})
    assert refused.value.code() == grpc.StatusCode.NOT_FOUND


def test_a_service_that_is_not_there_is_not_described(served):
    with pytest.raises(KeyError):
        DescriptorPool(served).FindServiceByName("grpc.health.v1.Wealth")


def reflected(channel, *requests):
    """The answers to these requests, on one stream."""
    asked = [reflection_pb2.ServerReflectionRequest(host="here", **fields) for fields in requests]
    stream = ServerReflectionStub(channel).ServerReflectionInfo(iter(asked), timeout=TIMEOUT_S)
    answers = list(stream)
    for request, told in zip(asked, answers, strict=True):
        assert (told.valid_host, told.original_request) == ("here", request)
    return answers


def file_names(told):
    protos = told.file_descriptor_response.file_descriptor_proto
    return [FileDescriptorProto.FromString(proto).name for proto in protos]


def test_a_file_comes_with_those_that_it_imports_each_once(channel):
    reduction = ["warpfold/v1/reduction.proto", "warpfold/v1/tensor.proto"]
    for fields in (
        {"file_by_filename": reduction[0]},
        {"file_containing_symbol": "warpfold.v1.ReductionService"},
        {"file_containing_symbol": "warpfold.v1.ReductionService.Reduce"},
        {"file_containing_symbol": "warpfold.v1.ReduceRequest"},
        {"file_containing_symbol": "warpfold.v1.ReduceRequest.data"},
    ):
        names = file_names(*reflected(channel, fields))
        assert names[0] == reduction[0], fields
        assert len(names) == len(set(names)), names
    (told,) = reflected(channel, {"file_by_filename": "grpc/health/v1/health.proto"})
    assert file_names(told) == ["grpc/health/v1/health.proto"]


def test_extensions_are_told(channel):
    """Of the linked protos none has any; a type that is there has no numbers, then."""
    of_files = {"containing_type": "google.protobuf.FileOptions", "extension_number": 50000}
    of_nothing = {"containing_type": "no.Such", "extension_number": 1}
    numbers, no_type, no_extension, no_extended = reflected(
        channel,
        {"all_extension_numbers_of_type": "google.protobuf.FileOptions"},
        {"all_extension_numbers_of_type": "no.Such"},
        {"file_containing_extension": reflection_pb2.ExtensionRequest(**of_files)},
        {"file_containing_extension": reflection_pb2.ExtensionRequest(**of_nothing)},
    )
    told = numbers.all_extension_numbers_response
    assert (told.base_type_name, list(told.extension_number)) == ("google.protobuf.FileOptions", [])
    not_found = grpc.StatusCode.NOT_FOUND.value[0]
    for answer_, text in (
        (no_type, "Type not found."),
        (no_extension, "Extension not found."),
        (no_extended, "Type not found."),
    ):
        error = answer_.error_response
        assert (error.error_code, error.error_message) == (not_found, text)


def test_what_is_not_there_is_an_answer_and_the_stream_goes_on(channel):
    *wrong, services = reflected(
        channel,
        {"file_by_filename": "no/such.proto"},
        {"file_containing_symbol": "no.Such"},
        {},
        {"list_services": ""},
    )
    assert [(e.error_response.error_code, e.error_response.error_message) for e in wrong] == [
        (grpc.StatusCode.NOT_FOUND.value[0], "File not found."),
        (grpc.StatusCode.NOT_FOUND.value[0], "Symbol not found."),
        (grpc.StatusCode.UNIMPLEMENTED.value[0], ""),
    ]
    assert len(services.list_services_response.service) == 5


def test_each_answer_of_a_stream_is_its_own_requests(channel):
    """None has what was told before."""
    asked = {"file_containing_symbol": HEALTH}
    first, second, services, again = reflected(
        channel, asked, asked, {"list_services": ""}, {"list_services": ""}
    )
    assert file_names(first) == file_names(second) == ["grpc/health/v1/health.proto"]
    assert services.list_services_response == again.list_services_response
