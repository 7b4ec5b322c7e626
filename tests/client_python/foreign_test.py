"""Other libraries' arrays as they come: gradients, bfloat16, float8, GPUs, and what is refused.

PyTorch and awkward are real where they are installed; PyTorch's protocol is also a fake's.
"""

import gc
import sys

import numpy as np
import pytest
from conftest import SEED, dtype_of
from fake_torch import OldTensor, Parameter, Tensor, living

import warpfold
from warpfold import _contract, _dlpack, _dtypes
from warpfold._request import plan

X = np.random.default_rng(SEED).integers(1, 50, (3, 4, 5)).astype(np.float32)
BITS_OF_ONE = {
    "bfloat16": np.uint16(0x3F80),
    "float8_e4m3fn": np.uint8(0x38),
    "float8_e5m2": np.uint8(0x3C),
}
FLOAT8 = ["float8_e4m3fn", "float8_e5m2"]


@pytest.fixture(autouse=True)
def no_export_is_left():
    yield
    gc.collect()
    assert living() == 0


def sent(x, *ops):
    """The request for a sum of `x`, as the server would read it."""
    return _contract.ReduceRequest.FromString(plan(x, ops or ["sum"], None, False).unary_message())


@pytest.mark.parametrize("name", sorted(set(_contract.DTYPES) - _dtypes.OF_ML_DTYPES))
def test_a_tensor_is_read_by_dlpack(name):
    values = X.astype(name)
    request = sent(Tensor(values))
    assert request.sources[0].tensor.dtype == _contract.DTYPES[name]
    assert list(request.sources[0].tensor.shape) == [3, 4, 5]
    assert request.data == values.tobytes()


@pytest.mark.parametrize("view", [X.T, X[::2], X[:, ::-1], X[0, 0, 0], X[:0], X[:, :0].T])
def test_any_layout_is_read_by_dlpack(view):
    request = sent(Tensor(view))
    assert tuple(request.sources[0].tensor.shape) == view.shape
    assert request.data == view.tobytes()


def test_what_is_exported_is_not_copied_and_lives_as_long_as_it_is_read():
    call = plan(Tensor(X), ["sum"], None, False)
    assert living() == 1
    assert np.shares_memory(np.frombuffer(call.payload, np.float32), X)
    del call


def test_both_kinds_of_capsules_are_read():
    assert sent(OnlyDLPack(Tensor(X))).data == X.tobytes()
    for x in (X, X.T, X[:0]):
        if np.lib.NumpyVersion(np.__version__) >= "2.1.0":  # exports by versions
            assert sent(OnlyDLPack(x, versioned=True)).data == x.tobytes()
        assert sent(OnlyDLPack(x)).data == x.tobytes()


@pytest.mark.parametrize("name", BITS_OF_ONE)
@pytest.mark.parametrize("wrapped", [False, True])
def test_what_numpy_has_no_name_for_is_read_by_dlpack(name, wrapped):
    dtype_of(name)
    x = Tensor(np.full((2, 3), BITS_OF_ONE[name]).T, name)
    request = sent(OnlyDLPack(x) if wrapped else x)
    assert request.sources[0].tensor.dtype == _contract.DTYPES[name]
    assert request.data == BITS_OF_ONE[name].tobytes() * 6


@pytest.mark.parametrize("name", FLOAT8)
def test_float8_that_pytorch_does_not_export_is_read_as_bytes(gpu, name):
    dtype_of(name)
    bits = np.arange(6, dtype=np.uint8).reshape(2, 3)
    for values, gradient in ((bits, False), (bits.T, True), (bits[:0], False)):
        request = sent(OldTensor(values, name, requires_grad=gradient))
        assert request.sources[0].tensor.dtype == _contract.DTYPES[name]
        assert request.data == values.tobytes()
    pointer = gpu.array(bits).__cuda_array_interface__["data"][0]
    on_gpu = OldTensor(bits, name, pointer=pointer)
    call = plan(on_gpu, ["sum"], None, False)
    assert call.payload.dtype.name == name
    assert call.payload.pointer == pointer and on_gpu.streams == [1]


