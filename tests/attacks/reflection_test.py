"""Streams of server reflection that stay open."""

from findings import Findings
from honest import beside
from new_options import reflection_streams_max
from raw_http2 import RawConnection, message

STREAMS = 300
STREAMS_MAX = 4
METHOD = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
LIST_SERVICES = message(b"\x3a\x00")  # ServerReflectionRequest.list_services, field 7
THREADS_BESIDE = 8  # gRPC's pollers and timers, which come and go


def test_reflection_streams_take_a_bounded_number_of_threads(attack):
    with attack(reflection_streams_max(STREAMS_MAX)) as server:
        findings = Findings(server)
        before = server.threads()
        with RawConnection(server.port) as client, beside(server) as honest:
            for _ in range(STREAMS):
                client.send(client.open(METHOD), LIST_SERVICES)
            while client.waiting_calls():  # until each was answered or refused
                assert client.read(), f"{client.waiting_calls()} streams get no answer"
            threads = server.threads()
        bound = before + STREAMS_MAX + THREADS_BESIDE
        findings.expect(
            threads <= 1.1 * bound, f"{threads} threads, {before} before; the bound is {bound}"
        )
        findings.expect_honest(honest)
        findings.expect_recovered()
        findings.report()
