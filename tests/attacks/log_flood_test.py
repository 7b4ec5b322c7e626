"""Requests that make the server write: malformed ones, refused ones, and names that forge lines."""

import time
import unicodedata

import pytest
from findings import Findings
from honest import beside, request
from new_options import log_malformed_per_s
from raw_http2 import INVALID_ARGUMENT, RawConnection

from warpfold._contract import MERGE_METHOD, REDUCE_METHOD

CALLS = 2000
PER_S = 2
LINE_BYTES_MAX = 1024
NOT_A_MESSAGE = b"\xff" * 64
FLAGS = ("--access-log-fast-per-s=0", log_malformed_per_s(PER_S))
METHODS = [
    REDUCE_METHOD,
    MERGE_METHOD,
    "/inference.GRPCInferenceService/ModelInfer",
    "/inference.GRPCInferenceService/ServerLive",
    "/warpfold.v1.ReductionService/GetServerInfo",
    "/warpfold.v1.TensorService/CreateTensor",
]


@pytest.mark.parametrize("method", METHODS)
def test_malformed_requests_write_a_bounded_log(attack, method):
    """As many lines as the rates allow in the time it took, and a second's burst more."""
    with attack(*FLAGS, log_level="info") as server, RawConnection(server.port) as client:
        findings = Findings(server)
        before, began = len(server.log()), time.monotonic()
        with beside(server) as honest:
            codes = {client.call(method, NOT_A_MESSAGE)[0] for _ in range(CALLS)}
        written = server.log()[before:]
        lines = written.splitlines()
        # Malformed messages have no other line: --access-log-failed-per-s is 1000. gRPC's and
        # Protobuf's own lines come at 10 a second.
        allowed = (time.monotonic() - began + 1) * (PER_S + 10)
        findings.expect(codes == {INVALID_ARGUMENT}, f"codes {codes}")
        findings.expect(
            len(lines) <= 1.1 * allowed,
            f"{CALLS} calls wrote {len(lines)} lines of {len(written)} bytes; the rates allow "
            f"{allowed:.0f}",
        )
        findings.expect(max(map(len, lines), default=0) <= LINE_BYTES_MAX, "a line is too long")
        findings.expect_honest(honest)
        findings.expect_memory()
        findings.expect_recovered()
        findings.report()


def test_names_cannot_forge_or_turn_lines(attack):
    """Control (Cc), bidirectional and other format (Cf) characters are escaped."""
    hostile = "a\nb\r\x1b[2K\x7f\x85\u202e\u2066\u200f\u2028\ufeffz"
    with attack("--access-log-failed-per-s=1000", log_level="info") as server:
        findings = Findings(server)
        asked = request((-1,), "float32", data=b"", name=hostile)
        with RawConnection(server.port) as client:
            code, _ = client.call(REDUCE_METHOD, asked.SerializeToString())
        findings.expect(code == INVALID_ARGUMENT, f"code {code}")
        line = server.await_log_line(b"InvalidArgument")
        raw = {c for c in line.decode() if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")}
        findings.expect(not raw, f"written as they came: {sorted(map(hex, map(ord, raw)))}")
        findings.report()