def test_without_ml_dtypes_its_dtypes_say_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    _dtypes.dtype_named.cache_clear()
    for name, bits in BITS_OF_ONE.items():
        with pytest.raises(ImportError, match=f"^{name} is a dtype of ml_dtypes: pip install"):
            plan(Tensor(np.full(3, bits), name), ["sum"], None, False)


@pytest.mark.parametrize("x", [Tensor(X, requires_grad=True), Parameter(X)])
def test_what_requires_a_gradient_is_read_without_it(client, x):
    assert client.sum(x) == X.sum()
    np.testing.assert_array_equal(client.max(x, axis=1), X.max(axis=1))
    with client.put(x) as tensor:
        assert tensor.min() == X.min()
    assert x.requires_grad


@pytest.fixture
def gpu(gpu, monkeypatch):
    """The same, for smaller arrays."""
    monkeypatch.setattr("warpfold._cuda_memory._LEAST_BYTES", 100)
    return gpu


@pytest.mark.parametrize("kind", [Tensor, Parameter])
def test_a_gpus_tensor_is_reduced_where_it_lies_by_dlpack(gpu, fake, either_client, kind):
    values = X.astype(np.float64)
    on_gpu = gpu.array(values)
    x = kind(values, pointer=on_gpu.__cuda_array_interface__["data"][0])
    assert either_client(fake.target).sum(x) == values.sum()
    assert fake.calls == ["RegisterCudaMemory", "Reduce", "UnregisterMemory"]
    assert gpu.copies == 0
    # DLPack's rule: the library orders its work before a stream, for which the reader waits.
    assert x.streams == [1]
    assert gpu.waits == ["all"]
    del on_gpu


def test_a_shared_one_is_waited_for_again_and_its_export_stays(gpu, fake):
    values = X.astype(np.float64)
    pointer = gpu.array(values).__cuda_array_interface__["data"][0]
    with warpfold.connect(fake.target) as client:
        with client.share(Parameter(values, pointer=pointer)) as shared:
            assert living() == 1
            assert shared.sum() == shared.sum() == values.sum()
        assert gpu.waits == ["all", "all"]
        del shared


@pytest.mark.parametrize("name", BITS_OF_ONE)
def test_a_gpus_is_copied_by_dlpack_where_it_has_to_be(gpu, name):
    dtype_of(name)
    bits = np.full((2, 3), BITS_OF_ONE[name])
    pointer = gpu.array(bits).__cuda_array_interface__["data"][0]
    call = plan(Tensor(bits, name, pointer=pointer), ["sum"], None, False)
    assert call.payload.dtype.name == name
    np.testing.assert_array_equal(call.payload.on_host().astype(np.float32), np.ones((2, 3)))
    assert gpu.copies == 1


def test_a_gpus_tensor_that_is_not_contiguous_says_so(gpu):
    pointer = gpu.array(X).__cuda_array_interface__["data"][0]
    with pytest.raises(TypeError, match="cannot reduce Tensor: it is not contiguous"):
        plan(Tensor(X.T, pointer=pointer), ["sum"], None, False)


class Sparse(Tensor):
    layout = "torch.sparse_coo"


class SparseMatrix:
    """As SciPy has it."""

    dtype = np.dtype(np.float32)
    nnz = 3


class OnAnotherDevice(Tensor):
    def __dlpack_device__(self):
        return (8, 0)


class OnNoDevice(Tensor):
    def __dlpack_device__(self):
        raise ValueError("Unknown device type meta for Dlpack")


