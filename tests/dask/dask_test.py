"""warpfold.dask on a cluster: the bits of one server's answer to the whole array."""

import doctest
import itertools
import os
import signal
import threading
from pathlib import Path

import dask
import dask.array as da
import ml_dtypes
import numpy as np
import printed_page
import pytest

import warpfold
import warpfold.dask as wd

SEED = 20261121
pytestmark = pytest.mark.usefixtures("cluster")


def array(shape, dtype=np.float32):
    """Values whose float sums depend on the order of additions."""
    dtype = np.dtype(dtype)
    places = 4 if dtype.name.startswith("float8") else 9  # one of them ends at 448
    rng = np.random.default_rng(SEED)
    x = rng.standard_normal(shape) * 2.0 ** rng.integers(-places, places, shape)
    return (x if "float" in dtype.name else x * 10).astype(dtype)


def assert_same_bits(got, expected):
    computed = got.compute()
    assert np.asarray(computed).tobytes() == np.asarray(expected).tobytes()
    assert np.shape(computed) == np.shape(expected) == got.shape
    assert np.asarray(computed).dtype == np.asarray(expected).dtype == got.dtype


def test_the_module_lists_what_it_offers_alone():
    assert [name for name in dir(wd) if not name.startswith("_")] == wd.__all__


FUNCTIONS = [name for name in wd.__all__ if name != "reduce"]


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_answers_as_one_server_would(targets, whole, function, axis):
    x = array((600, 70))
    for chunks in ((100, 70), (100, 30)):
        y = da.from_array(x, chunks=chunks)
        got = getattr(wd, function)(y, axis=axis, servers=targets)
        assert_same_bits(got, getattr(whole, function)(x, axis=axis))


@pytest.mark.parametrize(
    "dtype",
    [
        *(np.int64, np.uint8, np.bool_, np.float16, np.float64),
        *(ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2),
    ],
)
@pytest.mark.parametrize("keepdims", [False, True])
def test_several_ops_of_every_kind_of_dtype_in_one_pass(targets, whole, dtype, keepdims):
    x = array((50, 40, 30), dtype)
    # distributed 2026.8 sends an array of float8_e5m2 as one of "<f1", which no NumPy reads.
    scheduler = "threads" if dtype is ml_dtypes.float8_e5m2 else None
    ops = ["sum", "min", "mean", "std", "ptp", "max_abs", "argmax", "nan_count"]
    for axis in (0, (1, 2), (2, 0), None):
        if axis == (2, 0):
            ops.remove("argmax")
        found = wd.reduce(
            da.from_array(x, chunks=(16, 20, 30)), ops, axis, keepdims=keepdims, servers=targets
        )
        expected = whole.reduce(x, ops, axis, keepdims=keepdims)
        computed = dask.compute(*(found[op] for op in ops), scheduler=scheduler)
        for op, got in zip(ops, computed):
            assert np.asarray(got).tobytes() == np.asarray(expected[op]).tobytes(), op
            assert found[op].dtype == np.asarray(got).dtype == expected[op].dtype
            assert np.shape(got) == found[op].shape == np.shape(expected[op])


def test_the_arguments_of_var_and_of_nan_functions_go_along(targets, whole):
    x = array((4096,))
    x[::7] = np.nan
    y = da.from_array(x, chunks=1024)
    found = wd.reduce(y, ["var"], omit_nan=True, ddof=1, servers=targets)
    assert_same_bits(found["var"], whole.nanvar(x, ddof=1))


def test_servers_near_a_worker_take_turns(servers, targets):
    before = [server.reductions() for server in servers]
    wd.sum(da.ones(1 << 16, chunks=1 << 12), servers=["far.invalid:1", *targets]).compute()
    shares = [server.reductions() - b for server, b in zip(servers, before)]
    assert sum(shares) == 16 and min(shares) >= 2


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_a_server_that_dies_in_the_middle_changes_nothing(two_servers, whole, scheduler):
    dying, other = two_servers
    lock = threading.Lock()

    def kill_in_the_middle(block):
        with lock:
            if dying.process.poll() is None and dying.reductions() >= 2:
                dying.process.kill()
                dying.process.wait()
        return block

    x = array((1 << 14, 3))
    y = da.from_array(x, chunks=(1 << 10, 3)).map_blocks(kill_in_the_middle, dtype=x.dtype)
    with dask.config.set(scheduler=scheduler, num_workers=2):
        got = wd.std(y, axis=0, servers=[server.target for server in two_servers])
        assert_same_bits(got, whole.std(x, axis=0))
    assert dying.process.poll() == -signal.SIGKILL
    assert 8 < other.reductions() <= 14


