"""All room for resident tensors taken once, for a day, by a client that leaves."""

import grpc
import numpy as np
import pytest
from attacked_server import MIB
from findings import Findings
from honest import SEED
from waiting import GUARD_S

import warpfold
from warpfold import _contract

FLAGS = ("--max-resident-tensors=64", "--max-resident-bytes=1MiB", "--resident-ttl-ms=1")
DAY_MS = 86_400_000
# How many, and of how many bytes each.
FILLS = {"by_number": (64, 0), "by_bytes": (1, MIB)}


def fill(server, count, size):
    asked = _contract.CreateTensorRequest(ttl_ms=DAY_MS)
    asked.tensor.dtype = _contract.DTYPES["uint8"]
    asked.tensor.shape.append(size)
    with grpc.insecure_channel(f"localhost:{server.port}") as channel:
        create = channel.unary_unary(_contract.CREATE_TENSOR_METHOD)
        for _ in range(count):
            create(asked.SerializeToString())


@pytest.mark.parametrize("kind", FILLS)
def test_tensors_that_nobody_uses_make_room(attack, kind):
    """However long the time to live that was asked for them."""
    x = np.random.default_rng(SEED).integers(0, 255, MIB, dtype=np.uint8)
    with attack(*FLAGS) as server:
        findings = Findings(server)
        fill(server, *FILLS[kind])
        with warpfold.connect(f"localhost:{server.port}", timeout=GUARD_S) as client:
            try:
                with client.put(x, ttl=DAY_MS / 1000) as tensor:
                    findings.expect(tensor.sum() == int(x.sum()), "a wrong sum")
            except warpfold.WarpfoldError as error:
                findings.expect(False, f"an honest upload fails: {error}")
        ended = server.sample('warpfold_resident_tensors_ended_total{reason="made_room"}')
        findings.expect(ended >= 1, f"{ended} tensors made room")
        findings.expect_recovered()
        findings.report()