class OnlyDLPack:
    """Another library's: without a dtype's name, and older than DLPack's versions, or not."""

    def __init__(self, x, *, versioned=False):
        self._x = x
        self._options = {"max_version": (1, 0)} if versioned else {}

    def __dlpack_device__(self):
        return self._x.__dlpack_device__()

    def __dlpack__(self, **options):
        if options.keys() - {"stream"} and not self._options:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        assert options.get("max_version") == self._options.get("max_version")
        return self._x.__dlpack__(**options)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: Tensor(X, "float8_e4m3fnuz"), "dtype float8_e4m3fnuz; .* pass x as float32"),
        (lambda: Tensor(X, "float8_e8m0fnu"), "dtype float8_e8m0fnu; it is not there yet"),
        (lambda: Tensor(X, "float4_e2m1fn_x2"), "dtype float4_e2m1fn_x2; it is not there yet"),
        (lambda: Tensor(X, "complex64"), r"dtype complex64; pass x.real and x.imag"),
        (lambda: Tensor(X, "qint8"), "dtype qint8; pass numbers"),
        (lambda: Sparse(X), r"the sparse Sparse of dtype torch.float32; .*x.to_dense\(\)"),
        (SparseMatrix, r"the sparse SparseMatrix of dtype float32; .*x.toarray\(\)"),
        (lambda: 1j, r"dtype complex128; pass x.real and x.imag"),
        (lambda: np.ones(3, np.complex64), r"dtype complex64; pass x.real and x.imag"),
        (lambda: np.array([object()]), r"dtype object; pass numbers .*x.astype"),
        (lambda: ["a"], "dtype <U1; pass numbers"),
        (lambda: np.ones(3, "M8[s]"), r"dtype datetime64\[s\]; .*x.view\(numpy.int64\)"),
        (lambda: np.ones(3, "m8[s]"), r"dtype timedelta64\[s\]; .*x.view\(numpy.int64\)"),
        (lambda: np.zeros(3, [("a", "f4"), ("b", "i4")]), r"pass one of its fields: x\['a'\]"),
        (lambda: np.ones(3, np.longdouble), r"; pass .*x.astype\(numpy.float64\)"),
    ],
)
def test_what_the_contract_has_not_names_the_dtype_and_what_to_pass(
    fake, fake_client, make, message
):
    for use in (fake_client.sum, fake_client.describe, fake_client.put):
        with pytest.raises(TypeError, match=f"^cannot reduce .*{message}"):
            use(make())
    assert fake.calls == []


@pytest.mark.parametrize("name", sorted({*_dlpack._SMALL_FLOATS} - {*FLOAT8}))
def test_other_small_floats_of_ml_dtypes_too(fake_client, name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    with pytest.raises(TypeError, match=f"^cannot reduce dtype {name}; .* pass x as float32, "):
        fake_client.sum(np.ones(3, getattr(ml_dtypes, name)))


BYTES = np.ones(3, np.uint8)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: OnAnotherDevice(X), "OnAnotherDevice through DLPack .*type 8.* in host memory"),
        (lambda: OnNoDevice(X), "OnNoDevice through DLPack .* in host memory"),
        (lambda: OnlyDLPack(Tensor(X[..., :2].copy().view("c8"))), "dtype complex64; pass x.real"),
        (lambda: OnlyDLPack(Tensor(BYTES, "float8_e4m3fnuz")), "dtype float8_e4m3fnuz; .*float32"),
        (lambda: OnlyDLPack(Tensor(BYTES, "opaque")), "code 3 and 8 bits"),
    ],
)
def test_an_export_that_cannot_be_read_is_a_type_error(fake, fake_client, make, message):
    with pytest.raises(TypeError, match=f"^cannot (read|reduce) .*{message}"):
        fake_client.sum(make())
    assert fake.calls == []


class Module:
    def state_dict(self):
        return {}


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: None, "a NoneType; pass numbers"),
        (lambda: (i for i in [1]), r"a generator; pass list\(x\)"),
        (lambda: {1}, r"a set; pass list\(x\)"),
        (lambda: {"a": 1}, "a dict; pass its values .*describe"),
        (Module, "a Module; pass the values of .*describe"),
        (lambda: 2**70, "an int of 71 bits; pass up to 64"),
        (lambda: [1, None], r"a list with a NoneType in it; .*array\(x, float\)"),
        (lambda: ([1.5, 2**70],), "a tuple with an int of more than 64 bits in it"),
    ],
)
def test_what_is_no_array_is_named(fake, fake_client, make, message):
    for use in (fake_client.sum, fake_client.put):
        with pytest.raises(TypeError, match=f"^cannot reduce {message}") as error:
            use(make())
        assert "astype" not in str(error.value)
    assert fake.calls == []


