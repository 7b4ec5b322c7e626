"""Clients that were closed, interrupted, cancelled or forked: an error at once, never a hang.

What forks or is interrupted runs in a process of its own. Nothing here has a time limit: what hangs
hangs until ctest's TIMEOUT, and before that pytest.ini's faulthandler_timeout says where.
"""

import asyncio
import contextlib
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import grpc
import numpy as np
import pytest
from conftest import FAST_RETRY, forks
from fake_server import HANG, Failure

import warpfold
import warpfold.aio
from warpfold._channel import Channels
from warpfold._options import DEFAULT_STREAM_THRESHOLD_BYTES

PACKAGE = Path(warpfold.__file__).parents[1]
LARGE = np.ones(DEFAULT_STREAM_THRESHOLD_BYTES // 8 + 1)


def test_a_closed_client_raises(fake, either_client):
    client = either_client(fake.target)
    client.close()
    client.close()
    for call in (lambda: client.sum([1.0]), lambda: client.sum(LARGE), client.info):
        with pytest.raises(RuntimeError, match="^the client is closed$"):
            call()
    assert fake.calls == []


def test_with_closes(fake):
    with warpfold.connect(fake.target) as client:
        assert client.sum([1.0]) == 1.0
    with pytest.raises(RuntimeError, match="closed"):
        client.sum([1.0])

    async def use():
        async with await warpfold.aio.connect(fake.target) as client:
            assert await client.sum([1.0]) == 1.0
        with pytest.raises(RuntimeError, match="closed"):
            await client.sum([1.0])

    asyncio.run(use())


def test_a_block_of_asyncio_connects_and_closes_without_await(fake):
    async def use():
        connecting = warpfold.aio.connect(fake.target)
        assert asyncio.iscoroutine(connecting)
        async with connecting as client:
            assert await client.sum([1.0]) == 1.0
        with pytest.raises(RuntimeError, match="closed"):
            await client.sum([1.0])
        with pytest.raises(ZeroDivisionError):
            async with warpfold.aio.connect(fake.target) as client:
                raise ZeroDivisionError
        with pytest.raises(RuntimeError, match="closed"):
            await client.sum([1.0])
        async with await asyncio.create_task(warpfold.aio.connect(fake.target)) as client:
            assert await client.sum([1.0]) == 1.0
        with pytest.raises(ValueError, match="^target is"):
            async with warpfold.aio.connect("a:0"):
                pass

    asyncio.run(use())
    asyncio.run(asyncio.run(warpfold.aio.connect(fake.target)).close())


def test_what_is_not_awaited_is_called_by_its_functions_name(fake):
    async def use():
        async with warpfold.aio.connect(fake.target) as client:
            for function in ("sum", "nanmax", "describe"):
                awaited = getattr(client, function)([1.0])
                assert f"Client.{function}" in repr(awaited)
                awaited.close()

    asyncio.run(use())
    connecting = warpfold.aio.connect(fake.target)
    connecting.close()


@pytest.mark.parametrize("x", [np.ones(1), LARGE], ids=["unary", "stream"])
def test_closing_ends_calls_in_progress(fake, x):
    client = warpfold.connect(fake.target, retry=FAST_RETRY)
    fake.release.clear()
    closer = threading.Thread(target=lambda: (fake.hung.wait(), client.close()))
    closer.start()
    with pytest.raises(warpfold.WarpfoldError) as caught:
        client.sum(x)
    closer.join()
    assert caught.value.code is grpc.StatusCode.CANCELLED


def test_closing_ends_the_wait_for_a_retry(fake):
    client = warpfold.connect(fake.target)
    fake.failures = [Failure(grpc.StatusCode.UNAVAILABLE, pushback_ms=200_000)]
    closing = threading.Event()

    def close():
        closing.wait()
        client.close()

    closer = threading.Thread(target=close)
    closer.start()
    client._closing.wait = lambda _: (closing.set(), closer.join())
    with pytest.raises(RuntimeError, match="^the client is closed$"):
        client.sum([1.0])


@pytest.mark.parametrize("x", [np.ones(1), LARGE], ids=["unary", "stream"])
def test_closing_just_before_a_call_is_sent_is_told_as_closing_before_it(
    fake, either_client, monkeypatch, x
):
    client = either_client(fake.target)
    check = Channels.check
    monkeypatch.setattr(Channels, "check", lambda self: (check(self), self.close()))
    with pytest.raises(RuntimeError, match="^the client is closed$"):
        client.sum(x)


@pytest.mark.parametrize("x", [np.ones(1), LARGE], ids=["unary", "stream"])
def test_a_cancelled_task_cancels_the_call(fake, x):
    async def cancel():
        async with await warpfold.aio.connect(fake.target) as client:
            fake.release.clear()
            task = asyncio.ensure_future(client.sum(x))
            await asyncio.get_running_loop().run_in_executor(None, fake.hung.wait)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.get_running_loop().run_in_executor(None, fake.cancelled.wait)
            fake.release.set()
            assert await client.sum([2.0]) == 2.0

    asyncio.run(cancel())


def test_many_tasks_share_one_client(fake):
    async def share():
        async with await warpfold.aio.connect(fake.target, stream_threshold_bytes=800) as client:
            calls = (client.sum(np.full(n, 2.0)) for n in range(1, 200))
            return await asyncio.gather(*calls)

    assert asyncio.run(share()) == [2.0 * n for n in range(1, 200)]


def run_python(source, target):
    """Runs `source` with `target` to its end, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-B", "-W", "ignore", "-c", source, target],
        env={"PYTHONPATH": f"{PACKAGE}:{':'.join(sys.path)}"},
        capture_output=True,
        text=True,
    )


FORK = """
import os, sys, numpy, warpfold
client = warpfold.connect(sys.argv[1])
client.sum(numpy.ones(1 << 20))
child = os.fork()
if child == 0:
    for use in (lambda: client.sum([1.0]), client.info, lambda: client.sum(numpy.ones(1 << 20))):
        try:
            use()
        except RuntimeError as error:
            print(error, flush=True)
    client.close()
    {exit}
_, status = os.waitpid(child, 0)
print("child", status, "parent", client.sum([1.0, 2.0]), flush=True)
"""


@forks
@pytest.mark.parametrize("exit", ["os._exit(0)", "sys.exit(0)"])
def test_a_forked_child_is_told_so_and_the_parent_goes_on(server, exit):
    done = run_python(FORK.format(exit=exit), server)
    *refusals, last = done.stdout.splitlines()
    assert last == "child 0 parent 3.0", done.stderr
    assert len(refusals) == 3
    for refusal in refusals:
        assert "did not survive the fork" in refusal


INTERRUPT = """
import os, signal, sys, threading, numpy, warpfold
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells may ignore it
client = warpfold.connect(sys.argv[1], chunk_bytes=1024)
started = threading.Event()
def interrupt():
    started.wait()
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
sent = []
def progress(done, total):
    sent.append(done)
    frame = sys._current_frames()[threading.main_thread().ident]
    if frame.f_code.co_name == "_taken_from":  # it waits
        started.set()
x = numpy.ones(16 << 20)
try:
    client.sum(x, progress=progress)
except KeyboardInterrupt:
    print("interrupted", client.sum([1.0, 2.0]), flush=True)
for thread in threading.enumerate():
    if thread is not threading.current_thread():
        thread.join()
print("all sent:", sent[-1] == x.nbytes, flush=True)
"""


def test_an_interrupt_ends_an_upload_and_the_client_goes_on(server):
    done = run_python(INTERRUPT, server)
    assert done.stdout == "interrupted 3.0\nall sent: False\n", done.stderr


@pytest.mark.parametrize("failures", [[], [HANG], [Failure(grpc.StatusCode.UNAVAILABLE)]])
def test_the_main_thread_takes_no_lock_of_an_upload(fake, monkeypatch, failures):
    """There an interrupt could leave it taken, and gRPC's own thread would wait for it for good."""
    threads = set()

    class Watched(threading.Condition):
        def __enter__(self):
            if sys._getframe(1).f_globals["__name__"] == "grpc._channel":
                threads.add(threading.get_ident())
            return super().__enter__()

    fake.failures = list(failures)
    with warpfold.connect(fake.target, retry=FAST_RETRY) as client:
        monkeypatch.setattr(threading, "Condition", Watched)
        with contextlib.suppress(warpfold.DeadlineExceededError):
            client.sum(LARGE, timeout=0.05 if HANG in failures else 20)
        took = set(threads)  # before the client ends, for which the main thread takes some
    assert took and threading.main_thread().ident not in took


def test_a_call_that_grpc_never_ends_ends_at_its_deadline(fake, monkeypatch):
    monkeypatch.setattr("warpfold._blocking_io._GRACE_S", 0.01)
    released = threading.Event()

    class Stuck:
        future = staticmethod(lambda *_, **__: released.wait())

    with warpfold.connect(fake.target) as client:
        client._flows._rpcs.channels.spread_at(0).reduce_stream = Stuck
        with pytest.raises(warpfold.DeadlineExceededError):
            client.sum(LARGE, timeout=0.01)
        released.set()
        assert client.sum([1.0, 2.0]) == 3.0


def test_errors_travel_between_processes():
    for kind in (warpfold.UnavailableError, warpfold.InvalidArgumentError, warpfold.WarpfoldError):
        error = kind("gone", code=grpc.StatusCode.UNAVAILABLE, attempts=3)
        copy = pickle.loads(pickle.dumps(error))
        assert (type(copy), str(copy), copy.code, copy.attempts) == (kind, "gone", error.code, 3)
