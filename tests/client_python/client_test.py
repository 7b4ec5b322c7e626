"""Both clients against the fake server: the choice of method, retries, errors, lies.

Each test body is written once, against the blocking client; the asyncio one takes part behind the
same calls (conftest.either_client).
"""

import re
import threading
import traceback

import grpc
import numpy as np
import pytest
from conftest import FAST_RETRY, SEED
from fake_server import HANG, FakeServer, Failure, sum_answer

import warpfold
from warpfold import _contract

ONES = np.ones(6)
CODE = grpc.StatusCode


def test_a_small_tensor_is_one_message(fake, either_client):
    client = either_client(fake.target)
    answer = client.reduce(ONES, ["sum"], request_id="mine")
    assert answer == {"sum": 6.0}
    assert (answer.request_id, answer.device, answer.attempts) == ("mine", "fake", 1)
    assert fake.calls == ["Reduce"]


@pytest.mark.parametrize("count", [0, 1, 1250, 1251, 2048, 2049, 5000])
def test_every_size_arrives_whole_by_either_method(fake, either_client, count):
    client = either_client(fake.target, stream_threshold_bytes=10_000, chunk_bytes=8192)
    x = np.random.default_rng(SEED).integers(0, 2**40, count).astype(np.float64)
    assert client.sum(x) == x.sum()
    assert fake.calls == ["ReduceStream" if count > 1250 else "Reduce"]
    assert fake.requests[0].data == x.tobytes()
    if count == 2049:
        assert fake.chunk_sizes == [8192, 8192, 8]


def test_a_tensor_over_the_servers_message_limit_is_streamed(fake, either_client):
    fake.info.limits.max_message_bytes = 1000
    client = either_client(fake.target)
    client.sum(np.ones(120))
    client.sum(np.ones(200))
    assert fake.calls == ["Reduce", "ReduceStream"]


@pytest.mark.parametrize("threshold, seen", [(0, [800, 1600, 2000]), (10_000, [2000])])
def test_progress_grows_to_the_tensors_bytes(fake, either_client, threshold, seen):
    client = either_client(fake.target, stream_threshold_bytes=threshold, chunk_bytes=800)
    told = []
    client.sum(np.ones(250), progress=lambda done, total: told.append((done, total)))
    assert told == [(done, 2000) for done in seen]


@pytest.mark.parametrize("threshold", [0, 10_000])
def test_an_error_of_the_progress_callback_is_the_callers(fake, either_client, threshold):
    client = either_client(fake.target, stream_threshold_bytes=threshold, chunk_bytes=800)
    with pytest.raises(ZeroDivisionError):
        client.sum(np.ones(250), progress=lambda done, total: 1 / 0)


@pytest.mark.parametrize("threshold", [0, 10_000])
@pytest.mark.parametrize(
    "failure",
    [
        Failure(CODE.UNAVAILABLE),
        Failure(CODE.CANCELLED),  # of a server in the moment of its shutdown
        Failure(CODE.RESOURCE_EXHAUSTED, pushback_ms=1),
        Failure(CODE.RESOURCE_EXHAUSTED, retry_info_ms=1),
    ],
)
def test_what_may_succeed_later_is_tried_again(fake, either_client, failure, threshold):
    client = either_client(fake.target, stream_threshold_bytes=threshold)
    fake.failures = [failure] * 3
    answer = client.reduce(ONES, ["sum"])
    assert answer == {"sum": 6.0}
    assert answer.attempts == 4
    assert len(fake.calls) == 4


