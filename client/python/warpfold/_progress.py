"""What `progress` is told of a tensor, however many streams it travels by."""

from __future__ import annotations

import threading
from typing import Callable

__all__ = ["Meter", "Progress"]

Progress = Callable[[int, int], object]  # (bytes_done, bytes_total)


class Meter:
    """Adds up the bytes of a tensor's streams. Any number of threads may tell it at a time."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._total = total
        self._progress = progress
        self._done: list[int] = []  # by stream
        self._lock = threading.Lock()

    def stream(self) -> Callable[[int], None]:
        """For one stream: takes its bytes done, which start over when it is tried again."""
        if self._progress is None:
            return _nobody_listens
        with self._lock:
            place = len(self._done)
            self._done.append(0)
        return lambda done: self._add(place, done)

    def _add(self, place: int, done: int) -> None:
        assert self._progress is not None
        with self._lock:  # calls of the callback neither overlap nor come out of order
            self._done[place] = done
            self._progress(sum(self._done), self._total)


def _nobody_listens(_: int) -> None:
    pass
