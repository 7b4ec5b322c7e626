"""What a collector of OpenTelemetry gets of a real server's requests, by the bytes that come.

Environment: WARPFOLD_SERVER, a build with WARPFOLD_OPENTELEMETRY. PYTHONPATH: client/python (the
contract's messages) and tests/client_python (the server's process).
"""

import re
import signal
import socket
import struct
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import grpc
from collector import GUARD_S, collecting
from opentelemetry.proto.trace.v1 import trace_pb2
from running_server import server_process
from warpfold import _contract

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"
SAMPLED = (("traceparent", f"00-{TRACE_ID}-{PARENT}-01"),)
UNSAMPLED = (("traceparent", f"00-{TRACE_ID}-{PARENT}-00"),)
STAGES = ["receive", "queue", "host_to_device", "kernel", "device_to_host", "reply"]
SERVICE = "warpfold.v1.ReductionService"
WAITING_MAX = 2048  # span_queue.h


def request(request_id=""):
    message = _contract.ReduceRequest(request_id=request_id, data=struct.pack("<4f", 1, 2, 3, 4))
    source = message.sources.add()
    source.tensor.dtype = _contract.DTYPES["float32"]
    source.tensor.shape.append(4)
    for op in ("sum", "max"):
        message.ops.add().op = _contract.OPS[op]
    return message


def attributes(owner):
    values = {}
    for attribute in owner.attributes:
        kind = attribute.value.WhichOneof("value")
        values[attribute.key] = getattr(attribute.value, kind)
    return values


def dropped(metrics_port, reason):
    url = f"http://127.0.0.1:{metrics_port}/metrics"
    with urllib.request.urlopen(url, timeout=GUARD_S) as page:
        text = page.read().decode()
    sample = rf'^warpfold_spans_dropped_total{{reason="{reason}"}} (\d+)'
    return int(re.search(sample, text, re.MULTILINE)[1])


class Served(SimpleNamespace):
    def reduce(self, message, metadata):
        """The answer, and the server's span."""
        answer, call = self.method.with_call(message, timeout=GUARD_S, metadata=metadata)
        traceparent = dict(call.trailing_metadata()).get("traceparent")
        return answer, traceparent and traceparent.split("-")[2]

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(GUARD_S)


