"""A peer that ignores GOAWAY and keeps its streams open while the server drains."""

import contextlib
import fcntl
import signal
import socket
import struct
import termios

from findings import Findings
from honest import REDUCE_MANY_METHOD, request
from raw_http2 import SENT, UNAVAILABLE, RawConnection, message
from waiting import until

from warpfold._contract import REDUCE_METHOD, REDUCE_STREAM_METHOD, ReduceStreamRequest

DRAIN_MS = 500
# gRPC's own patience with a peer that does not answer GOAWAY is 20 s; half of that parts the two.
GUARD_S = 10
ANSWERS = 8  # of 8 MiB
UNREAD = 65536
WATCH_METHOD = "/grpc.health.v1.Health/Watch"
NOTHING = request((0,), "float32", data=b"").SerializeToString()
WATCHES = 50
STATE_BYTES = 7  # of a HealthCheckResponse and its prefix
REFLECTION_METHOD = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"


def test_a_drain_ends_at_its_timeout(attack):
    """Of streams that stay open, for which the server waits."""
    header = ReduceStreamRequest(header=request((1 << 20,), "float32")).SerializeToString()
    large = message(request((0, 1 << 20), "float64", axes=(0,)).SerializeToString())
    with attack(f"--drain-timeout-ms={DRAIN_MS}") as server, contextlib.ExitStack() as stack:
        Findings(server)
        peers = [stack.enter_context(RawConnection(server.port, window=0)) for _ in range(3)]
        silent = socket.create_connection(("127.0.0.1", server.port))
        stack.enter_context(silent)
        SENT.add(connections=1)
        streams, unread, _ = peers  # the third has no call
        streams.send(streams.open(WATCH_METHOD), message(b""), end=True)
        streams.send(streams.open(REFLECTION_METHOD), message(b"\x3a\x00"))
        streams.send(streams.open(REDUCE_STREAM_METHOD), message(header))
        streams.open(REDUCE_METHOD)  # no byte of its message comes
        unread.send(unread.open(REDUCE_METHOD), large, end=True)
        unread.send(unread.open(REDUCE_MANY_METHOD), large)
        for peer in peers:
            peer.ping()
        server.signal(signal.SIGTERM)
        assert server.exit_code(GUARD_S) == 0


def test_a_drain_waits_for_no_connection_without_a_call(attack):
    """One says nothing, one has begun, and one has been answered; none answers GOAWAY."""
    with (
        attack("--drain-timeout-ms=600000", log_level="info") as server,
        socket.create_connection(("127.0.0.1", server.port)),
        RawConnection(server.port) as begun,
        RawConnection(server.port) as answered,
    ):
        SENT.add(connections=1)
        begun.ping()
        assert answered.call(REDUCE_METHOD, NOTHING)[0] == 0
        server.signal(signal.SIGTERM)
        assert server.exit_code(GUARD_S) == 0
        assert "ended idle connections connections=3" in server.log().decode()


def test_the_log_says_that_the_drain_ended_what_ran(attack):
    header = ReduceStreamRequest(header=request((1 << 20,), "float32")).SerializeToString()
    drain = f"--drain-timeout-ms={DRAIN_MS}"
    with attack(drain, log_level="info") as server, RawConnection(server.port) as peer:
        peer.send(peer.open(REDUCE_STREAM_METHOD), message(header))
        # One that is not admitted yet when the drain begins is refused.
        until(lambda: server.sample("warpfold_requests_expected"), "the stream's header read")
        peer.open(REDUCE_STREAM_METHOD)
        peer.ping()
        server.signal(signal.SIGTERM)
        assert server.exit_code(GUARD_S) == 0
        log = server.log().decode()
    assert log.count("the drain ended the request (--drain-timeout-ms)") == 2, log
    assert "the client cancelled" not in log, log


def test_a_drain_waits_for_no_call_that_watches_health(attack):
    """Such a call has no end of its own: the server says the last state, and ends it.

    That of a client which takes no answer, too; both answer the PING that goes with GOAWAY.
    """
    with (
        attack("--drain-timeout-ms=600000") as server,
        RawConnection(server.port) as reader,
        RawConnection(server.port, window=0) as unread,
    ):
        Findings(server)
        for peer in (reader, unread):
            for _ in range(WATCHES):
                peer.send(peer.open(WATCH_METHOD), message(b""), end=True)
            peer.open(WATCH_METHOD)  # its message never comes
            peer.ping()
        # A PING is answered before calls are: one that the drain finds unopened has no first state.
        while sum(s.received for s in reader.streams.values()) < WATCHES * STATE_BYTES:
            assert reader.read(), "the server does not say its state"
        server.signal(signal.SIGTERM)
        for peer in (reader, unread):
            while not peer.closed:
                assert peer.read(), "the server keeps the connection"
        *watching, silent = reader.streams.values()
        assert {(s.code, s.received) for s in watching} == {(UNAVAILABLE, 2 * STATE_BYTES)}
        assert (silent.code, silent.received) == (UNAVAILABLE, 0)
        assert server.exit_code() == 0


def unread_bytes(peer):
    return struct.unpack("i", fcntl.ioctl(peer, termios.FIONREAD, bytes(4)))[0]


def test_a_drain_does_not_wait_for_a_peer_that_reads_nothing(attack):
    """Its windows are open, so that the answers fill the kernel's buffers; gRPC waits for those."""
    rows = 1 << 20
    asked = message(request((0, rows), "float64", axes=(0,)).SerializeToString())
    with attack(f"--drain-timeout-ms={DRAIN_MS}") as server:
        Findings(server)
        with RawConnection(server.port, window=1 << 30) as peer:
            peer.open_window(1 << 30)
            for _ in range(ANSWERS):
                peer.send(peer.open(REDUCE_METHOD), asked, end=True)
            until(lambda: unread_bytes(peer) > UNREAD, "answers that nobody reads")
            server.signal(signal.SIGTERM)
            assert server.exit_code(GUARD_S) == 0
        server.await_log_line(b"ended connections that outlasted the drain")
