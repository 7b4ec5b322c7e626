"""Tensors that stay on the server: what they answer, how they end, and that nothing is left."""

import asyncio
import re

import grpc
import numpy as np
import pytest
from conftest import FAST_RETRY, SEED
from fake_server import FakeServer, Failure
from running_server import running_server

import warpfold
import warpfold.aio
from warpfold import _contract

X = np.random.default_rng(SEED).integers(-50, 50, (6, 5, 4)).astype(np.float32)
CODE = grpc.StatusCode
MAX_RESIDENT_BYTES = 1 << 20


@pytest.fixture(scope="module")
def small_server():
    with running_server(f"--max-resident-bytes={MAX_RESIDENT_BYTES}") as target:
        yield target


@pytest.fixture
def resident(small_server):
    """The tensors on the small server, as it lists them; none are left by a test."""
    list_response = _contract._messages["warpfold.v1.ListTensorsResponse"]
    with grpc.insecure_channel(small_server) as channel:
        list_tensors = channel.unary_unary("/warpfold.v1.TensorService/ListTensors")

        def listed():
            return list(list_response.FromString(list_tensors(b"")).tensors)

        yield listed
        assert listed() == []


def test_a_tensor_is_put_once_and_reduced_often(small_server, resident, either_client):
    client = either_client(small_server)
    tensor = client.put(X, ttl=30.0)
    (listed,) = resident()
    assert (listed.tensor_id, listed.ttl_ms, listed.missing_bytes) == (tensor.id, 30_000, 0)
    for axis in (None, 0, (0, 2)):
        np.testing.assert_array_equal(client.sum(tensor, axis=axis), X.sum(axis=axis))
    assert client.reduce(tensor, ["min", "max"]) == {"min": X.min(), "max": X.max()}
    assert client.describe(tensor) == client.describe(X)
    ended = tensor.delete()
    if ended is not None:
        asyncio.run(ended)


def test_it_says_what_it_is(client):
    with client.put(X) as tensor:
        assert (tensor.shape, tensor.dtype, tensor.ndim) == (X.shape, X.dtype, X.ndim)
        assert (tensor.size, tensor.nbytes) == (X.size, X.nbytes)
        assert (np.shape(tensor), np.ndim(tensor)) == (X.shape, X.ndim)
        assert tensor.ttl == client.info().limits.resident_ttl_ms / 1000
        assert tensor.id in repr(tensor)
    assert "deleted" in repr(tensor)


def test_any_layout_is_put_whole(client):
    for x in (X.T, X[::2, ::-1], X.astype(">f4"), np.float64(3), np.empty((0, 3))):
        with client.put(x) as tensor:
            np.testing.assert_array_equal(tensor.sum(axis=None), np.sum(x))
            assert tensor.shape == np.shape(x)
            assert tensor.dtype.isnative


@pytest.mark.parametrize(
    "call",
    [
        np.sort,
        np.median,
        np.asarray,
        np.negative,
        np.add.reduce,
        lambda t: t + 1,
        lambda t: np.add(X, t),
        lambda t: np.concatenate([t, t]),
        lambda t: np.sum(X, axis=t),
        lambda t: np.sum(X, out=t),
        lambda t: np.sum(t, dtype=np.float16),
        lambda t: np.sum(t, where=X > 0),
        lambda t: np.max(t, initial=0),
    ],
)
def test_what_would_need_the_elements_is_a_type_error(client, call):
    with client.put(X) as tensor, pytest.raises(TypeError):
        call(tensor)


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t == 1,
        lambda t: t != 1,
        lambda t: t == X,
        lambda t: X == t,
        lambda t: np.float32(1) != t,
        lambda t: t in [1, 2],
        bool,
        lambda t: not t,
    ],
)
# NumPy before 1.25 warns of the error, and then asks the tensor, which raises it again.
@pytest.mark.filterwarnings("ignore:elementwise comparison failed:DeprecationWarning")
def test_what_would_compare_the_elements_is_a_type_error(client, call):
    with client.put(X) as tensor:
        with pytest.raises(TypeError, match="the elements of a RemoteTensor stay on the server: "):
            call(tensor)


@pytest.mark.parametrize(
    "call, name",
    [(getattr(np, name), f"np.{name}") for name in "median average cumsum sort".split()]
    + [
        (lambda t: np.dot(t, t), "np.dot"),
        (lambda t: np.quantile(t, 0.5), "np.quantile"),
        (lambda t: np.linalg.det(t), "np.linalg.det"),
        (len, "__len__()"),
        (lambda t: t[0], "__getitem__()"),
        (lambda t: t + 1, "__add__()"),
        (lambda t: 1 - t, "__rsub__()"),
        (lambda t: t < 1, "__lt__()"),
        (lambda t: -t, "__neg__()"),
        (float, "__float__()"),
        (int, "__int__()"),
        (list, "__iter__()"),
        (lambda t: 1 in t, "__contains__()"),
    ],
)
def test_what_would_need_the_elements_says_so(client, call, name):
    words = f"the elements of a RemoteTensor stay on the server: {name} would need them; call it"
    with client.put(X) as tensor, pytest.raises(TypeError, match=f"^{re.escape(words)}"):
        call(tensor)


