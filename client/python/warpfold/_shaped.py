"""What follows from a shape and a dtype, of arrays whose elements are elsewhere."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


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
