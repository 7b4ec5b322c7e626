"""Requests to the metrics page that never come whole."""

import contextlib
import socket

from findings import Findings
from honest import beside
from raw_http2 import SENT

CONNECTIONS = 200
HALF = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX-Half: "


def test_half_requests_do_not_block_the_page(attack):
    with attack() as server, contextlib.ExitStack() as stack:
        findings = Findings(server)
        with beside(server) as honest:
            for _ in range(CONNECTIONS):
                connection = socket.create_connection(("127.0.0.1", server.metrics_port))
                stack.enter_context(connection).sendall(HALF)
                SENT.add(connections=1, size=len(HALF))
            try:
                findings.expect("warpfold_ready 1" in server.page(), "the page lacks its series")
            except AssertionError as error:
                findings.expect(False, str(error))
        findings.expect_honest(honest)
        findings.expect_memory(requests=CONNECTIONS * (64 << 10))
        stack.close()
        findings.expect_recovered()
        findings.report()
