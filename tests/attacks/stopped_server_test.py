"""SIGSTOP and SIGCONT: what a busy host, a debugger or a snapshot of the machine does."""

import signal

import grpc
import pytest
from findings import Findings
from honest import request
from new_options import exit_when_unready_ms

from warpfold._contract import REDUCE_METHOD

STOPPED_S = 5


def stop_and_continue(server):
    """Stopped for as long as a call needs to run into its deadline."""
    server.stop()
    with grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        asked = request((0,), "float32", data=b"").SerializeToString()
        with pytest.raises(grpc.RpcError) as caught:
            channel.unary_unary(REDUCE_METHOD)(asked, timeout=STOPPED_S)
    server.signal(signal.SIGCONT)
    assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED


def expect_unharmed(server, findings):
    findings.expect_recovered()
    findings.expect(server.process.poll() is None, "the server ended")
    findings.expect(server.sample("warpfold_ready") == 1, "the server says that it is not ready")
    findings.report()


def test_a_stopped_server_goes_on(attack):
    with attack() as server:
        findings = Findings(server)
        stop_and_continue(server)
        expect_unharmed(server, findings)


def test_a_stopped_server_does_not_end_itself(attack):
    with attack(exit_when_unready_ms(1000)) as server:
        findings = Findings(server)
        stop_and_continue(server)
        expect_unharmed(server, findings)
