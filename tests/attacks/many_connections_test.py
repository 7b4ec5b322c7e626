"""Two hundred connections that each bring as many calls as one may.

Calls have their turns by connection, so that an honest one that comes last does not wait behind
all of them; and the last places are for connections that have few.
"""

import contextlib

import pytest
from attacked_server import MIB, STREAMS_MAX
from findings import Findings
from honest import REDUCE_MANY_METHOD, beside
from raw_http2 import RawConnection, message

from warpfold import _contract

CONNECTIONS = 200
CALLS = 128  # the server's own limit a connection
FLAGS = (f"{STREAMS_MAX}={CALLS}", "--queue-timeout-ms=1500")
IN_FLIGHT_BYTES = 1024 * MIB  # the server's own limit
HALF_MESSAGE = message(b"\0", announced=4096)


def begin(client, method=_contract.REDUCE_METHOD, part=HALF_MESSAGE, calls=CALLS):
    for _ in range(calls):
        client.send(client.open(method), part)


# By name: the method, and what each call brings of its request.
ATTACKS = {
    "half_messages": (_contract.REDUCE_METHOD, HALF_MESSAGE),
    "streams_without_an_item": (REDUCE_MANY_METHOD, b""),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_an_honest_connection_does_not_wait_behind_all_others(attack, name):
    with attack(*FLAGS) as server:
        findings = Findings(server)
        with contextlib.ExitStack() as stack:
            clients = [
                stack.enter_context(RawConnection(server.port)) for _ in range(CONNECTIONS)
            ]
            with beside(server) as honest:
                for client in clients:
                    begin(client, *ATTACKS[name])
                for client in clients:
                    client.ping()
        findings.expect_honest(honest)
        findings.expect_memory(calls=IN_FLIGHT_BYTES)
        findings.expect_no_fault()
        findings.expect_recovered()
        findings.report()
