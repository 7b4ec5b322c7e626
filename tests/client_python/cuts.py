"""Arrays that are cut into parts and stripes, and how their results are compared."""

import numpy as np
from conftest import SEED

SUMS = ["mean", "std", "sum", "l2_norm", "prod", "nan_count"]
INDICES = ["min", "argmin", "argmax", "count_nonzero", "ptp", "max_abs"]
# (shape, axis, ops)
CUTS = [
    ((70_000,), None, SUMS),
    ((70_000,), None, INDICES),
    ((300, 50), None, SUMS),
    ((300, 50), 0, SUMS),
    ((300, 50), 0, INDICES),
    ((1, 300, 1, 50), (0, 1), SUMS),
    ((40, 3, 50), (0, 2), SUMS),
    ((40, 6, 5, 7), (0, 1), SUMS + INDICES),
    ((3, 9000), 1, SUMS),
    ((2, 80, 30), 1, SUMS),
]


def floats(shape, dtype=np.float32):
    """Values whose sum in floats depends on the order of additions."""
    rng = np.random.default_rng(SEED)
    places = 15 if np.dtype(dtype).itemsize > 1 else 4  # float8_e4m3fn ends at 448
    x = rng.standard_normal(shape) * 2.0 ** rng.integers(-places, places, shape)
    return x.astype(dtype)


def assert_same_bits(got, expected):
    assert list(got) == list(expected)
    for op in expected:
        assert got[op].dtype == expected[op].dtype
        assert np.asarray(got[op]).tobytes() == np.asarray(expected[op]).tobytes(), op
        assert np.shape(got[op]) == np.shape(expected[op])


def axes_of(axis):
    return axis if axis is None or isinstance(axis, tuple) else (axis,)
