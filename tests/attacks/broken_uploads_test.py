"""Large messages that never end, on many connections, until gRPC's memory quota is full, beside
streams whose bytes lanes take meanwhile; each connection is dropped at a random moment.

Whoever lets go of received bytes while the quota is full has to be inside a call of gRPC's core:
elsewhere gRPC 1.51 ends the process.
"""

import contextlib
import random
import threading

from attacked_server import MIB
from findings import Findings
from honest import SEED, request
from raw_http2 import RawConnection, message

from warpfold._contract import REDUCE_METHOD, REDUCE_STREAM_METHOD, ReduceStreamRequest

CONNECTIONS, ROUNDS = 12, 6
MESSAGE_BYTES = 16 * MIB  # twice as many bytes together as the quota of 96 MiB allows
FLAGS = ("--max-bytes-in-flight=16MiB", "--max-message-bytes=16MiB", "--slab-bytes=256KiB")
STREAM_BYTES = 2 * MIB
CHUNK = message(ReduceStreamRequest(chunk=bytes(MIB // 4)).SerializeToString())
HEADER = message(
    ReduceStreamRequest(header=request((STREAM_BYTES // 4,), "float32")).SerializeToString()
)
HALF = message(bytes(MESSAGE_BYTES - 1), announced=MESSAGE_BYTES)


def attack_once(port, choose):
    with RawConnection(port) as client:
        half = client.open(REDUCE_METHOD)
        client.send(half, HALF[: choose.randrange(MESSAGE_BYTES // 2, MESSAGE_BYTES)])
        for _ in range(choose.randrange(1, 5)):
            stream = client.open(REDUCE_STREAM_METHOD)
            client.send(stream, HEADER)
            # All of it and more, or less: a lane takes what has come.
            for _ in range(choose.randrange(2, 10)):
                client.send(stream, CHUNK)


def attack_on(port, seed):
    choose = random.Random(seed)
    for _ in range(ROUNDS):
        # A call or a connection that the server ends is what a full quota does.
        with contextlib.suppress(OSError, AssertionError):
            attack_once(port, choose)


def test_broken_uploads_do_not_end_the_server(attack):
    with attack(*FLAGS) as server:
        findings = Findings(server)
        clients = [
            threading.Thread(target=attack_on, args=(server.port, SEED + i))
            for i in range(CONNECTIONS)
        ]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        code = server.process.poll()
        findings.expect(code is None, f"the server has ended with {code}")
        findings.expect_recovered()
        findings.report()
