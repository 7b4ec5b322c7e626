"""Small calls to servers that hang, that are slow, and that take PINGs for abuse.

A server hangs by SIGSTOP: its kernel goes on taking connections and bytes.
"""

import contextlib
import os
import re
import signal
import threading
import urllib.request

import grpc
import numpy as np
import pytest
from fake_server import FakeServer
from running_server import server_process

import warpfold
from warpfold._channel import Channels, Pings
from warpfold._small import SMALL_MESSAGE_BYTES_MAX, SmallCall

ONES = np.ones(1024, dtype=np.float32)
MANY = np.ones(1 << 17)  # not small
CODE = grpc.StatusCode


def stop(process):
    """Returns once none of its threads runs."""
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED)


class Replicas:
    """Servers, and the target of all."""

    def __init__(self, started):
        self.processes = [process for process, _, _ in started]
        self.target = "ipv4:" + ",".join(f"127.0.0.1:{port}" for _, port, _ in started)
        self._pages = [f"http://127.0.0.1:{port}/metrics" for _, _, port in started]

    def _served(self):
        pages = [urllib.request.urlopen(url).read().decode() for url in self._pages]
        series = re.compile(r"^warpfold_requests_total{.*} (\S+)$", re.MULTILINE)
        return [sum(map(float, series.findall(page))) for page in pages]

    def answer_in_turn(self, call):
        """Calls until each has answered: the client is connected to all."""
        before = self._served()
        for _ in range(100):
            for _ in range(9):
                call()
            if all(now > then for now, then in zip(self._served(), before)):
                return
        raise AssertionError("a replica answers none")


@pytest.fixture
def replicas():
    """A function that starts so many."""
    with contextlib.ExitStack() as stack:
        flags = ("--backend=cpu", "--log-level=warning")
        yield lambda count: Replicas(
            [stack.enter_context(server_process(*flags)) for _ in range(count)]
        )


def test_a_replica_that_hangs_costs_one_call_less_than_a_second(replicas, either_client):
    three = replicas(3)
    client = either_client(three.target, timeout=1)
    three.answer_in_turn(lambda: client.sum(ONES))
    for _ in range(600):  # often enough that gRPC would have measured the bandwidth, by PINGs
        assert client.sum(ONES) == 1024
    stop(three.processes[1])
    attempts = [client.reduce(ONES, ["sum"]).attempts for _ in range(20)]
    assert sum(count > 1 for count in attempts) == 1

    # It takes part again: soon no other is left.
    three.processes[1].send_signal(signal.SIGCONT)
    stop(three.processes[0])
    stop(three.processes[2])
    assert client.sum(ONES, timeout=20) == 1024