class OtlpTest(unittest.TestCase):
    def serve(self, endpoint, *flags):
        process, port, metrics_port = self.enterContext(
            server_process(
                "--backend=cpu", "--log-level=error", f"--otlp-endpoint={endpoint}", *flags
            )
        )
        channel = self.enterContext(grpc.insecure_channel(f"127.0.0.1:{port}"))
        method = channel.unary_unary(
            f"/{SERVICE}/Reduce",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=_contract.ReduceResponse.FromString,
        )
        return Served(process=process, channel=channel, method=method, metrics_port=metrics_port)

    def test_a_request_is_a_span_and_one_for_each_stage(self):
        collector = self.enterContext(collecting())
        callers = Path(self.enterContext(tempfile.TemporaryDirectory())) / "callers"
        callers.write_text("caller=anonymous scopes=reduce\n", encoding="utf-8")
        served = self.serve(collector.url, f"--callers-file={callers}")
        before = time.time_ns()
        answer, span_id = served.reduce(request("an id"), SAMPLED)
        after = time.time_ns()
        whole, *stages = collector.spans(1 + len(STAGES))
        self.assertEqual(TRACE_ID, whole.trace_id.hex())
        self.assertEqual(span_id, whole.span_id.hex())
        self.assertEqual(PARENT, whole.parent_span_id.hex())
        self.assertEqual(f"{SERVICE}/Reduce", whole.name)
        self.assertEqual(trace_pb2.Span.SPAN_KIND_SERVER, whole.kind)
        self.assertEqual(
            {
                "rpc.system": "grpc",
                "rpc.service": SERVICE,
                "rpc.method": "Reduce",
                "rpc.grpc.status_code": 0,
                "warpfold.request_id": "an id",
                "warpfold.caller": "anonymous",
                "warpfold.device": answer.device,
                "warpfold.ops": "sum,max",
                "warpfold.dtype": "f32",
                "warpfold.bytes": 16,
            },
            attributes(whole),
        )
        self.assertLessEqual(before, whole.start_time_unix_nano)
        self.assertLess(whole.start_time_unix_nano, whole.end_time_unix_nano)
        self.assertLessEqual(whole.end_time_unix_nano, after)
        self.assertGreaterEqual(
            whole.end_time_unix_nano - whole.start_time_unix_nano, answer.timing.total_ns
        )
        self.assertEqual(STAGES, [stage.name for stage in stages])
        start = whole.start_time_unix_nano
        for stage in stages:
            self.assertEqual(whole.trace_id, stage.trace_id)
            self.assertEqual(whole.span_id, stage.parent_span_id)
            self.assertEqual(start, stage.start_time_unix_nano)
            start = stage.end_time_unix_nano
        lengths = {s.name: s.end_time_unix_nano - s.start_time_unix_nano for s in stages}
        self.assertEqual(answer.timing.queue_ns, lengths["queue"])
        self.assertEqual(answer.timing.kernel_ns, lengths["kernel"])
        self.assertEqual(7, len({span.span_id for span in (whole, *stages)}))
        (resource,) = collector.requests[0].resource_spans
        self.assertEqual("warpfold-server", attributes(resource.resource)["service.name"])
        self.assertEqual("warpfold", resource.scope_spans[0].scope.name)

    def test_a_refusal_is_one_span_with_its_code(self):
        collector = self.enterContext(collecting())
        served = self.serve(collector.url)
        wrong = request()
        wrong.ClearField("ops")
        with self.assertRaises(grpc.RpcError):
            served.reduce(wrong, SAMPLED)
        served.reduce(request("next"), SAMPLED)
        refused, after, *_ = collector.spans(2 + len(STAGES))
        self.assertEqual(
            grpc.StatusCode.INVALID_ARGUMENT.value[0],
            attributes(refused)["rpc.grpc.status_code"],
        )
        self.assertEqual(trace_pb2.Status.STATUS_CODE_UNSET, refused.status.code)
        self.assertEqual("next", attributes(after)["warpfold.request_id"])

    def test_items_are_within_the_span_of_their_stream(self):
        collector = self.enterContext(collecting())
        served = self.serve(collector.url)
        many = served.channel.stream_stream(f"/{SERVICE}/ReduceMany")
        items = iter([request("0").SerializeToString(), request("1").SerializeToString()])
        self.assertEqual(2, len(list(many(items, timeout=GUARD_S, metadata=SAMPLED))))
        spans = collector.spans(2 * (1 + len(STAGES)) + 1)
        stream = spans[-1]
        self.assertEqual(f"{SERVICE}/ReduceMany", stream.name)
        self.assertEqual(PARENT, stream.parent_span_id.hex())
        found = [span for span in spans if span.name == "item"]
        self.assertEqual([stream.span_id] * 2, [item.parent_span_id for item in found])
        self.assertEqual(
            {"0", "1"}, {attributes(item)["warpfold.request_id"] for item in found}
        )

    def test_a_client_that_does_not_sample_has_no_spans(self):
        collector = self.enterContext(collecting())
        served = self.serve(collector.url)
        served.reduce(request("none"), ())
        _, span_id = served.reduce(request("unsampled"), UNSAMPLED)
        self.assertIsNotNone(span_id)
        served.reduce(request("sampled"), SAMPLED)
        self.assertEqual(0, served.end())  # all that it has is sent
        whole, *_ = collector.spans(1 + len(STAGES))
        self.assertEqual("sampled", attributes(whole)["warpfold.request_id"])
        self.assertEqual(0, collector.rest())

    def test_a_collector_that_does_not_answer_holds_up_no_request(self):
        collector = self.enterContext(collecting())
        served = self.serve(collector.url)
        collector.hold()
        served.reduce(request(), SAMPLED)
        self.assertTrue(collector.asked.wait(GUARD_S))
        # An export gets two seconds, in which more is answered than the queue has room for.
        message = request()
        calls = 0
        while dropped(served.metrics_port, "queue") == 0:
            futures = [
                served.method.future(message, timeout=GUARD_S, metadata=SAMPLED)
                for _ in range(256)
            ]
            calls += sum(len(future.result().results) == 2 for future in futures)
        self.assertGreater(calls, WAITING_MAX)
        self.assertEqual(0, served.end())

    def test_without_a_collector_requests_are_answered_and_their_spans_counted(self):
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))  # nobody listens
            served = self.serve(f"http://127.0.0.1:{closed.getsockname()[1]}")
            for _ in range(3):
                served.reduce(request(), SAMPLED)
            give_up_at = time.monotonic() + GUARD_S
            while dropped(served.metrics_port, "export") < 3:
                self.assertLess(time.monotonic(), give_up_at)
            self.assertEqual(0, served.end())


if __name__ == "__main__":
    unittest.main()
