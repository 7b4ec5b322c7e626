"""A real server under attack, and what can be seen of it from outside.

Memory and threads come from /proc, gauges from the metrics page.
"""

import contextlib
import os
import re
import signal
import subprocess
import tempfile
import urllib.request
from collections import Counter
from pathlib import Path

from running_server import server_process
from waiting import GUARD_S, until

MIB = 1 << 20
# An attacker would have the more connections.
STREAMS_MAX = "--max-streams-per-connection"
# What has to be empty again when an attack is over.
GAUGES = ("warpfold_requests_in_flight", "warpfold_bytes_in_flight", "warpfold_queue_depth")


def without_unknown_options(flags):
    """Those of the flags that the server has, by its own words."""
    command = [os.environ["WARPFOLD_SERVER"], "--help"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    known = set(re.findall(r"^ +(--[a-z-]+)", text, re.MULTILINE))
    return [flag for flag in flags if flag.partition("=")[0] in known]


class AttackedServer:
    def __init__(self, process, port, metrics_port, log):
        self.process = process
        self.port = port
        self.metrics_port = metrics_port
        # What its clients need for TLS, as grpc.ssl_channel_credentials takes it: the authority's
        # certificate, and their own key and certificate.
        self.pems = ()
        self._log = log

    def log(self):
        """All it wrote to stderr."""
        return Path(self._log.name).read_bytes()

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self):
        """Returns once none of its threads runs."""
        self.signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED)

    def exit_code(self, guard_s=GUARD_S):
        """Of the process, which has to end; AssertionError if it does not."""
        return until(lambda: self.process.poll() is not None, "the server's end", guard_s) and (
            self.process.returncode
        )

    def _status(self, field):
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"^{field}:\s+(\d+)", text, re.MULTILINE)[1])

    def rss(self):
        return self._status("VmRSS") << 10

    def peak_rss(self):
        """The most since `forget_peak`: the kernel's count, so that no moment is missed."""
        return self._status("VmHWM") << 10

    def forget_peak(self):
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    def grpc_version(self):
        """Of gRPC the library that it has loaded, such as "1.51"."""
        maps = Path(f"/proc/{self.process.pid}/maps").read_text()
        return re.search(r"/libgrpc\+\+\.so\.(\d+\.\d+)", maps)[1]

    def grpc_is_newer_than_1_51(self):
        return int(self.grpc_version().partition(".")[2]) > 51

    def call_bytes(self):
        """What a call holds of gRPC and the server while it waits. The server counts 16 KiB."""
        return (28 if self.grpc_is_newer_than_1_51() else 16) << 10

    def threads(self):
        return self._status("Threads")

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def cpu_s(self):
        """User and system time."""
        text = Path(f"/proc/{self.process.pid}/stat").read_text()
        fields = text.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def page(self):
        url = f"http://127.0.0.1:{self.metrics_port}/metrics"
        try:
            with urllib.request.urlopen(url, timeout=GUARD_S) as answer:
                return answer.read().decode()
        except OSError as error:
            raise AssertionError(f"the metrics page does not answer: {error}") from error

    def sample(self, series):
        """The value of a series, written as on the page, such as 'warpfold_ready'."""
        match = re.search(rf"^{re.escape(series)} (\S+)$", self.page(), re.MULTILINE)
        return float(match[1]) if match else 0.0

    def gauges(self):
        page = self.page()
        return {g: float(re.search(rf"^{g} (\S+)$", page, re.MULTILINE)[1]) for g in GAUGES}

    def reductions(self):
        """How many tensors it has answered."""
        return sum(self.requests_by_code().values())

    def requests_by_code(self):
        pattern = r'^warpfold_requests_total{.*\bcode="(\w+)".*} (\S+)$'
        counts = Counter()
        for code, count in re.findall(pattern, self.page(), re.MULTILINE):
            counts[code] += float(count)
        return counts

    def await_log_line(self, part):
        """The first line with `part` in it."""

        def found():
            return [line for line in self.log().split(b"\n") if part in line]

        return until(found, f"{part} in the log")[0]

    def await_idle(self):
        """Until nothing is held for any request; AssertionError with the gauges if that stays."""
        with contextlib.suppress(AssertionError):
            until(lambda: not any(self.gauges().values()), "gauges at zero")
        held = {name: value for name, value in self.gauges().items() if value}
        assert not held, f"the gauges stay at {held}"


@contextlib.contextmanager
def attacked(*flags, log_level="warning", run_by=()):
    """An AttackedServer on the CPU backend; `run_by` becomes it, as prlimit does."""
    with contextlib.ExitStack() as stack:
        log = stack.enter_context(tempfile.NamedTemporaryFile())
        own = ["--backend=cpu", f"--log-level={log_level}"]
        if not any(flag.startswith(STREAMS_MAX) for flag in flags):
            own.append(f"{STREAMS_MAX}=1024")
        try:
            started = server_process(*own, *flags, run_by=run_by, stderr=log)
            process, *ports = stack.enter_context(started)
        except AssertionError as error:
            said = Path(log.name).read_text(errors="replace").strip()
            raise AssertionError(f"{error}: {said}") from error
        yield AttackedServer(process, *ports, log)
