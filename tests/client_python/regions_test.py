"""What clients register with a server: whatever ends a call, a client or a process, none is left.

Nor are segments, or files of owners, but where a later client has to find them.
"""

import asyncio
import gc
import importlib
import queue
import threading
from concurrent import futures
from types import SimpleNamespace

import grpc
import numpy as np
import pytest
from conftest import FAST_RETRY, forks
from lifetime_test import run_python
from sharing import no_segment_is_left, regions, segments, sharing_fake, sharing_server, small_slots

import warpfold
import warpfold.aio
from warpfold import _contract
from warpfold._attempts import Deadline
from warpfold._blocking_io import BlockingIo, Latch, run
from warpfold._regions import Regions


@pytest.fixture
def cancelled_at(monkeypatch):
    """Cancels the sum of a client of `target` while `name` is called, and closes the client."""

    def cancel_at(name, target):
        begun, cancelled = threading.Event(), threading.Event()
        module, _, attribute = name.rpartition(".")
        work = getattr(importlib.import_module(module), attribute)

        def held(*arguments):
            begun.set()
            cancelled.wait()
            return work(*arguments)

        async def cancel():
            async with await warpfold.aio.connect(target) as client:
                task = asyncio.ensure_future(client.sum(np.ones(5000)))
                await asyncio.get_running_loop().run_in_executor(None, begun.wait)
                task.cancel()
                cancelled.set()
                with pytest.raises(asyncio.CancelledError):
                    await task

        with monkeypatch.context() as patch:
            patch.setattr(name, held)
            asyncio.run(cancel())

    return cancel_at


@pytest.mark.usefixtures("no_segment_is_left")
def test_a_call_that_is_cancelled_while_its_slot_is_made_leaves_none(sharing_fake, cancelled_at):
    cancelled_at("warpfold._shared.Segment", sharing_fake.target)
    assert sharing_fake.calls == []


@pytest.mark.usefixtures("no_segment_is_left")
def test_a_call_that_is_cancelled_while_the_dead_are_found_leaves_them_to_the_next_client(
    sharing_server, cancelled_at
):
    run_python(KILLED, sharing_server)
    cancelled_at("warpfold._regions.dead_owners", sharing_server)
    assert len(regions(sharing_server)) == 1
    with warpfold.connect(sharing_server) as client:
        client.sum(np.ones(5000))
        assert len(regions(sharing_server)) == 1  # its own
    assert regions(sharing_server) == []


class Gate:
    """A client's queue that says when somebody waits for it."""

    def __init__(self, waiting, queue):
        self.put = queue.put
        self._get = queue.get
        self._waiting = waiting

    def get(self, timeout):
        self._waiting()
        return self._get(timeout=timeout)


@pytest.fixture
def closed_at_its_registration(sharing_fake, monkeypatch):
    """What comes of a sum whose client is closed while the server registers its slot, which it has
    done when `waiting` returns."""

    def closed(waiting=lambda: None):
        client = warpfold.connect(sharing_fake.target, retry=FAST_RETRY)
        held = client._flows._regions
        gate = Gate(waiting, getattr(held, "_idled", queue.SimpleQueue()))
        monkeypatch.setattr(held, "_idled", gate, raising=False)
        sharing_fake.release.clear()
        with futures.ThreadPoolExecutor(1) as pool:
            outcome = pool.submit(client.sum, np.ones(5000))
            sharing_fake.hung.wait()
            client.close()
            sharing_fake.release.set()
            return outcome.exception()

    return closed


@pytest.mark.usefixtures("no_segment_is_left")
def test_closing_waits_for_what_is_being_registered(sharing_fake, closed_at_its_registration):
    waited = []

    def go_on():
        waited.append(list(sharing_fake.calls))
        sharing_fake.release.set()

    outcome = closed_at_its_registration(go_on)
    assert (type(outcome), str(outcome)) == (RuntimeError, "the client is closed")
    assert waited == [["RegisterSharedMemory"]]
    assert sharing_fake.calls == ["RegisterSharedMemory", "UnregisterMemory"]
    assert sharing_fake.regions == {}