def test_a_server_of_a_clusters_dies_in_the_middle(two_servers, whole):
    pid = two_servers[0].process.pid

    def kill_in_the_middle(block, block_info):
        if block_info[0]["chunk-location"] == (8,):
            os.kill(pid, signal.SIGKILL)
        return block

    x = array((1 << 14,))
    y = da.from_array(x, chunks=1 << 10).map_blocks(kill_in_the_middle, dtype=x.dtype)
    got = wd.sum(y, servers=[server.target for server in two_servers])
    assert_same_bits(got, whole.sum(x))
    assert two_servers[0].process.wait() == -signal.SIGKILL


def test_a_server_that_is_gone_is_asked_last_for_a_while(targets):
    asked = []

    def connect_once(address):
        asked.append(address)
        return warpfold.connect(address, retry=warpfold.RetryPolicy(attempts_max=1))

    gone = "127.0.0.1:1"
    for _ in range(2):
        x = da.ones(1 << 14, chunks=1 << 10)
        with dask.config.set(scheduler="synchronous"):
            total = wd.sum(x, servers=[gone, targets[0]], connect=connect_once)
            assert total.compute() == 1 << 14
    assert sorted(asked) == sorted([gone, targets[0]])


def test_without_any_server_it_is_an_error():
    x = da.ones(1 << 14, chunks=1 << 10)
    with pytest.raises(warpfold.UnavailableError, match=r"^127\.0\.0\.1:[12]: "):
        wd.sum(x, servers=["127.0.0.1:1", "127.0.0.1:2"]).compute()


def test_a_worker_may_have_a_server_of_its_own(cluster, servers, targets):
    workers = list(cluster.scheduler_info()["workers"])

    def settle(target):
        dask.config.set({"warpfold.servers": target})

    for worker, target in zip(workers, targets):
        cluster.run(settle, target, workers=[worker])
    try:
        for worker, server in zip(workers, servers):
            before = server.reductions()
            total = wd.sum(da.ones(1 << 14, chunks=1 << 12))
            assert cluster.compute(total, workers=[worker]).result() == 1 << 14
            assert server.reductions() - before == 4
    finally:
        cluster.run(settle, None)


def test_without_servers_it_is_the_one_that_connect_goes_by(targets, monkeypatch):
    total = wd.sum(da.ones(1 << 12, chunks=1 << 10))
    with dask.config.set(scheduler="synchronous"):
        monkeypatch.setenv("WARPFOLD_TARGET", targets[1])
        assert total.compute() == 1 << 12
        monkeypatch.setenv("WARPFOLD_TARGET", "127.0.0.1:1")
        words = r"is warpfold-server running at 127\.0\.0\.1:1\?$"
        with pytest.raises(warpfold.UnavailableError, match=words):
            total.compute()


def test_no_servers_at_all_are_an_error_before_anything_runs():
    with pytest.raises(ValueError, match="^servers is empty"):
        wd.sum(da.ones(8), servers=[])


@pytest.mark.parametrize("function", FUNCTIONS)
def test_over_all_axes_the_result_is_a_scalar_as_dasks(targets, function):
    x = da.ones((4, 4), chunks=2, dtype=np.float32)
    with dask.config.set(scheduler="synchronous"):
        got = getattr(wd, function)(x, servers=targets).compute()
        dasks = getattr(da, function)(x).compute()
        assert isinstance(got, np.generic) and isinstance(dasks, np.generic)
        kept = getattr(wd, function)(x, servers=targets, keepdims=True).compute()
        assert type(kept) is np.ndarray and kept.shape == (1, 1)
        later = (getattr(wd, function)(x, servers=targets) + 1).compute()
        assert later == got + 1


@pytest.mark.parametrize("axis", [None, 0])
@pytest.mark.parametrize("function", [name for name in FUNCTIONS if name.startswith("nan")])
def test_nan_functions_leave_nan_out_of_every_block(targets, whole, function, axis):
    x = array((600, 7))
    x[::7] = np.nan
    x[100:200] = np.nan  # a block of nothing else
    got = getattr(wd, function)(da.from_array(x, chunks=(100, 7)), axis=axis, servers=targets)
    assert_same_bits(got, getattr(whole, function)(x, axis=axis))
    assert not np.isnan(got.compute()).any()