class Another:
    def __array_function__(self, function, types, arguments, options):
        return "another's"


def test_another_librarys_array_has_its_turn(client):
    with client.put(X) as tensor:
        assert np.dot(tensor, Another()) == "another's"


def test_the_size_of_a_tensor_needs_no_elements(client):
    with client.put(X) as tensor:
        assert (np.size(tensor), np.size(tensor, 1), np.size(tensor, axis=-1)) == (120, 5, 4)


def test_containers_tell_tensors_apart(client):
    with client.put(X) as one, client.put(X) as two:
        assert one == one and one != two
        assert {one: 1, two: 2}[two] == 2
        assert [one, two].index(two) == 1
        assert two not in [one]


@pytest.mark.parametrize(
    "ufunc, instead",
    [
        ("add", "np.sum"),
        ("multiply", "np.prod"),
        ("minimum", "np.min"),
        ("maximum", "np.max"),
        ("fmax", "np.nanmax"),
        ("logical_and", "np.all"),
    ],
)
def test_a_ufuncs_reduce_names_the_function_to_call(client, ufunc, instead):
    with client.put(X) as tensor:
        words = rf": np\.{ufunc}\.reduce would need them; call {instead}$"
        with pytest.raises(TypeError, match=words):
            getattr(np, ufunc).reduce(tensor)
        with pytest.raises(TypeError, match=rf": np\.{ufunc}\.accumulate would need them$"):
            getattr(np, ufunc).accumulate(tensor)


def test_numpys_own_words_for_an_argument_left_out_are_taken(client):
    with client.put(X) as tensor:
        np.testing.assert_array_equal(np.sum(tensor, 0, None, None), X.sum(axis=0))
        np.testing.assert_array_equal(np.var(tensor, 1, None, None, 1), client.var(X, 1, ddof=1))


@pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="NumPy has it from 2.0 on"
)
@pytest.mark.parametrize("function", [np.var, np.std, np.nanvar, np.nanstd])
def test_a_correction_is_ddof_and_both_are_a_value_error_as_in_numpy(client, function):
    with client.put(X) as tensor:
        got = function(tensor, correction=1, ddof=0)
        np.testing.assert_array_equal(got, function(tensor, ddof=1))
        for x in (X, tensor):
            with pytest.raises(ValueError, match="ddof and correction"):
                function(x, correction=1, ddof=2)


def test_a_deleted_tensor_says_so(client):
    with client.put(X) as tensor:
        pass
    tensor.delete()
    for use in (tensor.sum, lambda: np.sum(tensor), lambda: client.describe(tensor)):
        with pytest.raises(RuntimeError, match="the tensor was deleted"):
            use()


def test_a_tensor_that_is_gone_is_not_found_and_its_end_is_quiet(small_server, resident):
    with warpfold.connect(small_server) as client, client.put(X) as tensor:
        with warpfold.connect(small_server) as other:
            warpfold.RemoteTensor(other, X.shape, X.dtype, tensor.id, 0).delete()
        with pytest.raises(warpfold.NotFoundError, match="^tensor_id"):
            tensor.sum()


def test_another_server_does_not_know_it(client, small_server, resident):
    with client.put(X) as tensor, warpfold.connect(small_server) as other:
        with pytest.raises(warpfold.NotFoundError, match="^tensor_id"):
            other.sum(tensor)


def test_asyncio_has_the_same(small_server, resident):
    async def use():
        async with await warpfold.aio.connect(small_server) as client:
            async with await client.put(X) as tensor:
                assert len(resident()) == 1
                np.testing.assert_array_equal(await np.sum(tensor, axis=0), X.sum(axis=0))
                assert (await tensor.reduce(["max"]))["max"] == X.max()
            with pytest.raises(RuntimeError, match="deleted"):
                await tensor.sum()

    asyncio.run(use())


def test_a_put_that_fails_leaves_nothing(small_server, resident, either_client):
    client = either_client(small_server, chunk_bytes=100)
    with pytest.raises(ZeroDivisionError):
        client.put(X, progress=lambda done, total: 1 / 0)
    with pytest.raises(warpfold.ResourceExhaustedError):
        client.put(np.zeros(MAX_RESIDENT_BYTES + 1, np.uint8))
    for ttl in (0, -1, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="ttl is"):
            client.put(X, ttl=ttl)
    with pytest.raises(TypeError, match="cannot reduce"):
        client.put(["text"])


def test_a_put_that_is_cancelled_leaves_nothing(small_server, resident):
    async def use():
        async with await warpfold.aio.connect(small_server, chunk_bytes=1) as client:
            loop, begun = asyncio.get_running_loop(), asyncio.Event()

            def tell(done, total):
                loop.call_soon_threadsafe(begun.set)

            task = asyncio.ensure_future(client.put(np.zeros(50_000), progress=tell))
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(use())