def test_awkward_arrays_are_read_or_say_what_to_pass(fake, client, fake_client):
    awkward = pytest.importorskip("awkward")
    assert client.sum(awkward.Array([[1, 2], [3, 4]])) == 10
    ragged = awkward.Array([[1.0, 2.0], [3.0]])
    with pytest.raises(ValueError, match="^cannot reduce the ragged awkward array .*flatten"):
        fake_client.sum(ragged)
    # And so it goes:
    assert client.sum(awkward.flatten(ragged, axis=None)) == 6
    padded = awkward.fill_none(awkward.pad_none(ragged, 2, clip=True), np.nan)
    np.testing.assert_array_equal(client.nansum(padded, axis=1), [3, 3])
    missing = awkward.Array([1.0, None])
    with pytest.raises(TypeError, match=r"elements are missing; .*drop_none"):
        fake_client.sum(missing)
    assert client.sum(awkward.drop_none(missing)) == 1
    assert client.nansum(awkward.fill_none(missing, np.nan)) == 1
    with pytest.raises(TypeError, match="^cannot reduce the awkward array of type 2 . union"):
        fake_client.sum(awkward.Array([1, "a"]))
    with pytest.raises(TypeError, match=r"pass one of its fields: x\['x'\]"):
        fake_client.sum(awkward.Array([{"x": 1}]))
    assert fake.calls == []


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


def test_the_fake_says_what_pytorch_does(torch):
    real = torch.nn.Parameter(torch.ones(2))
    assert str(real.dtype) == str(Parameter(np.ones(2, np.float32)).dtype)
    assert str(real.layout) == Parameter.layout
    for x in (real, Parameter(np.ones(2))):
        assert x.requires_grad is True
        with pytest.raises(BufferError, match="detach"):
            x.__dlpack__()


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
def test_pytorchs_own_tensors(torch):
    x = torch.arange(6.0).reshape(2, 3)
    for same in (x, torch.nn.Parameter(x), x.clone().requires_grad_(), x.T.contiguous().T):
        assert sent(same).data == x.numpy().tobytes()
    assert sent(x.bool()).data == x.numpy().astype(bool).tobytes()
    assert sent(x.bfloat16()).data == (x.numpy().view(np.uint32) >> 16).astype("<u2").tobytes()
    assert sent(torch.tensor(3)).data == np.int64(3).tobytes()
    for name in FLOAT8:
        of_bytes = x.to(getattr(torch, name))
        for same in (of_bytes, torch.nn.Parameter(of_bytes, requires_grad=False)):
            request = sent(same)
            assert request.sources[0].tensor.dtype == _contract.DTYPES[name]
            assert request.data == of_bytes.view(torch.uint8).numpy().tobytes()
    for wrong, message in [
        (x.to(torch.float8_e4m3fnuz), "float8_e4m3fnuz; it is not there yet"),
        (x.to(torch.float8_e5m2fnuz), "float8_e5m2fnuz; it is not there yet"),
        (x.to(torch.complex64), "complex64; pass x.real"),
        (x.to_sparse(), r"sparse Tensor .*x.to_dense\(\)"),
        (x.to_sparse_csr(), r"sparse Tensor .*x.to_dense\(\)"),
        (x.to("meta"), "in host memory"),
    ]:
        with pytest.raises(TypeError, match=message):
            sent(wrong)


def test_pytorchs_tensors_on_a_gpu(torch):
    if not torch.cuda.is_available():
        pytest.skip("no GPU answers")

    x = torch.arange(6.0, device="cuda").reshape(2, 3)
    for kind in (lambda x: x, OnlyDLPack):
        for same in (x, x.bfloat16(), torch.nn.Parameter(x).detach()):
            call = plan(kind(same), ["sum"], None, False)
            assert call.payload.pointer == same.data_ptr()
            got = call.payload.on_host().astype(np.float32)
            np.testing.assert_array_equal(got, x.cpu().numpy())
    on_gpu = plan(torch.nn.Parameter(x), ["sum"], None, False).payload
    np.testing.assert_array_equal(on_gpu.on_host(), x.cpu().numpy())
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(100_000_000)
        late = x + 1
    got = plan(OnlyDLPack(late), ["sum"], None, False).payload.on_host()
    np.testing.assert_array_equal(got, x.cpu().numpy() + 1)
    for name in FLOAT8:
        on_gpu = plan(x.to(getattr(torch, name)), ["sum"], None, False).payload
        np.testing.assert_array_equal(on_gpu.on_host().astype(np.float32), x.cpu().numpy())