@pytest.mark.parametrize(
    "failure, error",
    [
        (Failure(CODE.RESOURCE_EXHAUSTED), warpfold.ResourceExhaustedError),
        (Failure(CODE.UNAVAILABLE, pushback_ms=-1), warpfold.UnavailableError),
        (Failure(CODE.INVALID_ARGUMENT, pushback_ms=1), warpfold.InvalidArgumentError),
        (Failure(CODE.OUT_OF_RANGE, pushback_ms=1), warpfold.OutOfRangeError),
        (Failure(CODE.UNIMPLEMENTED, pushback_ms=1), warpfold.UnimplementedError),
        (Failure(CODE.INTERNAL, pushback_ms=1), warpfold.InternalError),
        (Failure(CODE.DEADLINE_EXCEEDED), warpfold.DeadlineExceededError),
        (Failure(CODE.NOT_FOUND), warpfold.NotFoundError),
        (Failure(CODE.DATA_LOSS, pushback_ms=1), warpfold.DataLossError),
        (Failure(CODE.FAILED_PRECONDITION), warpfold.FailedPreconditionError),
        (Failure(CODE.PERMISSION_DENIED), warpfold.PermissionDeniedError),
        (Failure(CODE.UNAUTHENTICATED), warpfold.UnauthenticatedError),
        (Failure(CODE.ALREADY_EXISTS), warpfold.WarpfoldError),
    ],
)
def test_what_is_final_is_raised_with_code_and_message(fake, either_client, failure, error):
    client = either_client(fake.target)
    fake.failures = [failure]
    with pytest.raises(warpfold.WarpfoldError, match="planned") as caught:
        client.sum(ONES)
    assert type(caught.value) is error
    assert caught.value.code is failure.code
    assert len(fake.calls) == 1


def test_attempts_are_bounded_and_the_error_says_how_many(fake, either_client):
    retry = warpfold.RetryPolicy(attempts_max=5, backoff_first_s=0.001)
    client = either_client(fake.target, retry=retry)
    fake.failures = [Failure(CODE.UNAVAILABLE)] * 100
    with pytest.raises(warpfold.UnavailableError) as caught:
        client.sum(ONES)
    assert str(caught.value) == f"{fake.target}: planned (after 5 attempts)"
    assert caught.value.attempts == 5
    assert len(fake.calls) == 5


@pytest.mark.parametrize("threshold", [0, 10_000])
def test_a_server_that_hangs_is_left_at_the_timeout(fake, either_client, threshold):
    client = either_client(fake.target, stream_threshold_bytes=threshold)
    fake.release.clear()
    with pytest.raises(warpfold.DeadlineExceededError):
        client.sum(ONES, timeout=0.05)


def test_a_deadline_that_passes_during_a_retry_names_the_failure_before(fake, either_client):
    client = either_client(fake.target)
    fake.failures = [Failure(CODE.RESOURCE_EXHAUSTED, pushback_ms=1), HANG]
    words = r", before that planned \(after 2 attempts\); timeout= sets another limit$"
    with pytest.raises(warpfold.DeadlineExceededError, match=words):
        client.sum(ONES, timeout=0.5)


GONE_SOON = warpfold.RetryPolicy(backoff_first_s=0.001, refused_max_s=0.1)


@pytest.mark.parametrize("size, threshold", [(6, 10_000), (1 << 17, 2 << 20), (1 << 17, 0)])
def test_a_server_that_is_gone_is_given_up_long_before_the_timeout(
    either_client, caplog, size, threshold
):
    # A timeout that nobody waits for: without a limit the test would not end.
    with FakeServer() as fake:
        client = either_client(
            fake.target, timeout=10_000, retry=GONE_SOON, stream_threshold_bytes=threshold
        )
        client.sum(np.ones(size))
    with pytest.raises(warpfold.UnavailableError) as gone:
        client.sum(np.ones(size))
    assert str(gone.value).endswith(f"; is warpfold-server running at {fake.target}?")
    assert gone.value.attempts > 2
    (record,) = caplog.records  # of the first retry alone
    assert (record.name, record.levelname) == ("warpfold", "WARNING")
    assert re.match(f"retrying reduce\\w* of {fake.target}: .", record.getMessage())


def test_a_client_says_at_connecting_where_a_server_is_missing(either_client):
    with FakeServer() as fake:
        pass
    words = f"; is warpfold-server running at {fake.target}\\?$"
    with pytest.raises(warpfold.UnavailableError, match=words):
        either_client(fake.target)


def test_the_traceback_of_an_error_is_one(fake, either_client, other_service):
    client = either_client(fake.target, stream_threshold_bytes=8)
    fake.failures = [Failure(CODE.INVALID_ARGUMENT, "axes: planned")] * 2

    def missing():
        with FakeServer() as gone:
            pass
        either_client(gone.target)

    for use in (
        lambda: client.sum(ONES[:1]),
        lambda: client.sum(ONES),
        lambda: either_client(other_service),
        missing,
    ):
        with pytest.raises(warpfold.WarpfoldError) as caught:
            use()
        text = "".join(traceback.format_exception(None, caught.value, caught.value.__traceback__))
        assert text.count("Traceback") == 1
        assert "RpcError" not in text
        assert isinstance(caught.value.code, grpc.StatusCode)
    assert fake.failures == []


