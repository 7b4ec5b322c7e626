"""What may be passed, and what is refused before anything is sent."""

import array
import ctypes
import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from conftest import SEED, dtype_of

from warpfold import _contract
from warpfold._request import plan

X = np.random.default_rng(SEED).integers(-1000, 1000, (6, 5, 4))


@pytest.mark.parametrize(
    "x",
    [
        X.T,
        np.asfortranarray(X),
        X[::2],
        X[:, ::-1, 1:3],
        np.broadcast_to(X, (3, *X.shape)),
        X.astype(">i8"),
        X.astype(">i4").T,
        X.astype("<i8"),
        X.view(type("Sub", (np.ndarray,), {})),
        np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view(X.dtype),  # not aligned
    ],
)
def test_any_layout_and_byte_order(client, x):
    np.testing.assert_array_equal(client.sum(x, axis=0), np.asarray(x).sum(axis=0))
    np.testing.assert_array_equal(client.max(x), np.asarray(x).max())


@pytest.mark.parametrize("dtype", ["<f4", ">f8", "i1"])
def test_places_in_fortran_order_are_those_of_c_order(client, dtype):
    x = np.asfortranarray(X % 7).astype(dtype)  # with ties
    assert client.argmin(x) == x.argmin()
    assert client.argmax(x) == x.argmax()


def test_a_read_only_array_is_left_alone(client):
    x = X.copy()
    x.setflags(write=False)
    assert client.sum(x) == X.sum()


def test_a_contiguous_array_is_sent_from_its_own_memory():
    payload = np.frombuffer(plan(X, ["sum"], None, False).payload, X.dtype)
    assert np.shares_memory(payload, X)


@pytest.mark.parametrize(
    "x, expected",
    [
        (3, 3),
        (2.5, 2.5),
        (np.float32(2.5), 2.5),
        ([1, 2, 3], 6),
        ([[1, 2], [3, 4]], 10),
        ((1.5, 2.5), 4.0),
        (range(5), 10),
        (array.array("d", [1.5, 2.5]), 4.0),
        (memoryview(array.array("i", [4, 5])), 9),
        ((ctypes.c_int64 * 3)(1, 2, 3), 6),
    ],
)
def test_scalars_lists_and_buffers(client, x, expected):
    assert client.sum(x) == expected


class DLPack:
    """A tensor of another library: nothing but DLPack."""

    def __init__(self, x):
        self._x = x

    def __dlpack__(self, **arguments):
        return self._x.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self._x.__dlpack_device__()


class OnAGpu(DLPack):
    def __dlpack__(self, **_):
        raise BufferError("the data is on device cuda:0")


def test_dlpack(client):
    assert client.sum(DLPack(X.copy())) == X.sum()


def test_dlpack_from_a_gpu_is_refused():
    with pytest.raises(TypeError, match="OnAGpu through DLPack .*cuda:0"):
        plan(OnAGpu(X), ["sum"], None, False)


@pytest.mark.parametrize("name", sorted(_contract.DTYPES))
def test_every_dtype_of_the_contract_can_be_planned(name):
    x = np.ones(3, dtype_of(name))
    request = _contract.ReduceRequest.FromString(plan(x, ["sum"], None, False).unary_message())
    assert request.sources[0].tensor.dtype == _contract.DTYPES[name]
    assert request.data == x.tobytes()


@pytest.mark.parametrize(
    "name, one",
    [("bfloat16", b"\x80\x3f"), ("float8_e4m3fn", b"\x38"), ("float8_e5m2", b"\x3c")],
)
def test_what_numpy_has_no_name_for_is_that_of_ml_dtypes(name, one):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for x in (np.ones((2, 3), getattr(ml_dtypes, name)).T, np.ones((3, 4), dtype_of(name))[:, ::2]):
        request = _contract.ReduceRequest.FromString(plan(x, ["sum"], 0, False).unary_message())
        assert request.sources[0].tensor.dtype == _contract.DTYPES[name]
        assert request.data == one * 6


