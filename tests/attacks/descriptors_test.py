"""More connections than the server takes, or has descriptors for.

Each address has no more than it leaves to others.
"""

import contextlib
import os
import socket
import tempfile

import grpc
import pytest
from attacked_server import AttackedServer
from findings import Findings
from honest import Honest, beside
from new_options import exit_when_unready_ms
from open_connections import open_many
from raw_http2 import SENT, RawConnection
from waiting import GUARD_S, until

from warpfold._contract import REGISTER_SHARED_MEMORY_METHOD, RegisterSharedMemoryRequest

CONNECTIONS = 200
FEW, ENOUGH = 120, 4096
ALL_OF_FEW = 22  # connections: two descriptors each, of half of those beyond the server's own 32
ATTACKER = "127.0.0.2"
REFUSED = "warpfold_connections_refused_total"
CONNECTION_BYTES = 32 << 10  # one without a call takes some 20
THOUSANDS, CONNECTIONS_MAX = 10_000, 1024
STORM = 20_000
FIRST_WORDS = (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))).hex()


def descriptor_limit(soft, hard):
    return ["prlimit", f"--nofile={soft}:{hard}"]


def connect(stack, server, count=CONNECTIONS, address=ATTACKER):
    """The connections of those that are taken."""
    for _ in range(count):
        stack.enter_context(RawConnection(server.port, address=address)).read(0)


def connect_from_everywhere(stack, server):
    """Until all connections are taken: each address leaves some to the next."""
    for last in range(2, 2 + 2 * ALL_OF_FEW):
        connect(stack, server, ALL_OF_FEW // 2, f"127.0.0.{last}")
    until(lambda: server.sample(f'{REFUSED}{{reason="full"}}') > 0, "the last connection")


def serves(server: AttackedServer):
    """Whether a new connection is accepted and a call on it answered."""
    honest = Honest(server)
    honest.round()
    honest.close()
    return not honest.failures


def await_self_probes(server):
    """More of them than may fail in a row before the server says that it is not ready."""
    probes = server.sample("warpfold_self_probes_total")
    until(
        lambda: server.sample("warpfold_self_probes_total") >= probes + 4,
        "connections of the server to itself",
    )


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
            connect(stack, server)
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


def test_one_address_leaves_connections_to_others(attack):
    with attack(run_by=descriptor_limit(FEW, FEW)) as server:
        findings = Findings(server)
        with contextlib.ExitStack() as stack, beside(server) as honest:
            connect(stack, server)
            findings.expect(serves(server), "a client of another address is not served")
            findings.expect(
                server.sample(f'{REFUSED}{{reason="share"}}') >= CONNECTIONS - ALL_OF_FEW,
                "the attacker's connections are not refused",
            )
            findings.expect(server.descriptors() < FEW, "all descriptors are taken")
            findings.expect(says_ready(server), "the server says that it is not ready")
        findings.expect_honest(honest)
        findings.expect_memory(connections=ALL_OF_FEW * CONNECTION_BYTES)
        findings.expect_recovered()
        findings.expect(serves(server), "a new client is not served when all others have gone")
        findings.report()


def test_who_is_on_the_servers_own_host_does_not_make_it_seem_deaf(attack):
    """The server's connections to itself come from the same address."""
    with attack(run_by=descriptor_limit(FEW, FEW)) as server, contextlib.ExitStack() as stack:
        connect(stack, server, address="127.0.0.1")
        await_self_probes(server)
        assert server.sample("warpfold_self_probe_failures_total") == 0
        assert says_ready(server)


def test_one_user_leaves_connections_of_a_unix_socket_to_others(attack, tmp_path):
    path = str(tmp_path / "socket")
    listen = f"--listen-address=127.0.0.1:0,unix:{path}"
    with attack(listen, run_by=descriptor_limit(FEW, FEW)) as server:
        findings = Findings(server)
        with contextlib.ExitStack() as stack, beside(server) as honest:
            for _ in range(CONNECTIONS):
                client = stack.enter_context(socket.socket(socket.AF_UNIX))
                client.connect(path)
            SENT.add(connections=CONNECTIONS)
            until(
                lambda: server.sample(f'{REFUSED}{{reason="share"}}') > CONNECTIONS - ALL_OF_FEW,
                "all but its share are refused",
            )
            findings.expect(serves(server), "a client at the port is not served")
            findings.expect(says_ready(server), "the server says that it is not ready")
        findings.expect_honest(honest)
        findings.expect_recovered()
        findings.report()


def test_a_storm_of_connections_to_a_unix_socket_does_not_make_the_server_seem_deaf(
    attack, tmp_path
):
    """Each is closed at once, so that none holds a share; the queue of the socket is full."""
    path = str(tmp_path / "socket")
    with attack(f"--listen-address=127.0.0.1:0,unix:{path}") as server:
        findings = Findings(server)
        with beside(server) as honest:
            for _ in range(STORM):
                with socket.socket(socket.AF_UNIX) as client:
                    client.connect(path)
            SENT.add(connections=STORM)
        findings.expect(says_ready(server), "the server says that it is not ready")
        failures = server.sample("warpfold_self_probe_failures_total")
        findings.expect(failures == 0, f"{failures:.0f} connections of the server to itself failed")
        findings.expect_honest(honest)
        findings.expect_memory()
        findings.expect_recovered()
        findings.report()


def test_many_addresses_end_no_connection_and_no_server(attack):
    flags = (exit_when_unready_ms(1000),)
    with attack(*flags, run_by=descriptor_limit(FEW, FEW)) as server:
        findings = Findings(server)
        honest = Honest(server)
        honest.round()
        with contextlib.ExitStack() as stack:
            connect_from_everywhere(stack, server)
            await_self_probes(server)
            honest.round()
            findings.expect(not serves(server), "a new client is served: not all are taken")
            findings.expect(says_ready(server), "the server says that it is not ready")
            held = server.sample("warpfold_connections")
            findings.expect(held == ALL_OF_FEW, f"{held:.0f} connections are held")
        until(lambda: serves(server), "a new client is served when all others have gone")
        honest.round()
        findings.expect(not honest.failures, honest.verdict())
        honest.close()
        findings.expect(server.process.poll() is None, "the server has ended")
        findings.expect_recovered()
        findings.report()


def test_thousands_of_connections_from_one_address_are_closed(attack):
    with attack(f"--max-connections={CONNECTIONS_MAX}") as server:
        findings = Findings(server)
        with beside(server) as honest, contextlib.ExitStack() as stack:
            opener = open_many(stack, server.port, THOUSANDS, ATTACKER, FIRST_WORDS)
            opened = int(opener.stdout.readline())
            SENT.add(connections=opened, size=opened * len(bytes.fromhex(FIRST_WORDS)))
            refused = f'{REFUSED}{{reason="share"}}'
            until(
                lambda: server.sample(refused) >= opened - CONNECTIONS_MAX / 2,
                "all but its share are refused",
            )
            findings.expect(serves(server), "a client of another address is not served")
            findings.expect(says_ready(server), "the server says that it is not ready")
        findings.expect(opened >= 0.9 * THOUSANDS, f"only {opened} connections were opened")
        findings.expect_honest(honest)
        findings.expect_memory(connections=CONNECTIONS_MAX * CONNECTION_BYTES)
        findings.expect_recovered()
        findings.report()