def test_calls_of_many_threads_survive_a_replica_that_hangs(replicas):
    three = replicas(3)
    with warpfold.connect(three.target, timeout=1) as client:
        three.answer_in_turn(lambda: client.sum(ONES))
        stop(three.processes[2])
        answers = []
        threads = [
            threading.Thread(target=lambda: answers.append(client.sum(ONES))) for _ in range(20)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answers == [1024] * 20


def test_calls_take_turns_and_what_lies_on_one_server_stays_with_it(either_client):
    with FakeServer() as one, FakeServer() as two:
        client = either_client(f"ipv4:{one.target},{two.target}")
        for values in (np.ones(512), np.ones(1 << 17)):  # small or not
            for _ in range(10_000):  # until it has connected to both
                assert client.sum(values) == len(values)
                if one.calls and two.calls:
                    break
            assert one.calls and two.calls
            one.calls.clear()
            two.calls.clear()
        for _ in range(8):
            client.put(np.ones(512))
        assert sorted([one.calls, two.calls]) == [[], ["CreateTensor", "WriteTensor"] * 8]


# Of calls that are not small no server is asked: one finds out by its timeout, and the next ones,
# which have new connections, are answered by others.
@pytest.mark.parametrize("threshold", [0, 2 << 20])
def test_a_replica_that_hangs_costs_one_call_that_is_not_small_its_timeout(
    replicas, either_client, threshold
):
    three = replicas(3)
    client = either_client(three.target, stream_threshold_bytes=threshold)
    three.answer_in_turn(lambda: client.sum(MANY))
    stop(three.processes[1])
    with pytest.raises(warpfold.DeadlineExceededError):
        for _ in range(9):
            client.sum(MANY, timeout=0.5)
    for _ in range(20):
        assert client.sum(MANY) == len(MANY)


def test_calls_that_are_not_small_learn_of_a_replica_that_hangs_from_small_ones(
    replicas, either_client
):
    three = replicas(3)
    client = either_client(three.target)
    three.answer_in_turn(lambda: client.sum(ONES))
    three.answer_in_turn(lambda: client.sum(MANY))
    stop(three.processes[1])
    assert max(client.reduce(ONES, ["sum"]).attempts for _ in range(9)) > 1
    for _ in range(20):
        assert client.reduce(MANY, ["sum"]).attempts == 1


def test_what_is_not_small_has_another_connection(fake, either_client):
    client = either_client(fake.target)
    client_channels(client).small = None
    assert client.sum(np.ones(SMALL_MESSAGE_BYTES_MAX // 8)) == SMALL_MESSAGE_BYTES_MAX // 8
    with pytest.raises(AttributeError):
        client.sum(np.ones(SMALL_MESSAGE_BYTES_MAX // 8 - 8))


def test_a_call_goes_on_by_a_connection_that_was_replaced(fake, either_client):
    client = either_client(fake.target, timeout=60)
    fake.release.clear()
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(client.reduce(MANY, ["sum"])))
    waiting.start()
    fake.hung.wait()
    channels = client_channels(client)
    old = channels.spread_at(0)
    channels.connect_anew()
    new = channels.spread_at(0)
    assert new is not old
    channels.connect_anew()  # within a second
    assert channels.spread_at(0) is new
    del old
    fake.release.set()
    waiting.join()
    assert answers[0].attempts == 1


def test_a_server_that_hangs_is_named_and_calls_go_on_with_it(replicas, either_client):
    alone = replicas(1)
    client = either_client(alone.target, timeout=2)
    stop(alone.processes[0])
    with pytest.raises(warpfold.DeadlineExceededError, match=f"^{alone.target} does not answer: "):
        client.sum(ONES)
    alone.processes[0].send_signal(signal.SIGCONT)
    assert client.sum(ONES, timeout=20) == 1024


@pytest.mark.parametrize("size, threshold", [(512, 1 << 20), (1 << 17, 2 << 20), (1 << 17, 0)])
def test_a_call_is_not_cut_while_a_server_that_hangs_is_left(
    replicas, fake, either_client, size, threshold
):
    client = either_client(fake.target, stream_threshold_bytes=threshold, timeout=60)
    fake.release.clear()
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(client.reduce(np.ones(size), ["sum"])))
    waiting.start()
    fake.hung.wait()

    # Four times the limits of the call above, and begun after it.
    alone = replicas(1)
    once = warpfold.RetryPolicy(attempts_max=1)
    with warpfold.connect(alone.target, retry=once, ping_after=1.2, ping_timeout=2) as other:
        stop(alone.processes[0])
        with pytest.raises(warpfold.UnavailableError):
            other.sum(ONES)
    fake.release.set()
    waiting.join()
    assert answers == [{"sum": size}]
    assert answers[0].attempts == 1


def test_a_server_that_takes_pings_for_abuse_is_not_asked_again(fake, either_client):
    client = either_client(fake.target)
    channels = client_channels(client)
    asking = channels.small
    fake.release.clear()
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(client.reduce([1.0, 2.0], ["sum"])))
    waiting.start()
    fake.cancelled.wait()  # it hung up
    fake.release.set()
    waiting.join()
    assert answers == [{"sum": 3.0}]
    assert answers[0].attempts == 2
    assert channels.small is not asking and channels._pings is None


def client_channels(client):
    own = getattr(client, "_client", client)  # of Awaited
    return own._flows._rpcs.channels


class Words(grpc.RpcError):
    """A failure that says so."""

    def __init__(self, words, code=CODE.UNAVAILABLE):
        super().__init__(words)
        self.code = lambda: code
        self.details = lambda: words


class FailingIo:
    """Fails by the words, one an attempt."""

    def __init__(self, *failures):
        self._failures = list(failures)

    async def unary(self, method, message, timeout):
        raise self._failures.pop(0)


def attempts(channels, *failures):
    call = SmallCall(channels, FailingIo(*failures), "reduce", b"")
    for failure in failures:
        with pytest.raises(grpc.RpcError) as caught:
            call.attempt(1).send(None)
        assert caught.value is failure


@pytest.fixture
def channels():
    made = Channels("127.0.0.1:1", None, Pings(300, 500))
    yield made
    made.close()


@pytest.mark.parametrize("words", ["keepalive watchdog timeout", "ping timeout"])
def test_a_call_that_is_cut_twice_gives_servers_more_time(channels, words):
    first = channels.small
    attempts(channels, Words(words))
    attempts(channels, Words(words))  # of another call
    assert channels.small is first
    attempts(channels, Words(words), Words(words))
    assert channels.small is not first and channels._pings == Pings(1200, 2000)
    channels.ask_less_hastily(first)  # of another call that it cut
    assert channels._pings == Pings(1200, 2000)
    attempts(channels, *[Words(words)] * 2)
    assert channels._pings == Pings(4800, 8000)
    attempts(channels, *[Words(words)] * 2)
    assert channels._pings is None
    last = channels.small
    attempts(channels, *[Words(words)] * 2)
    channels.stop_asking()
    assert channels.small is last


@pytest.mark.parametrize("words", ["Too many pings", "GOAWAY ... Debug Text: too_many_pings"])
def test_pings_that_are_too_many_are_the_last(channels, words):
    attempts(channels, Words(words))
    assert channels._pings is None


@pytest.mark.parametrize(
    "code, words", [(CODE.UNAVAILABLE, "gone"), (CODE.INTERNAL, "ping timeout")]
)
def test_other_failures_change_nothing(channels, code, words):
    first = channels.small
    attempts(channels, *[Words(words, code)] * 4)
    assert channels.small is first and channels._pings == Pings(300, 500)


def test_without_a_limit_no_server_is_asked(fake, either_client):
    client = either_client(fake.target, ping_after=None)
    assert client_channels(client)._pings is None
    assert client.sum([1.0, 2.0]) == 3.0


@pytest.mark.parametrize("name", ["ping_after", "ping_timeout"])
@pytest.mark.parametrize("value", [0, -1, 0.0001, 3601, float("nan"), float("inf")])
def test_limits_that_are_none_are_refused(fake, either_client, name, value):
    with pytest.raises(ValueError, match=f"{name} is {value}, but must be from 0.001"):
        either_client(fake.target, **{name: value})
