"""Silent, idle, old and restless connections, and what an honest client sees of the limits."""

import contextlib
import socket

import numpy as np
from findings import Findings
from honest import Honest, beside, request
from raw_http2 import SENT, RawConnection, message
from waiting import GUARD_S, until

import warpfold
from warpfold._contract import REDUCE_METHOD, ReduceRequest

WATCH_METHOD = "/grpc.health.v1.Health/Watch"
REFLECTION_METHOD = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
UNIMPLEMENTED = 12
PINGS = 6  # twice as many as gRPC takes by default
PING_EVERY_S = 0.55  # clients ask once a second; the server takes two
ONES = np.ones(1000, np.float32)
NOTHING = request((0,), "float32", data=b"").SerializeToString()


def read_to_the_end(connection):
    while not connection.closed:
        assert connection.read(), "the server keeps the connection"


def test_clients_may_ask_every_second_whether_the_server_is_there(attack):
    with attack() as server, contextlib.ExitStack() as stack:
        idle, waiting = (stack.enter_context(RawConnection(server.port)) for _ in range(2))
        waiting.send(waiting.open(WATCH_METHOD), message(b""), end=True)
        waiting.open(REDUCE_METHOD)  # no byte of its message comes
        for _ in range(PINGS):
            for client in (idle, waiting):
                client.ping()
                assert not client.is_going_away and not client.closed
            idle.read(PING_EVERY_S)
        assert idle.call(REDUCE_METHOD, NOTHING)[0] == 0


def test_a_flood_of_pings_ends_its_connection(attack):
    with attack() as server, RawConnection(server.port) as client:
        findings = Findings(server)
        with beside(server) as honest, contextlib.suppress(AssertionError):
            while not client.closed and not client.is_going_away:
                client.ping()
        findings.expect(client.is_going_away, "the server takes them all")
        findings.expect_honest(honest)
        findings.report()


def test_a_connection_that_says_nothing_ends(attack):
    with (
        attack("--handshake-timeout-ms=300") as server,
        socket.create_connection(("127.0.0.1", server.port), GUARD_S) as silent,
    ):
        SENT.add(connections=1)
        while silent.recv(4096):
            pass


def test_an_idle_connection_ends_and_its_client_makes_another(attack):
    with (
        attack("--connection-idle-timeout-ms=300") as server,
        warpfold.connect(f"localhost:{server.port}") as client,
    ):
        assert client.sum(ONES) == ONES.size
        # Idle after that client: when this connection has ended, so has that one's.
        with RawConnection(server.port) as other:
            assert other.call(REDUCE_METHOD, NOTHING)[0] == 0
            read_to_the_end(other)
        assert client.sum(ONES) == ONES.size


def test_an_idle_limit_spares_a_connection_with_a_call(attack):
    with attack("--connection-idle-timeout-ms=300") as server:
        with RawConnection(server.port) as busy, RawConnection(server.port) as idle:
            busy.send(busy.open(WATCH_METHOD), message(b""), end=True)
            read_to_the_end(idle)
            assert busy.call(REDUCE_METHOD, NOTHING)[0] == 0


def test_an_old_connection_takes_no_new_calls_and_ends_its_own(attack):
    with attack("--max-connection-age-ms=300") as server:
        with RawConnection(server.port) as client:
            number = client.open(REDUCE_METHOD)
            while not client.is_going_away:
                assert client.read(), "the server never says that the connection is old"
            client.send(number, message(NOTHING), end=True)
            assert client.await_end(number)[0] == 0


def test_a_connection_has_no_more_calls_than_it_may(attack):
    allowed = 4
    with attack(f"--max-streams-per-connection={allowed}") as server:
        findings = Findings(server)
        with beside(server) as honest, RawConnection(server.port) as client:
            client.ping()  # the server's settings have come and are acknowledged
            for _ in range(allowed + 1):
                client.open(WATCH_METHOD)
            if server.grpc_is_newer_than_1_51():  # ends the call alone
                until(lambda: client.read(0) and client.codes(), "the call beyond is ended")
                ended = [number for number, s in client.streams.items() if s.code is not None]
                findings.expect(ended == [2 * allowed + 1], f"ended: {ended}")
            else:
                read_to_the_end(client)
        findings.expect_honest(honest)
        many = Honest(server)
        for _ in range(3 * allowed):
            many.round()
        many.close()
        findings.expect(not many.failures, str(many.failures))
        findings.report()


def test_reflection_may_be_off(attack):
    with attack("--reflection=off") as server, RawConnection(server.port) as client:
        assert client.call(REFLECTION_METHOD, b"\x3a\x00")[0] == UNIMPLEMENTED
        assert client.call(REDUCE_METHOD, ReduceRequest().SerializeToString())[0] != UNIMPLEMENTED
