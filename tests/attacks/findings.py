"""What an attack did to a server: every promise that did not hold, with its figure."""

import time

from attacked_server import MIB
from honest import Honest

# What a warm server may grow by without an attack: glibc's arenas, gRPC's threads and buffers. An
# honest client alone, over TLS for 20 s, came to 7 MiB.
WORKING_BYTES = 8 * MIB


class Findings:
    """Collects them, so that a failed attack says all that it did and not the first thing alone.

    Made when the server has served a few honest calls: what it holds then is `warm`.
    """

    def __init__(self, server):
        self._server = server
        self.found = []
        honest = Honest(server)
        for _ in range(5):
            honest.round()
        honest.close()
        assert not honest.failures, honest.verdict()
        server.forget_peak()
        self._warm = server.rss()
        self.figures = {"warm": self._warm}  # bytes and seconds, for measure.py

    def expect(self, holds, otherwise):
        if not holds:
            self.found.append(otherwise)

    def expect_memory(self, **held_bytes):
        """That RSS never was above what the server held warm and `held_bytes`, and 10 %."""
        bound = self._warm + WORKING_BYTES + sum(held_bytes.values())
        peak = self._server.peak_rss()
        self.figures |= {"peak": peak, "bound": bound}
        held_bytes = {"working": WORKING_BYTES, **held_bytes}
        parts = ", ".join(f"{name} {size / MIB:.0f}" for name, size in held_bytes.items())
        self.expect(
            peak <= 1.1 * bound,
            f"RSS came to {peak / MIB:.0f} MiB, the bound is {bound / MIB:.0f}: "
            f"warm {self._warm / MIB:.0f}, {parts}",
        )

    def expect_ends(self, connection, *codes):
        """That the server ends all calls of the connection, by one of these codes."""
        left = connection.await_ends()
        self.expect(not left, f"{left} of {len(connection.streams)} calls go on")
        self.expect(connection.codes() <= set(codes), f"calls ended by {connection.codes()}")

    def expect_no_fault(self):
        """That no request is counted as what WarpfoldErrors takes for the server's fault."""
        faults = {
            code: count
            for code, count in self._server.requests_by_code().items()
            if count and code in ("Internal", "Unknown", "Unavailable", "DeadlineExceeded")
        }
        self.expect(not faults, f"requests are counted as the server's faults: {faults}")

    def expect_honest(self, honest):
        self.expect(not honest.failures, honest.verdict())

    def expect_recovered(self):
        """Gauges at zero and an honest round without a failure, now that the attack is over."""
        self.figures["over_at"] = time.monotonic()
        try:
            self._server.await_idle()
        except AssertionError as error:
            self.found.append(str(error))
            return
        self.figures["idle_at"] = time.monotonic()
        honest = Honest(self._server)
        honest.round()
        honest.close()
        self.expect(not honest.failures, f"afterwards {honest.verdict()}")

    def report(self):
        assert not self.found, "; ".join(self.found)