def connect_with_a_timeout(address):
    return warpfold.connect(address, timeout=30)


def test_a_client_goes_to_a_worker_by_its_address(cluster, whole):
    assert cluster.submit(whole.sum, [1.0, 2.0, 4.0]).result() == 7.0


@pytest.mark.parametrize("scheduler", ["threads", "processes", "synchronous"])
def test_other_schedulers_and_connect(targets, scheduler):
    x = da.arange(5000, chunks=1000, dtype=np.int32)
    with dask.config.set(scheduler=scheduler):
        total = wd.sum(x, servers=targets[0], connect=connect_with_a_timeout)
        assert total.compute() == 5000 * 4999 // 2


def test_states_are_merged_a_few_at_a_time(targets, whole):
    x = array((3000, 4))
    y = da.from_array(x, chunks=(8, 4))
    assert_same_bits(wd.std(y, axis=0, servers=targets, split_every=3), whole.std(x, axis=0))


@pytest.mark.parametrize(
    "shape, chunks",
    [
        ((61, 47), ((13, 1, 30, 17), (5, 40, 1, 1))),
        ((11, 23, 17), ((1, 3, 7), (10, 1, 12), (2, 1, 13, 1))),
    ],
)
def test_any_grid_has_the_bits_of_one_answer(targets, whole, shape, chunks):
    x = array(shape)
    y = da.from_array(x, chunks=chunks)
    ops = ["sum", "mean", "var", "argmin", "argmax"]
    all_axes = range(len(shape))
    with dask.config.set(scheduler="threads"):
        for axes in itertools.chain(*(itertools.combinations(all_axes, n + 1) for n in all_axes)):
            found = wd.reduce(y, ops, axes, servers=targets)
            expected = whole.reduce(x, ops, axes)
            for op, got in zip(ops, dask.compute(*(found[op] for op in ops))):
                assert np.asarray(got).tobytes() == np.asarray(expected[op]).tobytes(), (axes, op)
                assert np.shape(got) == np.shape(expected[op])


@pytest.mark.parametrize(
    "x, options, error, words",
    [
        (np.ones(3), {}, TypeError, "not a dask.array.Array"),
        (da.ones(3, dtype=complex), {}, TypeError, "cannot reduce dtype complex128"),
        (da.ones(3), {"axis": 1}, ValueError, "out of bounds"),
        (da.ones(3), {"axis": ()}, ValueError, "no axis"),
        (da.ones(3)[da.ones(3) > 0], {}, ValueError, "compute_chunk_sizes"),
    ],
)
def test_wrong_arguments_are_errors_before_anything_runs(x, options, error, words):
    with pytest.raises(error, match=words):
        wd.sum(x, servers="nowhere.invalid:1", **options)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_wrong_keyword_names_the_function_that_was_called(function):
    call = getattr(wd, function)
    has_ddof = function.endswith(("var", "std"))
    for word in ("dtype", "omit_nan", "axes") + (() if has_ddof else ("ddof",)):
        words = rf"^{function}\(\) got an unexpected keyword argument '{word}'$"
        with pytest.raises(TypeError, match=words):
            call(da.ones(3), **{word: 1})
    with pytest.raises(TypeError, match=rf"^{function}\(\) has no where= yet$"):
        call(da.ones(3), where=True)


def test_wrong_ops_are_errors_before_anything_runs():
    for ops, error in ((["median"], ValueError), ([], ValueError), ("sum", TypeError)):
        with pytest.raises(error, match="ops? "):
            wd.reduce(da.ones(3), ops, servers="nowhere.invalid:1")


def test_an_error_of_a_server_is_the_callers(targets):
    with pytest.raises(warpfold.OutOfRangeError, match=str(2**64)):
        wd.sum(da.full(4, 2**62, chunks=2), servers=targets).compute()
    with pytest.raises(warpfold.InvalidArgumentError, match="no identity|empty|no elements"):
        wd.min(da.ones((0, 3)), axis=0, servers=targets).compute()


def test_the_examples_of_the_module(targets):
    names = {"server": targets[0], "np": np}
    assert doctest.testmod(wd, extraglobs=names).failed == 0


def test_the_readme_runs_as_it_is_printed(targets):
    page = Path(warpfold.__file__).parents[1] / "README.md"
    assert "dask" not in printed_page.run(page, targets[0], without={"torch"})
