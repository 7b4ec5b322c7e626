"""Small answers that nobody reads leave room for streams, however many of them are asked for.

No window is open, and the limits of time are the server's own. A call that the server ends is asked
again.
"""

import contextlib

import grpc
from attacked_server import MIB
from findings import Findings
from honest import Honest, beside, request
from raw_http2 import RawConnection, message
from waiting import until

from warpfold._contract import REDUCE_METHOD

STREAMS = 2
SCRATCH_BYTES = 32 * MIB
CONNECTIONS = 10
CALL_BYTES = 16 << 10  # of gRPC and the server, while an answer waits
FLAGS = (
    f"--workers-per-device={STREAMS}",
    f"--scratch-bytes={SCRATCH_BYTES}",
    # The attack is to fill bytes, not places.
    "--max-requests-in-flight=65536",
    "--queue-depth-max=65536",
)
# Just below the 64 KiB from which answers are large: sums over an axis that has no elements.
SMALL = request((0, 8100), "float64", axes=(0,)).SerializeToString()
TINY = request((1,), "float32", data=bytes(4)).SerializeToString()


class Attack:
    """`calls` calls on a few connections."""

    def __init__(self, server, stack, asked, calls):
        self._asked = message(asked)
        self._clients = [
            stack.enter_context(RawConnection(server.port, window=0)) for _ in range(CONNECTIONS)
        ]
        for client in self._clients:
            self._ask(client, calls // CONNECTIONS)
            client.ping()

    def _ask(self, client, count):
        for _ in range(count):
            client.send(client.open(REDUCE_METHOD), self._asked, end=True)

    def ask_again(self):
        """In place of those that have ended."""
        for client in self._clients:
            open_before = client.open_calls()
            client.read(0.01)
            self._ask(client, open_before - client.open_calls())


def test_small_answers_leave_room_for_streams(attack):
    in_flight = 64 * MIB
    with attack(f"--max-bytes-in-flight={in_flight}", *FLAGS) as server:
        findings = Findings(server)
        with contextlib.ExitStack() as stack:
            attacker = Attack(server, stack, SMALL, in_flight // (64 << 10))
            # Not patient: who asks for little is not to notice.
            with beside(server) as honest:
                enough = honest.answered + 40
                while honest.answered + len(honest.failures) < enough:
                    attacker.ask_again()
            streaming = Honest(server)
            stack.callback(streaming.close)
            try:
                streaming.reduce_stream(rows=512)  # 8 MiB
            except grpc.RpcError as error:
                findings.expect(False, f"a stream of 8 MiB: {error.code().name} {error.details()}")
        findings.expect_honest(honest)
        findings.expect_memory(bytes=in_flight, scratch=STREAMS * SCRATCH_BYTES)
        findings.expect_recovered()
        findings.report()


def test_tiny_answers_give_way_before_they_hold_all(attack):
    """Nobody is refused for want of bytes, and yet a quarter of them comes free."""
    in_flight = 16 * MIB
    with attack(f"--max-bytes-in-flight={in_flight}", *FLAGS) as server:
        findings = Findings(server)
        with contextlib.ExitStack() as stack:
            Attack(server, stack, TINY, in_flight // CALL_BYTES - 2 * CONNECTIONS)

            def held():
                return server.sample("warpfold_bytes_in_flight")

            until(lambda: held() > 0.95 * in_flight, "answers that hold nearly all")
            refused = server.sample('warpfold_admission_refusals_total{reason="bytes"}')
            findings.expect(refused == 0, f"{refused} requests were refused")
            with contextlib.suppress(AssertionError):
                until(lambda: held() <= 0.75 * in_flight, "a quarter of the bytes")
            findings.expect(
                held() <= 0.75 * in_flight, f"the answers go on holding {held() / MIB:.1f} MiB"
            )
        findings.expect_memory(answers=in_flight)
        findings.expect_recovered()
        findings.report()
