"""Arrays that go through shared memory: when, with which bits, and what else becomes of them.

The real server allows it here; the fake one reads segments, too, and refuses as it is told.
"""

import asyncio
import threading

import grpc
import numpy as np
import pytest
from conftest import FAST_RETRY, SEED
from fake_server import Failure
from sharing import (
    PREFIX,
    SLOT,
    no_segment_is_left,
    regions,
    sharing_fake,
    sharing_server,
    small_slots,
)

import warpfold

CODE = grpc.StatusCode


def numbers(*shape):
    return np.random.default_rng(SEED).standard_normal(shape)


def waited_for(fake):
    """The calls but the ends of regions: a client that has lost one ends it in the background."""
    return [call for call in fake.calls if call != "UnregisterMemory"]


@pytest.mark.usefixtures("no_segment_is_left")
@pytest.mark.parametrize(
    "shape, axis",
    [
        ((200,), None),
        ((SLOT // 8,), None),
        ((SLOT // 8 + 1,), None),
        ((100_000,), None),
        ((3000, 40), 0),
        ((300, 400), 1),
        ((30, 40, 50), (0, 2)),
        ((3, 20_000), 1),  # rows that are larger than a slot: a stream
    ],
)
def test_the_bits_are_those_of_bytes_that_were_sent(
    sharing_server, client, either_client, shape, axis
):
    x = numbers(*shape)
    sharing = either_client(sharing_server)
    told = []
    for ops in (["sum", "std", "argmax"], ["min"]):
        answer = sharing.reduce(x, ops, axis, progress=lambda done, total: told.append(done))
        sent = client.reduce(x, ops, axis)
        assert told[-1] == x.nbytes and sorted(told) == told
        told.clear()
        for op in ops:
            assert answer[op].tobytes() == sent[op].tobytes()
    registered = regions(sharing_server)
    assert len(registered) == (0 if shape[0] == 3 else 1 if x.nbytes <= SLOT else 2)
    sharing.close()
    assert regions(sharing_server) == []


def test_a_slot_is_registered_once_and_holds_nothing_of_the_last_array(sharing_fake, either_client):
    client = either_client(sharing_fake.target)
    for length in (5000, 200, 4999, 126):
        assert client.sum(np.arange(float(length))) == length * (length - 1) / 2
    assert sharing_fake.calls == ["RegisterSharedMemory"] + ["Reduce"] * 4
    client.close()
    assert sharing_fake.calls[-1] == "UnregisterMemory"
    assert sharing_fake.regions == {}


def test_small_arrays_and_resident_ones_do_not_share(sharing_fake, either_client):
    client = either_client(sharing_fake.target)
    client.sum(np.ones(124))
    client.put(np.ones(5000))
    assert sharing_fake.calls == ["Reduce", "CreateTensor", "WriteTensor"]


def test_nothing_is_shared_unless_both_sides_allow_it(fake, either_client):
    either_client(fake.target).sum(np.ones(5000))
    fake.info.shared_memory_prefix = PREFIX
    either_client(fake.target, shared_memory_mode=None).sum(np.ones(5000))
    assert fake.calls == ["Reduce", "Reduce"]


@pytest.mark.parametrize("mode", [0o600, 0o666])
def test_the_segment_has_the_mode_that_was_asked_for(sharing_fake, either_client, mode):
    either_client(sharing_fake.target, shared_memory_mode=mode).sum(np.ones(5000))
    assert sharing_fake.modes == [mode]


@pytest.mark.usefixtures("no_segment_is_left")
@pytest.mark.parametrize(
    "code", [CODE.NOT_FOUND, CODE.PERMISSION_DENIED, CODE.UNIMPLEMENTED, CODE.RESOURCE_EXHAUSTED]
)
def test_a_server_that_refuses_is_asked_once(sharing_fake, either_client, code, caplog):
    caplog.set_level("INFO", "warpfold")
    client = either_client(sharing_fake.target)
    sharing_fake.failures = [Failure(code, "no such thing", pushback_ms=200_000)]
    for _ in range(3):
        assert client.sum(np.ones(5000)) == 5000
    assert waited_for(sharing_fake) == ["RegisterSharedMemory"] + ["Reduce"] * 3
    assert "arrays go without shared memory: no such thing" in caplog.text


def test_a_refusal_that_passes_is_not_remembered(sharing_fake, either_client):
    client = either_client(sharing_fake.target)
    sharing_fake.failures = [Failure(CODE.UNAVAILABLE)]
    for _ in range(2):
        assert client.sum(np.ones(5000)) == 5000
    assert waited_for(sharing_fake) == ["RegisterSharedMemory", "Reduce"] * 2


@pytest.mark.parametrize("prefix", ["/no/such/folder-", "/../../tmp/"])
def test_a_name_that_is_none_is_not_made(sharing_fake, either_client, prefix):
    sharing_fake.info.shared_memory_prefix = prefix
    assert either_client(sharing_fake.target).sum(np.ones(5000)) == 5000
    assert sharing_fake.calls == ["Reduce"]


@pytest.mark.usefixtures("no_segment_is_left")
def test_a_host_without_room_for_segments_sends(sharing_fake, either_client, monkeypatch):
    monkeypatch.setattr("warpfold._shared._SLOT_BYTES", 1 << 60)
    assert either_client(sharing_fake.target).sum(np.ones(5000)) == 5000
    assert sharing_fake.calls == ["Reduce"]


def test_a_server_that_has_lost_the_region_gets_the_bytes_and_then_a_new_one(
    sharing_fake, either_client
):
    client = either_client(sharing_fake.target)
    x, told = np.ones(5000), []
    client.sum(x)
    sharing_fake.regions.clear()
    assert client.sum(x, progress=lambda done, total: told.append(done)) == 5000
    assert told == [x.nbytes]
    sharing_fake.calls.clear()
    assert client.sum(x) == 5000
    assert waited_for(sharing_fake) == ["RegisterSharedMemory", "Reduce"]


def test_a_server_that_loses_the_regions_of_pieces_gets_the_bytes(sharing_fake, either_client):
    sharing_fake.lose_regions = True
    client = either_client(sharing_fake.target, stream_threshold_bytes=SLOT)
    assert client.sum(np.ones(50_000)) == 50_000
    assert "ReduceStream" in sharing_fake.calls


def test_a_server_that_never_finds_what_it_took_is_asked_once(sharing_fake, either_client):
    """Such as two servers behind one name."""
    sharing_fake.lose_regions = True
    client = either_client(sharing_fake.target)
    for _ in range(3):
        assert client.sum(np.ones(5000)) == 5000
    assert sharing_fake.calls.count("RegisterSharedMemory") == 1


def test_other_errors_are_the_callers_and_the_slot_is_used_again(sharing_fake, either_client):
    client = either_client(sharing_fake.target)
    client.sum(np.ones(5000))
    sharing_fake.failures = [Failure(CODE.INTERNAL)]
    with pytest.raises(warpfold.InternalError, match="planned"):
        client.sum(np.ones(5000))
    with pytest.raises(ZeroDivisionError):
        client.sum(np.ones(5000), progress=lambda done, total: 1 / 0)
    assert client.sum(np.ones(5000)) == 5000
    assert sharing_fake.calls.count("RegisterSharedMemory") == 1


def test_threads_have_slots_of_their_own(sharing_server, monkeypatch):
    monkeypatch.setattr("warpfold._shared._SLOTS_MAX", 3)
    failures = []

    def use(client, value):
        for length in (2000, 20_000, 3000):
            if client.sum(np.full(length, value)) != length * value:
                failures.append((length, value))

    with warpfold.connect(sharing_server) as client:
        threads = [threading.Thread(target=use, args=(client, float(n))) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert 1 <= len(regions(sharing_server)) <= 3
    assert regions(sharing_server) == []


def test_a_cancelled_call_leaves_its_slot_to_others(sharing_fake):
    async def cancel():
        async with await warpfold.aio.connect(sharing_fake.target, retry=FAST_RETRY) as client:
            await client.sum(np.ones(5000))
            sharing_fake.release.clear()
            task = asyncio.ensure_future(client.sum(np.ones(5000)))
            await asyncio.get_running_loop().run_in_executor(None, sharing_fake.hung.wait)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            sharing_fake.release.set()
            assert await client.sum(np.full(5000, 2.0)) == 10_000

    asyncio.run(cancel())
    assert sharing_fake.calls.count("RegisterSharedMemory") == 1
