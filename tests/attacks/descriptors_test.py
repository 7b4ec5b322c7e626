"""More connections than the server has descriptors for.

gRPC 1.51 never accepts again after its first EMFILE.
"""

import contextlib
import os
import tempfile

import grpc
import pytest
from attacked_server import AttackedServer
from findings import Findings
from honest import Honest, beside
from new_options import exit_when_unready_ms
from raw_http2 import RawConnection
from waiting import GUARD_S, until

from warpfold._contract import REGISTER_SHARED_MEMORY_METHOD, RegisterSharedMemoryRequest

CONNECTIONS = 200
FEW, ENOUGH = 120, 4096


def descriptor_limit(soft, hard):
    return ["prlimit", f"--nofile={soft}:{hard}"]


def connect_all(stack, server):
    for _ in range(CONNECTIONS):
        stack.enter_context(RawConnection(server.port)).read(0)


def serves(server: AttackedServer):
    """Whether a new connection is accepted and a call on it answered."""
    honest = Honest(server)
    honest.round()
    honest.close()
    return not honest.failures


def says_ready(server):
    return server.sample("warpfold_ready") == 1


def test_the_fewest_descriptors_that_a_start_takes_serve_a_client(attack):
    """As many as `--check` asks for (tests/e2e/check_test.cc)."""
    with attack(run_by=descriptor_limit(32, 32)) as server:
        assert serves(server)


def test_the_hard_limit_of_descriptors_is_used(attack):
    with attack(run_by=descriptor_limit(FEW, ENOUGH)) as server:
        findings = Findings(server)
        with contextlib.ExitStack() as stack, beside(server) as honest:
            connect_all(stack, server)
            findings.expect(serves(server), f"a new client is not served: {FEW} descriptors")
        findings.expect_honest(honest)
        findings.expect(serves(server), "a new client is not served when all others have gone")
        findings.report()


def test_regions_leave_descriptors_to_connections(attack):
    with (
        attack("--shared-memory-prefix=/", run_by=descriptor_limit(FEW, FEW)) as server,
        tempfile.NamedTemporaryFile(dir="/dev/shm") as segment,
    ):
        findings = Findings(server)
        os.truncate(segment.name, 8)
        register = grpc.insecure_channel(f"127.0.0.1:{server.port}").unary_unary(
            REGISTER_SHARED_MEMORY_METHOD
        )
        with pytest.raises(grpc.RpcError) as refusal:
            for i in range(FEW):
                key = "/" + os.path.basename(segment.name)
                asked = RegisterSharedMemoryRequest(name=f"{i}", key=key, size_bytes=8)
                register(asked.SerializeToString(), timeout=GUARD_S)
        findings.expect(
            refusal.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED, str(refusal.value)
        )
        findings.expect(serves(server), "regions have taken the descriptors of new clients")
        findings.report()


def test_readiness_is_true_when_descriptors_run_out(attack):
    with attack(run_by=descriptor_limit(FEW, FEW)) as server:
        Findings(server)
        with contextlib.ExitStack() as stack:
            connect_all(stack, server)
        until(lambda: server.descriptors() < FEW / 2, "the connections' end")
        served = serves(server)
        with contextlib.suppress(AssertionError):
            until(lambda: says_ready(server) == served, "readiness finds out")
        assert says_ready(server) == served, (
            f"warpfold_ready is {int(says_ready(server))}, but a new client is "
            f"{'' if served else 'not '}served when all others have gone"
        )


def test_a_deaf_server_ends_if_told_to(attack):
    flags = (exit_when_unready_ms(1000),)
    with attack(*flags, run_by=descriptor_limit(FEW, FEW)) as server:
        Findings(server)
        with contextlib.ExitStack() as stack:
            connect_all(stack, server)
        until(lambda: server.process.poll() or serves(server), "its end, or service")
        assert server.process.poll() != 0, "the process ended as if all were well"
