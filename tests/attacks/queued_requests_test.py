"""Requests of a few bytes that are work for seconds: they fill the queue of the workers."""

import numpy as np
import pytest
from attacked_server import MIB
from findings import Findings
from honest import SEED, Honest
from raw_http2 import OK, RESOURCE_EXHAUSTED, RawConnection, message
from waiting import until

import warpfold
from warpfold import _contract

IN_FLIGHT = 64
ONE_WORKER = "--workers-per-device=1"
FLAGS = (ONE_WORKER, f"--max-requests-in-flight={IN_FLIGHT}")
TENSOR_BYTES = 256 * MIB
OPS_MAX = 16  # of a request
STATES = 32_000  # 64 KiB beside them are their tags and lengths
MERGES = 100
# What a merge may hold on its worker: its bytes, 40 a byte of them that is no value, 2 KiB a state.
PARSED_BYTES_PER_BYTE = 41
PARSED_BYTES_PER_STATE = 2048


@pytest.fixture
def tensor():
    """The one that they are of."""
    return np.random.default_rng(SEED).standard_normal(TENSOR_BYTES // 4, dtype=np.float32)


def begin(client, tensor_id, count):
    """So many reductions of as many ops as one may have."""
    ops = [{"op": op} for op in list(_contract.OPS.values())[:OPS_MAX]]
    asked = _contract.ReduceRequest(sources=[{"tensor_id": tensor_id}], ops=ops)
    for _ in range(count):
        client.send(client.open(_contract.REDUCE_METHOD), message(asked.SerializeToString()), True)


def merge_of_empty_states():
    """States of nothing, all at the end."""
    state = _contract.PartialState(version=5)
    state.tensor.dtype = _contract.DTYPES["int64"]
    state.tensor.shape.append(1024)
    state.ops.add(op=_contract.OPS["max"])
    state.axes.append(0)
    state.part_offset.append(1024)
    state.part_shape.append(0)
    state.components.add(kind="MAX_VALUES", revision=1)
    asked = _contract.MergeRequest(return_state=True)
    asked.states.extend([state.SerializeToString()] * STATES)
    return asked.SerializeToString()


def test_requests_that_need_no_worker_get_in_beside_those_that_wait_for_one(attack, tensor):
    with attack(*FLAGS) as server, warpfold.connect(f"localhost:{server.port}") as owner:
        resident = owner.put(tensor)
        findings = Findings(server)
        with RawConnection(server.port) as client:
            begin(client, resident.id, 2 * IN_FLIGHT)
            until(lambda: client.read(0.1) and RESOURCE_EXHAUSTED in client.codes(), "a refusal")
            honest = Honest(server)
            for _ in range(3):
                honest.round(honest.reduce, honest.reduce_many)
            honest.close()
            findings.expect_honest(honest)
            # Where the honest calls take long, some of the reductions are done by now.
            findings.expect(
                client.codes() <= {OK, RESOURCE_EXHAUSTED}, f"calls ended by {client.codes()}"
            )
            refused = [s for s in client.streams.values() if s.code == RESOURCE_EXHAUSTED]
            texts = {stream.text for stream in refused}
            findings.expect(
                all("--max-requests-in-flight" in text for text in texts), f"refused by {texts}"
            )
        findings.expect_recovered()
        findings.report()


def test_merges_that_wait_for_a_worker_hold_their_messages_and_no_more(attack, tensor):
    with attack(ONE_WORKER) as server, warpfold.connect(f"localhost:{server.port}") as owner:
        resident = owner.put(tensor)
        findings = Findings(server)
        asked = merge_of_empty_states()
        with RawConnection(server.port) as client:
            begin(client, resident.id, IN_FLIGHT)
            for _ in range(MERGES):
                client.send(client.open(_contract.MERGE_METHOD), message(asked), end=True)
            client.ping()
        findings.expect_recovered()
        findings.expect_memory(
            messages=MERGES * len(asked),
            on_the_worker=PARSED_BYTES_PER_BYTE * len(asked) + PARSED_BYTES_PER_STATE * STATES,
        )
        findings.report()