def test_writes_are_tried_again_and_a_lost_cause_is_deleted(fake, either_client):
    client = either_client(fake.target)
    fake.failures = [
        Failure(CODE.UNAVAILABLE),
        None,
        Failure(CODE.ABORTED),
        Failure(CODE.CANCELLED),
    ]
    tensor = client.put(X)
    assert (tensor.id, tensor.ttl) == ("t", 5.0)
    assert fake.calls == ["CreateTensor"] * 2 + ["WriteTensor"] * 3
    assert fake.writes == [(0, X.tobytes())]
    fake.calls.clear()
    fake.failures = [None, Failure(CODE.INTERNAL)]
    with pytest.raises(warpfold.InternalError):
        client.put(X)
    assert fake.calls == ["CreateTensor", "WriteTensor", "DeleteTensor"]


def test_the_end_of_a_tensor_that_was_gone_is_no_failure(fake):
    with warpfold.connect(fake.target, retry=FAST_RETRY) as client:
        tensor = client.put(X)
        # The first attempt's answer was lost.
        fake.failures = [Failure(CODE.UNAVAILABLE), Failure(CODE.NOT_FOUND)]
        tensor.delete()
    assert fake.failures == []


class TheBlocksOwn(Exception):
    pass


def leave_a_block(client, tensor, error):
    """Of either client."""

    async def leave():
        async with tensor:
            if error is not None:
                raise error

    if isinstance(client, warpfold.Client):
        with tensor:
            if error is not None:
                raise error
    else:
        client._loop.run_until_complete(leave())


@pytest.mark.parametrize("code", [CODE.UNAVAILABLE, CODE.INTERNAL, CODE.RESOURCE_EXHAUSTED])
def test_the_end_of_a_block_is_one_attempt_that_hides_nothing(fake, either_client, caplog, code):
    client = either_client(fake.target)
    tensor = client.put(X)
    fake.failures = [Failure(code, pushback_ms=1)] * 2
    with pytest.raises(TheBlocksOwn):
        leave_a_block(client, tensor, TheBlocksOwn())
    assert caplog.records == []
    assert len(fake.failures) == 1
    leave_a_block(client, tensor, None)
    (record,) = caplog.records
    assert record.getMessage().startswith(f"a tensor stays on {fake.target} for its time to live: ")
    assert fake.failures == []
    assert "deleted" not in repr(tensor)
    leave_a_block(client, tensor, None)
    assert "deleted" in repr(tensor)
    assert fake.calls.count("DeleteTensor") == 3


def test_the_end_of_a_block_does_not_wait_for_a_server_that_is_gone(either_client):
    with FakeServer() as fake:
        client = either_client(fake.target, timeout=10_000, retry=warpfold.RetryPolicy())
        tensor = client.put(X)
    with pytest.raises(TheBlocksOwn):
        leave_a_block(client, tensor, TheBlocksOwn())


def test_delete_waits_little_for_a_server_that_is_gone(either_client):
    with FakeServer() as fake:
        retry = warpfold.RetryPolicy(refused_max_s=None, backoff_first_s=0.3, jitter=0)
        client = either_client(fake.target, timeout=10_000, retry=retry)
        tensor = client.put(X)
    with pytest.raises(warpfold.UnavailableError) as caught:
        ended = tensor.delete()
        client._loop.run_until_complete(ended)
    assert caught.value.attempts <= 3  # the waits between were 0.3 s and 0.6
    assert "deleted" not in repr(tensor)


def test_the_end_of_a_block_of_a_closed_client_says_so(fake):
    with warpfold.connect(fake.target) as client:
        tensor = client.put(X)
    with pytest.raises(RuntimeError, match="closed"), tensor:
        pass
    with pytest.raises(TheBlocksOwn), tensor:
        raise TheBlocksOwn


def test_a_large_tensor_is_written_over_several_connections(
    fake, small_server, resident, either_client, monkeypatch
):
    monkeypatch.setattr("warpfold._flows.STRIPE_THRESHOLD_BYTES", X.nbytes)
    told = []
    client = either_client(fake.target, connections=3)
    client.put(X, progress=lambda done, total: told.append((done, total)))
    assert sorted(fake.writes) == [(i, X.tobytes()[i : i + 160]) for i in (0, 160, 320)]
    assert told == [(160, 480), (320, 480), (480, 480)]
    client.put(X[:5])
    assert fake.calls[-2:] == ["CreateTensor", "WriteTensor"]

    real = either_client(small_server, connections=3)
    tensor = real.put(X)
    np.testing.assert_array_equal(real.sum(tensor, axis=0), X.sum(axis=0))
    ended = tensor.delete()
    if ended is not None:
        asyncio.run(ended)
    with pytest.raises(ZeroDivisionError):
        real.put(X, progress=lambda done, total: 1 / 0)