@pytest.mark.parametrize(
    "x",
    [
        1j,
        np.ones(3, np.complex64),
        "text",
        b"bytes",
        ["a", "b"],
        np.array([object()]),
        None,
        {},
        {1, 2},
        [Decimal(1)],
        Fraction(1, 2),
        2**70,
        np.zeros(3, [("a", "f4"), ("b", "i4")]),
        np.zeros(3, "V8"),
        np.array([datetime.date(2026, 11, 21)], "datetime64[D]"),
        np.ones(3, np.longdouble),
        np.ma.array([1.0, 2.0], mask=[0, 1]),
        np.ma.masked,
    ],
)
def test_what_is_no_tensor_is_a_type_error(fake, fake_client, x):
    with pytest.raises(TypeError, match="^cannot reduce"):
        fake_client.sum(x)
    assert fake.calls == []


def test_a_ragged_list_is_a_value_error(fake, fake_client):
    with pytest.raises(ValueError):
        fake_client.sum([[1, 2], [3]])
    assert fake.calls == []


@pytest.mark.parametrize("axis", [3, -4, 2**31, 2**70, -(2**70), (0, 3)])
def test_an_axis_that_is_not_there_is_numpys_axis_error(fake, fake_client, axis):
    with pytest.raises(ValueError, match="out of bounds for array of dimension 3") as caught:
        fake_client.sum(X, axis=axis)
    assert isinstance(caught.value, IndexError)
    assert fake.calls == []


@pytest.mark.parametrize("axis", [(0, 0), (1, -2), (-1, 0, 2)])
def test_an_axis_that_is_there_twice_is_a_value_error(fake, fake_client, axis):
    with pytest.raises(ValueError, match="duplicate value in 'axis'"):
        fake_client.sum(X, axis=axis)
    assert fake.calls == []


@pytest.mark.parametrize("axis", [1.0, "0", [0, 1], (0, 1.0), (None,)])
def test_an_axis_that_is_no_integer_is_a_type_error(fake, fake_client, axis):
    with pytest.raises(TypeError):
        fake_client.sum(X, axis=axis)
    assert fake.calls == []


def test_numpys_integers_are_axes(client):
    np.testing.assert_array_equal(client.sum(X, axis=np.int8(-1)), X.sum(axis=-1))


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({"ops": []}, ValueError, "one or more"),
        ({"ops": ["sum", "sum"]}, ValueError, "none twice"),
        ({"ops": ["median"]}, ValueError, "'median' is none of sum, min"),
        ({"ops": "sum"}, TypeError, "not the string 'sum'"),
        ({"ops": ["sum"], "ddof": "1"}, TypeError, "str"),
        ({"ops": ["sum"], "timeout": 0}, ValueError, "timeout is 0"),
        ({"ops": ["sum"], "timeout": float("inf")}, ValueError, "timeout is inf"),
        ({"ops": ["sum"], "timeout": float("nan")}, ValueError, "timeout is nan"),
        ({"ops": ["sum"], "out": None}, TypeError, "'out'"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_sent(
    fake, fake_client, arguments, error, message
):
    with pytest.raises(error, match=message):
        fake_client.reduce(X, **arguments)
    assert fake.calls == []


@pytest.mark.parametrize(
    "shape, ord, axis",
    [((2, 3), 1, None), ((2, 3), 2, (0, 1)), ((3,), np.inf, None), ((3,), "fro", None)],
)
def test_norms_that_the_contract_has_not_are_value_errors(fake, fake_client, shape, ord, axis):
    with pytest.raises(ValueError, match="^ord "):
        fake_client.norm(np.ones(shape), ord, axis)
    assert fake.calls == []


@pytest.mark.parametrize("axis", [(), (0, 1, 2)])
def test_norms_over_no_axis_or_three_are_refused_as_in_numpy(fake, fake_client, axis):
    with pytest.raises(ValueError):
        np.linalg.norm(np.ones((2, 2, 2)), axis=axis)
    with pytest.raises(ValueError, match="^axis is "):
        fake_client.norm(np.ones((2, 2, 2)), axis=axis)
    assert fake.calls == []


def test_an_index_is_along_one_axis(fake, fake_client):
    with pytest.raises(TypeError, match="one axis"):
        fake_client.argmin(X, axis=(0, 1))
    assert fake.calls == []
