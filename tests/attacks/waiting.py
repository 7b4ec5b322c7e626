"""Waiting for what a test knows will happen; the guard only turns a hang into a failure."""

import threading
import time

GUARD_S = 20
_never = threading.Event()


def until(condition, what, guard_s=GUARD_S):
    """The first true value of `condition()`."""
    give_up_at = time.monotonic() + guard_s
    while not (value := condition()):
        assert time.monotonic() < give_up_at, f"waited in vain: {what}"
        _never.wait(0.02)
    return value
