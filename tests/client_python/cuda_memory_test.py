"""Arrays on a GPU: what the driver is asked, what the server is told, and what is copied instead.

The GPU and the server are fakes; tests/gpu/python_peer_test.py has real ones.
"""

import asyncio
import threading

import grpc
import numpy as np
import pytest
from conftest import FAST_RETRY, dtype_of
from fake_gpu import PRIMARY, FakeGpu
from fake_server import Failure

import warpfold
from warpfold import _cuda_driver
from warpfold._request import plan

CODE = grpc.StatusCode
REDUCED = ["RegisterCudaMemory", "Reduce", "UnregisterMemory"]
X = np.arange(600.0).reshape(20, 30)


def test_it_is_reduced_where_it_lies(gpu, fake, either_client):
    client = either_client(fake.target)
    assert client.sum(gpu.array(X)) == X.sum()
    assert fake.calls == REDUCED
    assert list(fake.requests[0].sources[0].tensor.shape) == [20, 30]
    assert (gpu.copies, fake.regions) == (0, {})


def test_one_inside_a_larger_allocation_is_at_its_place(gpu, fake, either_client):
    base = gpu.malloc(20_000)
    gpu.array(X, base=base, offset=10_240)
    inside = gpu.array(X + 1, base=base, offset=4096)
    assert either_client(fake.target).sum(inside) == (X + 1).sum()
    assert fake.places == [(4096, X.nbytes)]


@pytest.mark.parametrize(
    "interface, waits",
    [
        ({}, ["all"]),  # version 2 names no stream
        ({"version": 3, "stream": None}, []),
        ({"version": 3, "stream": 1}, [1]),
        ({"version": 3, "stream": 2}, ["all"]),  # it means another one on another thread
        ({"version": 3, "stream": 0xABC}, [0xABC]),
    ],
)
def test_the_stream_that_writes_it_is_waited_for(gpu, fake, either_client, interface, waits):
    either_client(fake.target).sum(gpu.array(X, **interface))
    assert gpu.waits == waits


@pytest.mark.parametrize("context", [PRIMARY, 0xAA, 0])
def test_the_memorys_context_is_made_the_threads(gpu, fake, either_client, context):
    gpu.context = context
    seen = []
    wait = gpu.cuCtxSynchronize
    gpu.cuCtxSynchronize = lambda: (seen.append(gpu.contexts[-1]), wait())[1]
    either_client(fake.target).sum(gpu.array(X))
    assert seen == [context or PRIMARY]


def test_what_is_shared_is_registered_once_for_all_of_its_allocation(gpu, fake, either_client):
    client = either_client(fake.target)
    base = gpu.malloc(20_000)
    first, second = (gpu.array(X + n, base=base, offset=n * 8000) for n in (0, 1))
    shared = client.share(first)
    also = client.share(second)
    assert client.sum(shared) == X.sum()
    assert client.sum(also) == client.sum(second) == (X + 1).sum()
    assert client.sum(gpu.array(X[0], base=base, offset=16_000)) == X[0].sum()  # a small one, too
    assert fake.calls == ["RegisterCudaMemory"] + ["Reduce"] * 4
    if isinstance(client, warpfold.Client):
        shared.release()
        shared.release()
        assert np.sum(also) == (X + 1).sum()
        assert (also.shape, also.dtype, also.nbytes) == (X.shape, X.dtype, X.nbytes)
        with pytest.raises(RuntimeError, match="shared no longer"):
            shared.sum()
        also.release()
        assert fake.regions == {}
    client.close()
    assert fake.regions == {}


def test_a_handle_ends_with_its_block_also_in_asyncio(gpu, fake):
    with warpfold.connect(fake.target) as client, client.share(gpu.array(X)) as shared:
        assert shared.sum() == X.sum()
    assert fake.calls == REDUCED

    async def use():
        async with await warpfold.aio.connect(fake.target) as client:
            async with await client.share(gpu.array(X)) as shared:
                assert await np.sum(shared) == X.sum()
            assert fake.regions == {}

    asyncio.run(use())


