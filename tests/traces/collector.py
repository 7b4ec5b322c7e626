"""A collector of OpenTelemetry for tests: takes what OTLP sends over HTTP, and parses the bytes."""

import contextlib
import http.server
import queue
import threading

from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

GUARD_S = 60  # turns a hang into a failure


class Collector:
    """Spans come in the order in which they were sent; `hold` keeps the answers back."""

    def __init__(self):
        self.requests = []  # as they came
        self._spans = queue.Queue()
        self._answers = threading.Event()
        self._answers.set()
        self.asked = threading.Event()
        self.url = ""

    def hold(self):
        self._answers.clear()

    def answer(self):
        self._answers.set()

    def take(self, path, content_type, body):
        """The status of a POST."""
        self.asked.set()
        self._answers.wait(GUARD_S)
        if path != "/v1/traces" or content_type != "application/x-protobuf":
            return 400
        request = trace_service_pb2.ExportTraceServiceRequest.FromString(body)
        self.requests.append(request)
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                for span in scope.spans:
                    self._spans.put(span)
        return 200

    def spans(self, count):
        """The next `count`."""
        return [self._spans.get(timeout=GUARD_S) for _ in range(count)]

    def rest(self):
        """How many have come that spans() has not given."""
        return self._spans.qsize()


@contextlib.contextmanager
def collecting():
    collector = Collector()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status = collector.take(self.path, self.headers["Content-Type"], body)
            with contextlib.suppress(ConnectionError):
                self.send_response(status)
                self.send_header("Content-Type", "application/x-protobuf")
                self.send_header("Content-Length", "0")
                self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield collector
    finally:
        collector.answer()
        server.shutdown()
        thread.join()
        server.server_close()
