"""Three replicas of which one is stopped: it accepts connections and says nothing."""

import asyncio
import contextlib

import numpy as np
import pytest
from awaited import Awaited
from findings import Findings

import warpfold
import warpfold.aio

CALLS = 20
TIMEOUT_S = 1


@contextlib.contextmanager
def asyncio_client(target):
    with contextlib.closing(asyncio.new_event_loop()) as loop:
        connected = warpfold.aio.connect(target, timeout=TIMEOUT_S)
        client = Awaited(loop, loop.run_until_complete(connected))
        yield client
        client.close()


def blocking_client(target):
    return warpfold.connect(target, timeout=TIMEOUT_S)


@pytest.mark.parametrize("connect", [blocking_client, asyncio_client])
def test_a_hung_replica_costs_less_than_a_call_s_timeout(attack, connect):
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(attack()) for _ in range(3)]
        for server in servers:
            Findings(server)  # it serves
        before = servers[0].reductions()  # the same of each
        target = "ipv4:" + ",".join(f"127.0.0.1:{server.port}" for server in servers)
        client = stack.enter_context(connect(target))
        x = np.arange(1024, dtype=np.float32)
        for _ in servers:
            assert client.sum(x) == 523776
        chosen = max(servers, key=lambda server: server.reductions() - before)
        chosen.stop()
        failures = []
        for _ in range(CALLS):
            try:
                assert client.sum(x) == 523776
            except warpfold.WarpfoldError as error:
                failures.append(repr(error))
        assert not failures, f"{len(failures)} of {CALLS} calls failed, the first: {failures[0]}"
