"""A client that asks for large answers and never reads them.

The sums over axis 0 of a tensor of shape [0, N], which is no byte long, are N * 8 bytes of zeros.
Those of [1, N] bytes are N * 8 bytes too.
"""

import pytest
from attacked_server import MIB
from findings import Findings
from honest import REDUCE_MANY_METHOD, beside, request
from new_options import min_bytes_per_s, write_idle_ms
from raw_http2 import CANCELLED, RESOURCE_EXHAUSTED, RawConnection, message

from warpfold._contract import REDUCE_METHOD

IN_FLIGHT_BYTES = 128 * MIB
STREAMS = 2
SCRATCH_BYTES = 96 * MIB
FLAGS = (
    "--max-result-bytes=64MiB",
    f"--max-bytes-in-flight={IN_FLIGHT_BYTES}",
    f"--workers-per-device={STREAMS}",
    f"--scratch-bytes={SCRATCH_BYTES}",
    write_idle_ms(1000),
    min_bytes_per_s(1 << 30),  # 64 MiB have 62 ms more
)
# Results are charged like payload until they are written, so that all answers together hold no
# more than the bytes in flight; each worker may have its scratch memory beside that.
HELD = {"in_flight": IN_FLIGHT_BYTES, "scratch": STREAMS * SCRATCH_BYTES}


def of_nothing():
    """24 times 64 MiB."""
    asked = request((0, 8 * MIB), "float64", axes=(0,))
    return 24 * [message(asked.SerializeToString())]


def of_bytes():
    """64 times 8 MiB, of 1 MiB each."""
    asked = request((1, MIB), "uint8", axes=(0,), data=bytes(MIB))
    return 64 * [message(asked.SerializeToString())]


def begin(client, method="Reduce", ask=of_nothing):
    if method == "Reduce":
        for asked in ask():
            client.send(client.open(REDUCE_METHOD), asked, end=True)
    else:
        client.send(client.open(REDUCE_MANY_METHOD), b"".join(ask()), end=True)


@pytest.mark.parametrize("ask", [of_nothing, of_bytes])
@pytest.mark.parametrize("method", ["Reduce", "ReduceMany"])
def test_unread_answers_are_counted_and_end(attack, method, ask):
    with (
        attack(*FLAGS, log_level="info") as server,
        RawConnection(server.port, window=0) as client,
    ):
        findings = Findings(server)
        # Patient: the attack may fill the bytes in flight until its writes end.
        with beside(server, patient=True) as honest:
            begin(client, method, ask)
            # A status would have to wait behind the answer: such a call is reset.
            findings.expect_ends(client, CANCELLED, RESOURCE_EXHAUSTED)
        line = server.await_log_line(b"--write-idle-timeout-ms")
        findings.expect(b"ipv4:127.0.0.1:" in line, f"the log does not say by whom: {line!r}")
        findings.expect_honest(honest)
        findings.expect_memory(**HELD)
        findings.expect_recovered()
        findings.report()


def test_who_asks_on_has_no_more_time_to_read(attack):
    """Each small item comes within the time that the first answer has to be read in."""
    small = message(request((1,), "float32", data=bytes(4)).SerializeToString())
    with attack(*FLAGS) as server, RawConnection(server.port, window=0) as client:
        number = client.open(REDUCE_MANY_METHOD)
        asked = 0
        while asked < 40 and client.streams[number].code is None:
            client.send(number, small)
            asked += 1
            client.read_for(0.3)
        assert asked < 40, "the stream goes on"