def test_a_server_that_is_full_is_no_warning(fake, either_client, caplog):
    caplog.set_level("INFO", "warpfold")
    client = either_client(fake.target)
    fake.failures = [Failure(CODE.RESOURCE_EXHAUSTED, pushback_ms=1)] * 2
    client.sum(ONES)
    (record,) = caplog.records
    assert (record.levelname, record.getMessage()) == (
        "INFO",
        f"retrying reduce of {fake.target}: planned",
    )


def test_an_upload_that_waits_for_room_warns_and_says_what_makes_it(fake, either_client, caplog):
    client = either_client(fake.target)
    fake.failures = [Failure(CODE.RESOURCE_EXHAUSTED, "memory is full", pushback_ms=1)] * 2
    client.put(ONES)
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert record.getMessage() == (
        f"retrying create_tensor of {fake.target}: memory is full; tensors that end make room: by "
        "delete(), the end of their `with` block, or a shorter ttl="
    )


@pytest.mark.parametrize("seconds", ["60", b"1", [1], 1j])
def test_a_time_that_is_no_number_names_its_argument(fake, either_client, seconds):
    client = either_client(fake.target)
    for name, use in [
        ("timeout", lambda: client.sum(ONES, timeout=seconds)),
        ("ttl", lambda: client.put(ONES, ttl=seconds)),
        *(
            (name, lambda name=name: either_client(fake.target, **{name: seconds}))
            for name in ("timeout", "ping_after", "ping_timeout")
        ),
    ]:
        with pytest.raises(TypeError, match=f"^{name} is .*, but must be a number of seconds$"):
            use()
    assert "Reduce" not in fake.calls


@pytest.mark.parametrize("axis", [True, False, (0, True)])
def test_a_truth_value_is_no_axis_as_in_numpy(fake, either_client, axis):
    client = either_client(fake.target)
    with pytest.raises(TypeError):
        np.sum(np.ones((2, 3)), axis=axis)
    for x in (np.ones((2, 3)), *(() if isinstance(axis, tuple) else (np.float64(1),))):
        for function in ("sum", "mean", "argmax", "nansum", "describe"):
            with pytest.raises(TypeError, match="^axis is"):
                getattr(client, function)(x, axis=axis)
    assert fake.calls == []


@pytest.mark.parametrize("timeout", [1e9, 9.3e9, 1e300, 10**400])
@pytest.mark.parametrize("threshold", [0, 10_000])
def test_a_timeout_may_be_as_long_as_one_likes(fake, either_client, timeout, threshold):
    client = either_client(fake.target, timeout=timeout, stream_threshold_bytes=threshold)
    assert client.sum(ONES) == client.sum(ONES, timeout=timeout) == 6.0


def test_an_error_before_the_last_chunk_is_the_error(fake, either_client):
    client = either_client(fake.target, chunk_bytes=1024)
    fake.failures = [Failure(CODE.INVALID_ARGUMENT)]
    with pytest.raises(warpfold.InvalidArgumentError, match="planned"):
        client.sum(np.ones(4 << 20))


def lies():
    """Answers to a sum of two columns, each with one thing wrong."""
    truth = _contract.ReduceResponse()
    truth.results.add(spec={"op": 1}, data=bytes(16))
    truth.results[0].tensor.dtype = 13
    truth.results[0].tensor.shape.append(2)

    def lie(change):
        answer = _contract.ReduceResponse.FromString(truth.SerializeToString())
        change(answer, answer.results[0])
        return answer.SerializeToString()

    def set_shape(result, *shape):
        result.tensor.shape[:] = shape

    whole = truth.SerializeToString()
    return {
        "another op": lie(lambda a, r: setattr(r.spec, "op", 2)),
        "no dtype": lie(lambda a, r: setattr(r.tensor, "dtype", 0)),
        "an unknown dtype": lie(lambda a, r: setattr(r.tensor, "dtype", 99)),
        "another shape": lie(lambda a, r: set_shape(r, 1, 2)),
        "a negative shape": lie(lambda a, r: set_shape(r, -2)),
        "too few bytes": lie(lambda a, r: setattr(r, "data", bytes(15))),
        "too many bytes": lie(lambda a, r: setattr(r, "data", bytes(24))),
        "a narrower dtype": lie(lambda a, r: setattr(r.tensor, "dtype", 12)),
        "a dimension of its own": lie(lambda a, r: setattr(r, "trailing_dims", 1)),
        "no result": lie(lambda a, r: a.results.pop()),
        "two results": lie(lambda a, r: a.results.add()),
        "cut off": whole[:-3],
        "not a message": b"\xff\xff\xff\xff",
    }


