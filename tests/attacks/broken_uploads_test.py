"""Large messages that never end, on many connections, until gRPC's memory quota is full, beside
whole ones whose bytes workers let go of; each connection is dropped at a random moment.

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

from warpfold._contract import REDUCE_METHOD

HOLDERS, FEEDERS, ROUNDS = 16, 6, 20
MESSAGE_BYTES = 16 * MIB  # of all holders 256 MiB; the quota is 96
FLAGS = (
    "--max-bytes-in-flight=16MiB",
    "--max-message-bytes=16MiB",
    "--staging-buffer-bytes=256KiB",
)
WHOLE_BYTES = MIB  # more than is reduced without a worker
WHOLE = message(
    request((WHOLE_BYTES // 4,), "float32", data=bytes(WHOLE_BYTES)).SerializeToString()
)
HALF = message(bytes(MESSAGE_BYTES - 1), announced=MESSAGE_BYTES)


def hold(client, choose):
    half = client.open(REDUCE_METHOD)
    client.send(half, HALF[: choose.randrange(MESSAGE_BYTES // 2, MESSAGE_BYTES)])
    client.read(choose.random() / 2)


def feed(client, choose):
    for _ in range(choose.randrange(1, 40)):
        client.send(client.open(REDUCE_METHOD), WHOLE, end=True)


def attack_on(port, part, seed):
    choose = random.Random(seed)
    for _ in range(ROUNDS):
        # A call or a connection that the server ends is what a full quota does.
        with contextlib.suppress(OSError, AssertionError), RawConnection(port) as client:
            part(client, choose)


def test_broken_uploads_do_not_end_the_server(attack):
    with attack(*FLAGS) as server:
        findings = Findings(server)
        clients = [
            threading.Thread(target=attack_on, args=(server.port, part, SEED + i))
            for i, part in enumerate([hold] * HOLDERS + [feed] * FEEDERS)
        ]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        code = server.process.poll()
        findings.expect(code is None, f"the server has ended with {code}")
        findings.expect_recovered()
        findings.report()
