"""What a timeout is of a call that moves many bytes: a limit of silence, and not of size."""

import threading
import time
from functools import partial
from types import SimpleNamespace

import grpc
import numpy as np
import pytest
from conftest import FAST_RETRY
from fake_server import Failure
from sharing import sharing_server, small_slots  # noqa: F401

import warpfold
from warpfold import _attempts
from warpfold._attempts import Deadline, Silence
from warpfold._blocking_io import run
from warpfold._options import Options
from warpfold._progress import Meter
from warpfold._rpcs import Rpcs

CHUNKS = 15
CHUNK_BYTES = 1 << 16
X = np.ones(CHUNKS * CHUNK_BYTES // 8)


class Clock:
    """The time of the deadlines, which a test moves on."""

    ahead_s = 0.0

    def monotonic(self):
        return time.monotonic() + self.ahead_s


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(_attempts, "time", clock)
    return clock


@pytest.fixture
def chunked(fake, either_client):
    return either_client(fake.target, stream_threshold_bytes=0, chunk_bytes=CHUNK_BYTES)


def slow(done, total):
    """A chunk in 0.15 s, 15 of them in 2.25."""
    threading.Event().wait(0.15)


def test_a_stream_takes_as_long_as_its_bytes_move(fake, chunked):
    assert chunked.sum(X, timeout=1.5, progress=slow) == X.sum()
    assert fake.calls == ["ReduceStream"]


def test_so_does_an_upload(fake):
    with warpfold.connect(fake.target, chunk_bytes=CHUNK_BYTES) as client:
        with client.put(X, timeout=1.5, progress=slow):
            assert fake.writes == [(0, X.tobytes())]


@pytest.mark.parametrize("mode", [None, 0o600], ids=["striped", "shared"])
def test_so_do_pieces(sharing_server, clock, monkeypatch, mode):
    def slower(done, total):
        clock.ahead_s += 40

    monkeypatch.setattr("warpfold._flows.STRIPE_THRESHOLD_BYTES", 0 if mode is None else 1 << 30)
    x = np.ones(1 << 19)
    with warpfold.connect(sharing_server, connections=2, shared_memory_mode=mode) as client:
        assert client.sum(x, timeout=100, progress=slower) == x.size
    assert clock.ahead_s > 100


def test_silence_ends_a_stream_and_says_so(fake, chunked):
    fake.release.clear()
    words = r"^Deadline Exceeded: no progress for 0\.2 s; timeout= sets another limit$"
    with pytest.raises(warpfold.DeadlineExceededError, match=words):
        chunked.sum(X, timeout=0.2)


def test_the_timeout_of_one_message_names_itself(fake, either_client):
    fake.release.clear()
    words = "^Deadline Exceeded; timeout= sets another limit$"
    with pytest.raises(warpfold.DeadlineExceededError, match=words):
        either_client(fake.target).sum([1.0], timeout=0.2)


def test_a_limit_of_the_servers_has_its_own_words(fake, chunked):
    fake.failures = [Failure(grpc.StatusCode.DEADLINE_EXCEEDED, "idle for 1000 ms")]
    with pytest.raises(warpfold.DeadlineExceededError, match="^idle for 1000 ms$"):
        chunked.sum(X)


class FailingIo:
    """Takes two chunks in each attempt, half a timeout later, and fails."""

    def __init__(self, clock):
        self.attempts = 0
        self._clock = clock

    async def stream(self, method, upload, deadline):
        self.attempts += 1
        assert self.attempts < 10
        self._clock.ahead_s += deadline.timeout_s / 2
        for _ in range(4):
            next(upload)
        failure = Silence(deadline)
        failure.code = lambda: grpc.StatusCode.UNAVAILABLE
        raise failure

    async def sleep(self, seconds):
        pass


class OpenChannels:
    closed = False

    def check(self):
        pass


def test_what_an_attempt_before_had_sent_is_no_progress(clock):
    io = FailingIo(clock)
    rpcs = Rpcs("here", Options(60, FAST_RETRY, 0, 8), OpenChannels(), io)
    payload = memoryview(bytes(80))
    channel = SimpleNamespace(reduce_stream=None)
    stream = partial(rpcs.streamed, io, "reduce_stream", lambda: channel)
    with pytest.raises(warpfold.UnavailableError):
        run(stream(b"", payload, Deadline(60), Meter(80, None)))
    assert io.attempts == 3  # the first moves the deadline, and it passes by the third