@pytest.mark.parametrize("lie", lies())
def test_an_answer_to_something_else_is_an_internal_error(fake, either_client, lie):
    client = either_client(fake.target)
    fake.answer = lies()[lie]
    with pytest.raises(warpfold.InternalError, match="server"):
        client.sum(np.ones((3, 2)), axis=0)


def test_nobody_listening_is_unavailable_and_names_the_target(either_client):
    with FakeServer() as gone:
        target = gone.target
    with pytest.raises(warpfold.UnavailableError, match=target):
        either_client(target)


def test_a_server_of_something_else_is_named_as_such(other_service, either_client):
    with pytest.raises(warpfold.WrongServerError, match=f"{other_service} is not a warpfold"):
        either_client(other_service)


def test_info_is_the_servers_own(fake, either_client):
    fake.info.Clear()
    fake.info.version = "9.9"
    fake.info.backend = "cuda"
    fake.info.devices.add(name="cuda:0", model="GPU", memory_bytes=5)
    fake.info.limits.max_rank = 7
    fake.info.ops.extend([2, 99])
    fake.info.dtypes.extend([12, 99])
    fake.info.numerics_version = 3
    for kind in (3, 99):
        fake.info.state_revisions.add(kind=kind, oldest=1, newest=2)
    assert either_client(fake.target).info() == warpfold.ServerInfo(
        version="9.9",
        backend="cuda",
        devices=(warpfold.Device("cuda:0", "GPU", 5),),
        limits=warpfold.Limits(*(7 * (name == "max_rank") for name in warpfold.Limits._fields)),
        ops=("min", "op 99"),
        dtypes=("float32", "dtype 99"),
        shared_memory_prefix="",
        numerics_version=3,
        state_revisions={"SQUARE_SUM_VALUES": (1, 2), "kind 99": (1, 2)},
    )


@pytest.mark.parametrize(
    "options, message",
    [
        ({"timeout": -1}, "timeout is -1"),
        ({"chunk_bytes": 0}, "chunk_bytes is 0"),
        ({"connections": 0}, "connections is 0"),
    ],
)
def test_wrong_options_are_value_errors(fake, either_client, options, message):
    with pytest.raises(ValueError, match=message):
        either_client(fake.target, **options)


def test_threads_share_one_client(fake):
    with warpfold.connect(fake.target, stream_threshold_bytes=4000, retry=FAST_RETRY) as client:
        right = []

        def work(number):
            for i in range(20):
                x = np.full(100 * (number + 1) * (i % 5 + 1), float(number))
                right.append(client.sum(x) == x.sum())

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert right == [True] * 80


def test_the_real_servers_words_for_what_it_lacks(server, either_client):
    client = either_client(server)
    lacking = sorted(set(_contract.OPS) - set(client.info().ops))
    for op in lacking:
        with pytest.raises(
            NotImplementedError, match=f"^ops: OP_{op.upper()} is not in this server"
        ):
            client.reduce(ONES, [op])


def test_both_clients_have_the_same_names():
    names = {name for name in dir(warpfold.Client) if not name.startswith("_")}
    assert names == {name for name in dir(warpfold.aio.Client) if not name.startswith("_")}


def test_an_answer_of_the_fake_is_believed(fake, either_client):
    """The lies above are refused for what is wrong in them alone."""
    fake.answer = sum_answer(_contract.ReduceRequest(data=ONES.tobytes())).SerializeToString()
    assert either_client(fake.target).sum(np.zeros(3)) == 6.0