def test_sharing_waits_anew_for_each_reduction(gpu, fake, either_client):
    client = either_client(fake.target)
    shared = client.share(gpu.array(X))
    client.sum(shared)
    client.sum(shared)
    assert gpu.waits == ["all", "all"]


def test_what_is_on_no_gpu_is_not_shared(gpu, fake, either_client):
    with pytest.raises(TypeError, match="^cannot share ndarray"):
        either_client(fake.target).share(X)
    with pytest.raises(TypeError, match="^cannot share FakeArray"):
        either_client(fake.target).share(gpu.array(X[:0], data=(0, False)))


def test_memory_at_the_same_place_is_not_the_same_memory(gpu, fake, either_client):
    client = either_client(fake.target)
    array = gpu.array(X)
    base = array.__cuda_array_interface__["data"][0]
    client.share(array)
    gpu.free(base)
    gpu.malloc(X.nbytes, base)
    assert client.sum(gpu.array(X + 1, base=base)) == (X + 1).sum()
    assert fake.calls == ["RegisterCudaMemory", *REDUCED]


def test_threads_at_the_same_allocation_do_not_end_each_others_region(gpu, fake):
    array, wrong = gpu.array(X), []

    def use(client):
        for _ in range(20):
            if client.sum(array) != X.sum():
                wrong.append(1)

    with warpfold.connect(fake.target, retry=FAST_RETRY) as client:
        threads = [threading.Thread(target=use, args=(client,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == [] and gpu.copies == 0
        assert fake.regions == {}


def test_a_failed_reduction_leaves_no_region(gpu, fake, either_client):
    fake.failures = [None, Failure(CODE.INTERNAL)]
    with pytest.raises(warpfold.InternalError, match="planned"):
        either_client(fake.target).sum(gpu.array(X))
    assert fake.calls == REDUCED and fake.regions == {}


@pytest.mark.parametrize("visible", ["", "1,0", "0,1", "GPU-1234"])
def test_the_servers_number_of_a_gpu_is_found(gpu, fake, either_client, monkeypatch, visible):
    """CUDA_VISIBLE_DEVICES may number it otherwise in either process."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    gpu.ordinal = 1
    fake.info.devices.add(name="cuda:1")
    assert either_client(fake.target).sum(gpu.array(X)) == X.sum()
    tries = fake.calls.count("RegisterCudaMemory")
    assert tries == (1 if visible == "1,0" else 2)
    assert fake.calls == ["RegisterCudaMemory"] * tries + ["Reduce", "UnregisterMemory"]
    assert gpu.copies == 0


def refuse_all(gpu, fake):
    gpu.ordinal = 7


def take_none(gpu, fake):
    fake.info.limits.max_cuda_memory_bytes = 0


def take_no_more(gpu, fake):
    fake.registration = Failure(CODE.RESOURCE_EXHAUSTED, "no room", pushback_ms=10**6)


def of_a_pool(gpu, fake):
    gpu.exportable = False
    gpu.context = 0


def driver_fails(gpu, fake):
    gpu.fails.add("cuIpcGetMemHandle")


@pytest.mark.parametrize(
    "way, why",
    [
        (refuse_all, "none of the server's GPUs opens the memory"),
        (take_none, "--max-cuda-memory-bytes"),
        (take_no_more, "no room"),
        (of_a_pool, "cudaMallocAsync and of PyTorch's expandable_segments"),
        (driver_fails, r"cuIpcGetMemHandle: invalid something \(201\)"),
    ],
)
def test_what_cannot_be_shared_is_copied_and_says_why_once(
    gpu, fake, either_client, caplog, way, why
):
    way(gpu, fake)
    client = either_client(fake.target)
    for _ in range(2):
        assert client.sum(gpu.array(X)) == X.sum()
    assert fake.places == [] and gpu.copies == 2
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "arrays on a GPU are copied to the host" in record.message
    error = warpfold.ResourceExhaustedError if way is take_no_more else NotImplementedError
    with pytest.raises(error, match=why):
        client.share(gpu.array(X))


def test_small_ones_empty_ones_parts_and_uploads_are_copied(gpu, fake, either_client, caplog):
    client = either_client(fake.target)
    assert client.sum(gpu.array(X[0])) == X[0].sum()
    assert client.sum(gpu.array(X[:0], data=(0, False))) == 0
    client.put(gpu.array(X))
    assert fake.writes == [(0, X.tobytes())]
    assert fake.calls == ["Reduce", "Reduce", "CreateTensor", "WriteTensor"]
    assert caplog.records == []


class Transposed:
    """Not contiguous, as PyTorch's and CuPy's."""

    def __init__(self, gpu, values):
        strided = gpu.array(values, strides=values.T.strides, shape=values.T.shape)
        self.__cuda_array_interface__ = strided.__cuda_array_interface__
        self._copy = lambda: gpu.array(np.ascontiguousarray(values.T))


class Torch(Transposed):
    def contiguous(self):
        return self._copy()


class CuPy(Transposed):
    flags, get = None, None

    def copy(self, order):
        assert order == "C"
        return self._copy()


@pytest.mark.parametrize("kind", [Torch, CuPy])
def test_one_that_is_not_contiguous_is_made_so_on_the_gpu(gpu, fake, either_client, kind):
    assert either_client(fake.target).sum(kind(gpu, X)) == X.sum()
    assert list(fake.requests[0].sources[0].tensor.shape) == [30, 20]
    assert fake.requests[0].data == X.T.tobytes()
    assert gpu.copies == 0


def test_strides_that_say_contiguous_are_taken_for_it(gpu, fake, either_client):
    x = X.reshape(20, 1, 30)
    array = gpu.array(x, strides=(240, 77, 8))
    assert either_client(fake.target).sum(array) == X.sum()


class NeedsGrad:
    @property
    def __cuda_array_interface__(self):
        raise RuntimeError("use var.detach()")


class OfMlDtypes:
    """As PyTorch has it: NumPy has no name for the dtype."""

    def __init__(self, name, interface):
        self.dtype = f"torch.{name}"
        self.__cuda_array_interface__ = interface


@pytest.mark.parametrize(
    "name, typestr",
    [("bfloat16", "<V2"), ("float8_e4m3fn", "<V1"), ("float8_e5m2", "<f1")],
)
def test_a_dtype_of_ml_dtypes_is_told_by_the_arrays_own(gpu, name, typestr):
    dtype = dtype_of(name)
    assert typestr == dtype.str
    array = gpu.array(np.ones(8, f"u{dtype.itemsize}"), typestr=typestr)
    call = plan(OfMlDtypes(name, array.__cuda_array_interface__), ["sum"], None, False)
    assert call.payload.dtype.name == name
    array.dtype = np.dtype("V2")
    with pytest.raises(TypeError, match="cannot reduce dtype|not understood"):
        plan(array, ["sum"], None, False)


@pytest.mark.parametrize(
    "interface, why",
    [
        ({"typestr": "<c16"}, "cannot reduce dtype complex128"),
        ({"typestr": ">f8"}, "cannot reduce dtype >f8"),
        ({"mask": object()}, "masked"),
        ({"strides": (8, 160), "shape": (30, 20)}, "not contiguous"),
    ],
)
def test_what_is_no_tensor_is_a_type_error(gpu, interface, why):
    with pytest.raises(TypeError, match=why):
        plan(gpu.array(X, **interface), ["sum"], None, False)


def test_one_that_requires_grad_is_a_type_error():
    with pytest.raises(TypeError, match=r"cannot reduce NeedsGrad: use var.detach\(\)"):
        plan(NeedsGrad(), ["sum"], None, False)


def test_without_a_driver_it_is_a_type_error(fake, fake_client, monkeypatch):
    def none():
        raise _cuda_driver.CudaError("no driver")

    monkeypatch.setattr("warpfold._cuda_array.driver", none)
    with pytest.raises(TypeError, match=r"\(no driver\); pass it in host memory"):
        fake_client.sum(FakeGpu().array(X))
