"""Arrays whose elements are elsewhere: what follows from a shape and a dtype, and how a request
names what the server can reach by itself."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["Named", "Shaped"]


class Shaped:
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize


class Named(Shaped):
    reshapes = False  # a request may give it another shape of as many elements

    def name_in(self, source: Any) -> None:
        """Says in a Source of a request where it is. RuntimeError when it was ended."""
        raise NotImplementedError
