"""A peer that ignores GOAWAY and keeps its streams open while the server drains."""

import contextlib
import signal
import socket

from findings import Findings
from honest import REDUCE_MANY_METHOD, request
from raw_http2 import RawConnection, message

from warpfold._contract import REDUCE_METHOD, REDUCE_STREAM_METHOD, ReduceStreamRequest

DRAIN_MS = 500
# gRPC's own patience with a peer that does not answer GOAWAY is 20 s; half of that parts the two.
GUARD_S = 10
WATCH_METHOD = "/grpc.health.v1.Health/Watch"
REFLECTION_METHOD = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"


def test_a_drain_ends_at_its_timeout(attack):
    header = ReduceStreamRequest(header=request((1 << 20,), "float32")).SerializeToString()
    large = message(request((0, 1 << 20), "float64", axes=(0,)).SerializeToString())
    with attack(f"--drain-timeout-ms={DRAIN_MS}") as server, contextlib.ExitStack() as stack:
        Findings(server)
        peers = [stack.enter_context(RawConnection(server.port, window=0)) for _ in range(3)]
        silent = socket.create_connection(("127.0.0.1", server.port))
        stack.enter_context(silent)
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
