"""What the tests of shared memory have in common: servers that allow it, and what is left there."""

import os
from pathlib import Path

import grpc
import pytest
from running_server import running_server

from warpfold import _contract

PREFIX = f"/warpfold-test-{os.getpid()}-"
SLOT = 64 << 10


@pytest.fixture(scope="module")
def sharing_server():
    with running_server(f"--shared-memory-prefix={PREFIX}") as target:
        yield target


@pytest.fixture(autouse=True)
def small_slots(monkeypatch):
    monkeypatch.setattr("warpfold._shared._SLOT_BYTES", SLOT)
    monkeypatch.setattr("warpfold._shared._LEAST_BYTES", 1000)


@pytest.fixture
def sharing_fake(fake):
    fake.info.shared_memory_prefix = PREFIX
    return fake


@pytest.fixture
def no_segment_is_left():
    yield
    assert segments() == []


def segments():
    return [path.name for path in Path("/dev/shm").glob(f"{PREFIX[1:]}*")]


def regions(target):
    with grpc.insecure_channel(target) as channel:
        call = channel.unary_unary("/warpfold.v1.TensorService/ListMemory")
        kind = _contract.ListMemoryResponse
        return list(kind.FromString(call(b"", timeout=20)).regions)
