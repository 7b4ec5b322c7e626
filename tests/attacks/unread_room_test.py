"""A client that reads none of its answers leaves room for those of others.

The windows of its streams are 0, and the limits of time are the server's own: no call ends by
them while a test runs.
"""

import contextlib
import re
import signal

import pytest
from attacked_server import MIB
from findings import Findings
from honest import REDUCE_MANY_METHOD, beside, request
from raw_http2 import CANCELLED, RESOURCE_EXHAUSTED, RawConnection, message
from waiting import until

from warpfold._contract import REDUCE_METHOD

STREAMS = 2
SCRATCH_BYTES = 32 * MIB
SCRATCH = (f"--workers-per-device={STREAMS}", f"--scratch-bytes={SCRATCH_BYTES}")
LARGE_BYTES = 16 * MIB
CONNECTIONS = 20
TINY = 2000  # answers: more than requests may be in flight
# Of gRPC and the server, while an answer waits: of a call, and of an item of a stream.
CALL_BYTES, ITEM_BYTES = 16 << 10, 1 << 10
REFUSAL_BYTES_MAX = 1 << 10
WINDOW_MAX = 2**31 - 1


def zeros(size_bytes):
    """Sums of rows that have no elements."""
    return request((size_bytes // 8, 0), "float64", axes=(1,)).SerializeToString()


def ask_by_calls(client, asked, count):
    for _ in range(count):
        client.send(client.open(REDUCE_METHOD), message(asked), end=True)


def ask_by_streams(client, asked, count):
    """Four streams a connection, or as many as have few enough items under way."""
    items = max(1, count // 4)
    for _ in range(count // items):
        client.send(client.open(REDUCE_MANY_METHOD), items * message(asked))


def connect(server, stack, count=1):
    """Connections that read no answer."""
    return [stack.enter_context(RawConnection(server.port, window=0)) for _ in range(count)]


def read_at_last(server, asked):
    """(code, text) of a call that reads its answer, and tries again while there is no room."""
    ends = [(RESOURCE_EXHAUSTED, "")]

    def is_over():
        ends.append(reader.call(REDUCE_METHOD, asked))
        return ends[-1][0] != RESOURCE_EXHAUSTED

    with RawConnection(server.port, window=WINDOW_MAX) as reader:
        reader.open_window(WINDOW_MAX - 65535)
        with contextlib.suppress(AssertionError):
            until(is_over, "room for an answer")
    return ends[-1]


@pytest.mark.parametrize("method", [REDUCE_METHOD, REDUCE_MANY_METHOD])
def test_large_answers_hold_half_and_give_way(attack, method):
    in_flight = 256 * MIB
    asked = zeros(LARGE_BYTES)
    flags = (f"--max-bytes-in-flight={in_flight}", *SCRATCH)
    with attack(*flags, log_level="info") as server:
        findings = Findings(server)
        with RawConnection(server.port, window=0) as client:
            # Not patient: who asks for little is not to notice.
            with beside(server) as honest:
                for _ in range(in_flight // LARGE_BYTES):
                    client.send(client.open(method), message(asked), end=True)
                # Before it is full, an answer that is read finds room without pressing anybody.
                refusals = 'warpfold_admission_refusals_total{reason="answers"}'
                until(lambda: server.sample(refusals) > 0, "the half is held")
                code, text = read_at_last(server, asked)
                findings.expect(code == 0, f"a large answer that is read ends by {code}: {text}")
            client.read(0)
            codes = client.codes()
            findings.expect(
                codes <= {-1, CANCELLED, RESOURCE_EXHAUSTED}, f"calls ended by {codes}"
            )
            findings.expect(client.open_calls(), "more calls were ended than others need")
            findings.expect_honest(honest)
        why = rb"no progress for (\d+) ms while others were refused \(1000 ms and (\d+) bytes at"
        lines = re.findall(why, server.log())
        findings.expect(lines, "the log does not say why calls ended")
        said = {(int(waited_ms), int(answer_bytes)) for waited_ms, answer_bytes in lines}
        large = {(ms, size) for ms, size in said if size >= LARGE_BYTES}
        findings.expect(large and all(ms == 1250 for ms, _ in large), f"large ones: {said}")
        # An item that is refused is an answer too.
        refused_bytes_max = REFUSAL_BYTES_MAX if method == REDUCE_MANY_METHOD else 0
        findings.expect(
            all(ms == 1000 and size <= refused_bytes_max for ms, size in said - large),
            f"others: {said}",
        )
        ended = server.sample('warpfold_client_timeouts_total{limit="write_pressed"}')
        findings.expect(ended > 0, "no call gave way")
        findings.expect_memory(answers=in_flight // 2, scratch=STREAMS * SCRATCH_BYTES)
        findings.expect_recovered()
        findings.report()


@pytest.mark.parametrize(
    ("ask", "held_bytes"), [(ask_by_calls, CALL_BYTES), (ask_by_streams, ITEM_BYTES)]
)
def test_tiny_answers_take_no_places(attack, ask, held_bytes):
    one_float = request((1,), "float32", data=bytes(4)).SerializeToString()
    with attack() as server:
        findings = Findings(server)
        answered = server.reductions()
        with contextlib.ExitStack() as stack, beside(server) as honest:
            clients = connect(server, stack, CONNECTIONS)
            for client in clients:
                ask(client, one_float, TINY // CONNECTIONS)
            for client in clients:
                client.ping()
            until(lambda: server.reductions() >= answered + TINY, "all are answered")
            until(
                lambda: server.sample("warpfold_bytes_in_flight") >= TINY * held_bytes,
                "each holds its bytes",
            )
        codes = set().union(*(client.codes() for client in clients))
        findings.expect(not codes, f"unread calls ended by {codes}")
        findings.expect_honest(honest)
        held = server.call_bytes() if held_bytes == CALL_BYTES else held_bytes
        findings.expect_memory(answers=TINY * held)
        findings.expect_recovered()
        findings.report()


def test_many_small_answers_give_way(attack):
    """Too small for the half that large ones may hold, they fill all bytes in flight."""
    in_flight = 16 * MIB
    small = 64 << 10
    with attack(f"--max-bytes-in-flight={in_flight}", *SCRATCH) as server:
        findings = Findings(server)
        with contextlib.ExitStack() as stack:
            clients = connect(server, stack, 10)
            for client in clients:
                ask_by_calls(client, zeros(small), 2 * in_flight // small // len(clients))
            for client in clients:
                client.ping()
            with beside(server, patient=True) as honest:
                pass
        findings.expect_honest(honest)
        findings.expect_memory(bytes=in_flight, scratch=STREAMS * SCRATCH_BYTES)
        findings.expect_recovered()
        findings.report()


def test_a_drain_waits_for_an_answer_that_is_not_read_yet(attack):
    with attack(log_level="info") as server, RawConnection(server.port, window=0) as client:
        number = client.open(REDUCE_METHOD)
        client.send(number, message(zeros(1024)), end=True)
        until(lambda: server.sample("warpfold_answers_unwritten") == 1, "an unread answer")
        assert server.sample("warpfold_requests_in_flight") == 0
        server.signal(signal.SIGTERM)
        server.await_log_line(b"draining")
        client.open_window(WINDOW_MAX, number)
        assert client.await_end(number) == (0, "")
        assert client.streams[number].received > 1024
        client.__exit__()
        assert server.exit_code() == 0
