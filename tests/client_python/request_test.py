"""The bytes of a request are those that protobuf writes, and every chunk has its place."""

import numpy as np
import pytest

from warpfold import InternalError, _contract
from warpfold._progress import Meter
from warpfold._request import Upload, field_prefix, plan

X = np.arange(24, dtype=np.float64).reshape(2, 3, 4)


@pytest.mark.parametrize("size", [0, 1, 127, 128, 16_383, 16_384, 300_000])
def test_the_prefix_is_what_protobuf_writes(size):
    payload = b"x" * size
    chunk = _contract.ReduceStreamRequest(chunk=payload)
    assert field_prefix(15, size) + payload == chunk.SerializeToString()


def test_a_unary_message_is_what_protobuf_writes():
    call = plan(X, ["var", "sum"], (0, -1), True, omit_nan=True, ddof=1, request_id="r")
    request = _contract.ReduceRequest(
        request_id="r",
        sources=[{"tensor": {"dtype": 13, "shape": [2, 3, 4]}}],
        ops=[{"op": 6, "variance": {"correction": 1}}, {"op": 1}],
        axes=[0, 2],
        keepdims=True,
        nan_policy=1,
        data=X.tobytes(),
    )
    assert call.unary_message() == request.SerializeToString()
    assert call.result_shape == (1, 3, 1)


@pytest.mark.parametrize(
    "function, arguments, op, fields",
    [
        ("prod", {}, "prod", {}),
        ("var", {"ddof": 1.5}, "var", {"correction": 1.5}),
        ("std", {"ddof": 2, "keepdims": True}, "std", {"correction": 2, "keepdims": True}),
        ("argmin", {"axis": 1}, "argmin", {"axes": [1]}),
        ("argmax", {}, "argmax", {}),
        ("ptp", {"axis": 2}, "ptp", {"axes": [2]}),
        ("any", {}, "any", {}),
        ("all", {"axis": (0, 1)}, "all", {"axes": [0, 1]}),
        ("count_nonzero", {}, "count_nonzero", {}),
        ("norm", {}, "l2_norm", {}),
        ("norm", {"axis": (0, 1)}, "l2_norm", {"axes": [0, 1]}),
        ("norm", {"ord": 2, "axis": 0}, "l2_norm", {"axes": [0]}),
        ("norm", {"ord": 1, "axis": (2,)}, "l1_norm", {"axes": [2]}),
        ("nansum", {}, "sum", {"nan_policy": 1}),
        ("nanprod", {}, "prod", {"nan_policy": 1}),
        ("nanmean", {}, "mean", {"nan_policy": 1}),
        ("nanmin", {}, "min", {"nan_policy": 1}),
        ("nanmax", {}, "max", {"nan_policy": 1}),
        ("nanvar", {"ddof": 1}, "var", {"nan_policy": 1, "correction": 1}),
        ("nanstd", {}, "std", {"nan_policy": 1}),
        ("nanargmin", {}, "argmin", {"nan_policy": 1}),
        ("nanargmax", {"axis": 0}, "argmax", {"nan_policy": 1, "axes": [0]}),
    ],
)
def test_each_function_asks_for_its_op(fake, fake_client, function, arguments, op, fields):
    fields = dict(fields)
    fake.answer = b"no answer: what was asked is what counts"
    with pytest.raises(InternalError):
        getattr(fake_client, function)(X, **arguments)
    (request,) = fake.requests
    correction = fields.pop("correction", 0)
    spec = {"variance": {"correction": correction}} if op in ("var", "std") else {}
    expected = _contract.ReduceRequest(
        sources=[{"tensor": {"dtype": 13, "shape": X.shape}}],
        ops=[{"op": _contract.OPS[op], **spec}],
        data=X.tobytes(),
        **fields,
    )
    assert request == expected


def test_over_no_axis_is_over_one_of_length_one():
    call = plan(X, ["sum"], (), True)
    request = call.request
    assert list(request.sources[0].tensor.shape) == [2, 3, 4, 1]
    assert list(request.axes) == [3]
    assert call.result_shape == X.shape


def test_chunks_are_the_payload_in_order():
    call = plan(X, ["sum"], None, False)
    upload = Upload(call.request.SerializeToString(), call.payload, 80)
    header, *chunks = map(_contract.ReduceStreamRequest.FromString, upload)
    assert header.header == call.request
    assert [len(part.chunk) for part in chunks] == [80, 80, 32]
    assert b"".join(part.chunk for part in chunks) == X.tobytes()


def test_progress_is_told_what_has_been_taken():
    seen = []
    told = []
    for _ in Upload(b"header", bytes(192), 80, seen.append):
        told.append(len(seen))
    assert seen == [80, 160, 192]
    assert told == [0, 0, 1, 2]  # never before gRPC came back for the next message


def test_an_error_of_the_progress_callback_ends_the_messages():
    upload = Upload(b"header", bytes(192), 80, lambda done: 1 / 0)
    assert len(list(upload)) == 2
    assert isinstance(upload.error, ZeroDivisionError)


def test_the_progress_of_several_streams_adds_up():
    seen = []
    meter = Meter(100, lambda done, total: seen.append((done, total)))
    first, second = meter.stream(), meter.stream()
    first(10)
    second(30)
    first(5)  # tried again
    second(60)
    assert seen == [(10, 100), (40, 100), (35, 100), (65, 100)]
