"""The shim answers what NumPy does, and the script finds out what is no checkout."""

import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest

RUN = Path(__file__).with_name("run.sh")


@pytest.fixture(scope="module")
def shim():
    import shim

    yield shim
    shim._stack.close()


@pytest.mark.parametrize("correction", [0.0, 1, 0.5, 2.75, 6, 7.5])
@pytest.mark.parametrize("axis", [None, 0, (0, 1)])
def test_a_correction_of_any_size_is_numpys(shim, axis, correction):
    x = np.array([[1.0, 5.0, 2.0], [7.0, 7.0, 1.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of infinity and NaN
        expected = [np.var(x, axis, ddof=correction), np.std(x, axis, ddof=correction)]
        got = [f(x, axis=axis, correction=correction) for f in (shim.var, shim.std)]
    np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", [None, np.int8, np.int16, np.int32, np.int64])
def test_a_dtype_of_any_size_is_numpys(shim, dtype):
    x = np.array([[3, 2], [5, 1]], np.int8)
    for name in ("sum", "prod"):
        got = getattr(shim, name)(x, axis=1, dtype=dtype, keepdims=True)
        expected = getattr(np, name)(x, axis=1, dtype=dtype, keepdims=True)
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)


def test_what_the_client_has_not_is_numpys(shim):
    assert shim.where is np.where
    with pytest.raises(AttributeError):
        shim.no_such_function


def test_the_script_names_the_file_that_is_missing(tmp_path):
    done = subprocess.run([RUN, tmp_path], capture_output=True, text=True)
    assert done.returncode == 2
    assert "it has no array_api_tests/test_statistical_functions.py" in done.stderr
    assert subprocess.run([RUN], capture_output=True).returncode == 2
    assert subprocess.run([RUN, "--help"], capture_output=True).returncode == 0
