"""A client that brings no contract learns each service by reflection, and calls it."""

import grpc
import pytest
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)
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