@pytest.mark.usefixtures("no_segment_is_left")
def test_what_closing_cannot_wait_for_the_next_client_ends(
    sharing_server, sharing_fake, closed_at_its_registration, monkeypatch
):
    monkeypatch.setattr("warpfold._regions._END_TIMEOUT_S", 0.01)
    outcome = closed_at_its_registration()
    assert (type(outcome), str(outcome)) == (RuntimeError, "the client is closed")
    (left,) = segments()
    assert left.endswith(".lock")
    monkeypatch.undo()
    with warpfold.connect(sharing_server) as client:
        client.sum(np.ones(1 << 20))


class LostRequest(grpc.RpcError):
    def code(self):
        return grpc.StatusCode.DEADLINE_EXCEEDED


@pytest.mark.usefixtures("no_segment_is_left")
def test_a_region_whose_end_was_lost_is_ended_by_closing():
    on_server, lost = {"a", "b"}, [LostRequest()]

    def unregister(message, timeout):
        if lost:
            raise lost.pop()
        on_server.discard(_contract.UnregisterMemoryRequest.FromString(message).name)

    class Server:
        channels = SimpleNamespace(
            are_ours=lambda: True, first=SimpleNamespace(unregister_memory=unregister)
        )
        io = BlockingIo(Latch())

        async def plain(self, *_):
            return b"", None

    registered = Regions(Server())
    for name in ("a", "b"):
        message = _contract.RegisterSharedMemoryRequest(name=name)
        run(registered.register("register_shared_memory", message, Deadline(5)))
    registered.end(["a"], wait=True)
    assert on_server == {"a", "b"}
    registered.end_all()
    assert on_server == set()


def test_a_client_that_is_forgotten_leaves_no_region(sharing_fake):
    client = warpfold.connect(sharing_fake.target)
    client.sum(np.ones(5000))
    del client
    gc.collect()
    assert sharing_fake.unregistered.acquire(timeout=20)
    assert sharing_fake.regions == {}


ENDS = """
import os, sys, numpy, warpfold
client = warpfold.connect(sys.argv[1])
x = numpy.ones(1 << 20)
client.sum(x)
child = os.fork()
if child == 0:
    try:
        client.sum(x)
    except RuntimeError as error:
        print(error, flush=True)
    {exit}
_, status = os.waitpid(child, 0)
print("child", status, "parent", client.sum(x), flush=True)
"""


@forks
@pytest.mark.usefixtures("no_segment_is_left")
@pytest.mark.parametrize("exit", ["os._exit(0)", "sys.exit(0)"])
def test_a_process_that_ends_leaves_no_region_and_its_child_ends_none(sharing_server, exit):
    done = run_python(ENDS.format(exit=exit), sharing_server)
    refusal, last = done.stdout.splitlines()
    assert "did not survive the fork" in refusal
    assert last == "child 0 parent 1048576.0", done.stderr
    assert regions(sharing_server) == []


KILLED = """
import os, signal, sys, numpy, warpfold
client = warpfold.connect(sys.argv[1])
client.sum(numpy.ones(1 << 20))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.usefixtures("no_segment_is_left")
def test_what_a_killed_process_leaves_the_next_client_ends_and_nobody_elses(
    sharing_server, either_client
):
    living = warpfold.connect(sharing_server)
    living.sum(np.ones(5000))
    (own,) = regions(sharing_server)
    run_python(KILLED, sharing_server)
    assert len(regions(sharing_server)) == 2
    client = either_client(sharing_server)
    client.sum(np.ones(5000))
    left = {region.name for region in regions(sharing_server)}
    assert own.name in left and len(left) == 2
    client.close()
    assert living.sum(np.ones(5000)) == 5000
    living.close()
    assert regions(sharing_server) == []
