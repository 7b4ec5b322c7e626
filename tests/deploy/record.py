#!/usr/bin/env python3
"""Records what Prometheus would scrape of a server under load, for the pictures of dashboards.md.

Serves, sends all kinds of requests in phases, and reads the server's page every second. Writes each
page with its time, and with the labels and the series `up` that Prometheus adds, as OpenMetrics.
Needs nothing but Python and the two programs, so that it runs out of the bundle on a GPU host too;
render.py draws what it wrote, anywhere.

Usage: record.py SERVER CLI cpu|cuda OUTPUT.xz
"""

import contextlib
import lzma
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from load import Load
from processes import Server

STREAM_BYTES = 4 << 20
INTERVAL_SECONDS = 1
ADDED = 'instance="server:9464",job="warpfold"'
SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$")
LARGE_BYTES = {"cpu": 256 << 20, "cuda": 4 << 30}
STATISTICS = "sum,mean,var,min,max,nan_count,inf_count,l1_norm,l2_norm"


def phases(large: int):
    """(seconds, what `warpfold bench` does for so long) in turn, with `large` bytes at most.

    A phase is one aspect of the dashboards: batches, pipelining, copies, the device's memory, load
    that is refused.
    """
    return [
        (10, ["--method=unary", "--size=4KiB", "--clients=24"]),
        (8, ["--method=many", "--size=16KiB", "--dtype=i32", "--op=min,max", "--window=8"]),
        (12, ["--method=stream", f"--size={large >> 4}", "--dtype=bf16", "--clients=4"]),
        (8, ["--method=striped", f"--size={large >> 2}", "--op=max"]),
        (12, ["--method=resident", f"--size={large}", "--clients=3"]),
        (12, ["--method=resident", f"--size={large}", "--dtype=f16", f"--op={STATISTICS}"]),
        (8, ["--method=shared", f"--size={large >> 4}", "--clients=2"]),
        (8, ["--method=unary", "--size=1MiB", "--clients=48"]),
        (6, ["--method=unary", "--size=4KiB", "--dtype=f64", "--op=mean"]),
    ]


def scraped(page: str, now: float):
    """The page's samples as Prometheus stores them."""
    for line in page.splitlines():
        if match := SAMPLE.match(line):
            name, labels, value = match.groups()
            yield f"{name}{{{ADDED}{',' + labels if labels else ''}}} {value} {now:.3f}\n"
    yield f"up{{{ADDED}}} 1 {now:.3f}\n"


def recording(lines):
    """The samples as one page of OpenMetrics."""
    return "".join([*lines, "# EOF\n"])


class Recorder(threading.Thread):
    """Reads the page every second until closed."""

    def __init__(self, server: Server):
        super().__init__()
        self._server = server
        self._ended = threading.Event()
        self.lines = []
        self.start()

    def run(self):
        next_time = time.monotonic()
        while not self._ended.wait(max(0, next_time - time.monotonic())):
            next_time += INTERVAL_SECONDS
            self.lines.extend(scraped(self._server.page(), time.time()))

    def close(self):
        self._ended.set()
        self.join()


def bench(cli, port: int, seconds: int, flags):
    command = [cli, f"--server=127.0.0.1:{port}", "bench", "--warmup=0", f"--duration={seconds}"]
    print(*flags, flush=True)
    subprocess.run([*command, *flags], check=True, timeout=seconds + 120)


def start(binary, folder: Path, backend: str) -> Server:
    """A server for the phases: few requests in flight, so that the last ones meet the limit."""
    large = LARGE_BYTES[backend]
    return Server(
        binary,
        folder,
        f"--max-message-bytes={STREAM_BYTES}",
        f"--max-resident-bytes={4 * large}",
        f"--max-resident-tensor-bytes={large}",
        "--max-requests-in-flight=32",
        "--shared-memory-prefix=/warpfold-",
        backend=backend,
    )


def load_in_phases(cli, server: Server, folder: Path, backend: str):
    """Runs the phases, and good and bad requests of all kinds beside them."""
    with contextlib.closing(Load(cli, server.port, folder, STREAM_BYTES, 1)) as load:
        for seconds, flags in phases(LARGE_BYTES[backend]):
            bench(cli, server.port, seconds, flags)
    if load.unexpected:
        sys.exit(f"unexpected answer: {load.unexpected[0]}")


def main():
    binary, cli, backend, output = sys.argv[1:]
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = start(binary, folder, backend)
        stack.callback(server.close)
        recorder = stack.enter_context(contextlib.closing(Recorder(server)))
        load_in_phases(cli, server, folder, backend)
    Path(output).write_bytes(lzma.compress(recording(recorder.lines).encode()))
    print(f"record: {output}, {len(recorder.lines)} samples")


if __name__ == "__main__":
    main()
