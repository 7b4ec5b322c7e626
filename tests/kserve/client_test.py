"""tritonclient[grpc] from PyPI, unmodified, blocking and asyncio, against the real server."""

import asyncio
import doctest
import os
import queue
import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import tritonclient.grpc
import tritonclient.grpc.aio
from tritonclient.utils import InferenceServerException, shared_memory

import warpfold

PAGE = Path(__file__).parents[2] / "docs" / "kserve.md"
SEED = 20261121

NUMPY = {
    "sum": np.sum,
    "min": np.min,
    "max": np.max,
    "mean": np.mean,
    "prod": np.prod,
    "var": np.var,
    "std": np.std,
    "l1_norm": lambda x, axis: np.sum(np.abs(x), axis=axis),
    "l2_norm": lambda x, axis: np.sqrt(np.sum(np.square(x, dtype=np.float64), axis=axis)),
    "argmin": np.argmin,
    "argmax": np.argmax,
    "count_nonzero": np.count_nonzero,
    "any": np.any,
    "all": np.all,
    "nan_count": lambda x, axis: np.sum(np.isnan(x), axis=axis),
    "inf_count": lambda x, axis: np.sum(np.isinf(x), axis=axis),
    "max_abs": lambda x, axis: np.max(np.abs(x), axis=axis),
    "ptp": np.ptp,
}
DESCRIBE = "sum mean std min max l1_norm l2_norm nan_count inf_count".split()
DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()


def assert_same_bits(got, wanted):
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    assert got.tobytes() == wanted.tobytes(), (got, wanted)


def output(answer):
    """The only output of an answer."""
    (only,) = answer.get_response().outputs
    return answer.as_numpy(only.name)


def test_the_server_is_live_and_ready_and_has_a_model_for_each_op(either_client):
    assert either_client.is_server_live()
    assert either_client.is_server_ready()
    names = {model.name for model in either_client.get_model_repository_index().models}
    assert names == {*NUMPY, "describe"}
    assert all(either_client.is_model_ready(name) for name in names)
    assert not either_client.is_model_ready("resnet")
    metadata = either_client.get_model_metadata("describe")
    assert [tensor.name for tensor in metadata.inputs] == ["INPUT"]
    config = either_client.get_model_config("describe").config
    assert [tensor.name for tensor in config.output] == [t.name for t in metadata.outputs]
    assert "statistics" in either_client.get_server_metadata().extensions


def answer_dtype(model, dtype):
    """docs/kserve.md's table of models."""
    kind = np.dtype(dtype).kind
    if model in ("any", "all"):
        return np.dtype(bool)
    if model.startswith("arg") or "count" in model:
        return np.dtype(np.int64)
    if model in ("max_abs", "ptp") and kind == "i":
        return np.dtype(f"u{dtype}")
    if kind == "f" or model in ("min", "max", "max_abs", "ptp"):
        return np.dtype(dtype)
    if model in ("sum", "prod"):
        return np.dtype(np.uint64 if kind == "u" else np.int64)
    return np.dtype(np.float64)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("model", NUMPY)
def test_every_model_answers_with_numpys_bits(client, tensor, model, dtype):
    """Of 4 whole numbers from 0 to 2 every sum, mean and variance is exact in float64, in any order
    of additions, and so has one right answer, rounded once; roots of those are IEEE's."""
    x = np.random.default_rng(SEED).integers(0, 3, (7, 4, 11)).astype(dtype)
    exact = np.asarray(NUMPY[model](x.astype(np.float64), axis=1))
    wanted = exact.astype(answer_dtype(model, dtype))
    assert_same_bits(output(client.infer(model, [tensor(x)], parameters={"axis": 1})), wanted)


def test_bfloat16_goes_both_ways(either_client, tensor):
    x = np.arange(6).reshape(2, 3).astype(ml_dtypes.bfloat16)
    answer = output(either_client.infer("sum", [tensor(x, "BF16")], parameters={"axis": "0"}))
    assert answer.dtype == ml_dtypes.bfloat16
    assert answer.astype(float).tolist() == [3, 5, 7]


def test_parameters_and_ids_travel(either_client, tensor):
    x = np.array([[1, np.nan, 4], [2, 8, np.nan]])
    answer = either_client.infer(
        "var",
        [tensor(x)],
        request_id="me",
        model_version="1",
        parameters={"axis": "0,-1", "keepdims": True, "nan_policy": "omit", "correction": 1},
    )
    assert answer.get_response().id == "me"
    # Mean 15 / 4 and M2 = 1 + 4 + 16 + 64 - 225 / 4 are exact; the division rounds.
    assert_same_bits(output(answer), np.array([[28.75 / 3]]))


@pytest.mark.parametrize("correction", [1, 1.0, 1.5, -0.5])
@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_a_correction_is_any_number(either_client, tensor, dtype, correction):
    """Of 0 to 8 the mean and the squares' sum are whole, so that two roundings are NumPy's bits."""
    x = np.arange(9, dtype=dtype)
    for model, ours in (("var", np.var), ("std", np.std)):
        answer = either_client.infer(model, [tensor(x)], parameters={"correction": correction})
        assert_same_bits(output(answer), np.asarray(ours(x, ddof=correction)))


def test_outputs_come_as_asked_for(either_client, tensor):
    asked = [tritonclient.grpc.InferRequestedOutput(name) for name in ("MAX", "NAN_COUNT")]
    answer = either_client.infer("describe", [tensor(np.arange(9.0))], outputs=asked)
    assert [tensor.name for tensor in answer.get_response().outputs] == ["MAX", "NAN_COUNT"]
    assert answer.as_numpy("MAX") == 8
    assert answer.as_numpy("NAN_COUNT") == 0
    assert answer.as_numpy("SUM") is None


def test_a_large_tensor_and_a_compressed_one(either_client, tensor):
    x = np.arange(8 << 20, dtype=np.float64)
    assert output(either_client.infer("max", [tensor(x)])) == x[-1]
    for algorithm in ("gzip", "deflate"):
        part = x[:100_000]
        answer = either_client.infer("sum", [tensor(part)], compression_algorithm=algorithm)
        assert output(answer) == part.sum()


def test_callbacks_are_called(client, tensor):
    answers = queue.Queue()
    for i in range(20):
        client.async_infer(
            "sum",
            [tensor(np.full(4, i, np.int32))],
            callback=lambda result, error: answers.put((result, error)),
        )
    got = [answers.get(timeout=60) for _ in range(20)]
    assert all(error is None for _, error in got)
    assert sorted(int(output(result)) for result, _ in got) == [4 * i for i in range(20)]


def test_a_stream_answers_in_order_and_outlives_a_bad_request(client, tensor):
    answers = queue.Queue()
    client.start_stream(lambda result, error: answers.put((result, error)))
    for i in range(100):
        name = "resnet" if i == 50 else "sum"
        client.async_stream_infer(
            name,
            [tensor(np.full(4, i, np.int32))],
            request_id=str(i),
            enable_empty_final_response=True,
        )
    for i in range(100):
        result, error = answers.get(timeout=60)
        if i == 50:
            assert "resnet" in str(error)
            continue
        assert error is None
        assert result.get_response().id == str(i)
        assert result.get_response().parameters["triton_final_response"].bool_param
        assert output(result) == 4 * i
    client.stop_stream()
    assert answers.empty()


def test_an_asyncio_stream_answers_in_order(server, tensor):
    async def ask():
        async with tritonclient.grpc.aio.InferenceServerClient(server) as client:

            async def requests():
                for i in range(100):
                    yield {"model_name": "sum", "inputs": [tensor(np.full(4, i, np.int32))]}

            return [
                (int(output(result)), error)
                async for result, error in client.stream_infer(requests())
            ]

    assert asyncio.run(ask()) == [(4 * i, None) for i in range(100)]


def test_statistics_grow_by_what_was_asked(either_client, tensor):
    def counted():
        (stats,) = either_client.get_inference_statistics("argmax").model_stats
        return stats.inference_count, stats.inference_stats.queue.count

    before = counted()
    for _ in range(3):
        either_client.infer("argmax", [tensor(np.arange(3))])
    assert counted() == (before[0] + 3, before[1] + 3)
    assert len(either_client.get_inference_statistics().model_stats) == len(NUMPY) + 1


@pytest.mark.parametrize(
    "model, options, code, start",
    [
        ("resnet", {}, "NOT_FOUND", "model_name: "),
        ("sum", {"model_version": "2"}, "NOT_FOUND", "model_version: "),
        ("sum", {"parameters": {"axis": 7}}, "INVALID_ARGUMENT", "parameters.axis: "),
        ("sum", {"parameters": {"axes": "0"}}, "INVALID_ARGUMENT", "parameters: 'axes'"),
        ("sum", {"timeout": 1_000_000}, "INVALID_ARGUMENT", "parameters: 'timeout'"),
        ("sum", {"priority": 1}, "INVALID_ARGUMENT", "parameters: 'priority'"),
        ("sum", {"sequence_id": 5}, "INVALID_ARGUMENT", "parameters: 'sequence_"),
    ],
)
def test_what_is_refused_says_why(either_client, tensor, model, options, code, start):
    with pytest.raises(InferenceServerException) as refused:
        either_client.infer(model, [tensor(np.arange(3))], **options)
    assert refused.value.status() == f"StatusCode.{code}"
    assert refused.value.message().startswith(start)


def test_strings_are_refused(either_client, tensor):
    with pytest.raises(InferenceServerException, match="inputs.datatype: BYTES"):
        either_client.infer("sum", [tensor(np.array([b"a", b"b"], dtype=object))])


@pytest.fixture
def region():
    """Makes registered regions of shared memory, by tritonclient's own helpers."""
    made = []

    def make(client, name, bytes_):
        key = f"/warpfold_kserve_{os.getpid()}_{name}"
        handle = shared_memory.create_shared_memory_region(name, key, bytes_)
        made.append((client, name, handle))
        client.register_system_shared_memory(name, key, bytes_)
        return handle

    yield make
    for client, name, handle in made:
        client.unregister_system_shared_memory(name)
        shared_memory.destroy_shared_memory_region(handle)


def test_inputs_and_outputs_in_shared_memory(either_client, region):
    x = np.random.default_rng(SEED).integers(-8000, 8000, (300, 70)).astype(np.float32) / 8
    source = region(either_client, "in", 100 + x.nbytes)
    target = region(either_client, "out", 4096)
    shared_memory.set_shared_memory_region(source, [x], offset=100)
    tensor = tritonclient.grpc.InferInput("INPUT", x.shape, "FP32")
    tensor.set_shared_memory("in", x.nbytes, offset=100)
    outputs = [tritonclient.grpc.InferRequestedOutput(name) for name in ("MAX", "SUM")]
    outputs[0].set_shared_memory("out", 70 * 4, offset=64)
    answer = either_client.infer("describe", [tensor], outputs=outputs, parameters={"axis": 0})
    maxima = shared_memory.get_contents_as_numpy(target, np.float32, [70], offset=64)
    assert_same_bits(maxima, x.max(axis=0))
    # Eighths below 2^20: every order of additions is exact, and so is the rounding to float32.
    assert_same_bits(answer.as_numpy("SUM"), x.sum(axis=0))
    shared_memory.set_shared_memory_region(source, [x + 1], offset=100)
    either_client.infer("describe", [tensor], outputs=outputs, parameters={"axis": 0})
    assert_same_bits(maxima, (x + 1).max(axis=0))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("axis", [0, 1])
def test_sums_that_round_have_the_bits_of_warpfold_v1(server, client, tensor, axis, dtype):
    """Numbers of which float64 additions lose some."""
    rng = np.random.default_rng(SEED)
    x = (rng.standard_normal((301, 1003)) * 2.0 ** rng.integers(-9, 5, (301, 1003))).astype(dtype)
    with warpfold.connect(server) as v1:
        wanted = v1.reduce(x, DESCRIBE, axis)
    answer = client.infer("describe", [tensor(x)], parameters={"axis": axis})
    for op in DESCRIBE:
        assert_same_bits(answer.as_numpy(op.upper()), wanted[op])


def test_answers_name_the_rules_of_their_numbers_and_a_request_may_demand_them(client, tensor):
    inputs = [tensor(np.ones(3, np.float32))]
    answer = client.infer("sum", inputs, parameters={"required_numerics_version": 1})
    assert answer.get_response().parameters["numerics_version"].int64_param == 1
    with pytest.raises(InferenceServerException) as caught:
        client.infer("sum", inputs, parameters={"required_numerics_version": 2})
    assert caught.value.status() == "StatusCode.FAILED_PRECONDITION"
    assert caught.value.message() == (
        "parameters.required_numerics_version: 2 is asked for, but this server has version 1"
    )


def test_regions_are_listed_and_end(either_client, region):
    region(either_client, "a", 64)
    region(either_client, "b", 128)
    status = either_client.get_system_shared_memory_status()
    assert {name: r.byte_size for name, r in status.regions.items()} == {"a": 64, "b": 128}
    either_client.unregister_system_shared_memory("a")
    assert list(either_client.get_system_shared_memory_status().regions) == ["b"]
    either_client.unregister_system_shared_memory()
    assert not either_client.get_system_shared_memory_status().regions


def test_regions_that_are_refused_say_why(either_client, region):
    region(either_client, "in", 64)
    key = f"/warpfold_kserve_{os.getpid()}_in"
    for name, key, byte_size, code in (
        ("in", "/warpfold_x", 64, "ALREADY_EXISTS"),
        ("other", "/somewhere_else", 64, "PERMISSION_DENIED"),
        ("other", "/warpfold_kserve_none", 64, "NOT_FOUND"),
        ("other", key, 65, "INVALID_ARGUMENT"),
    ):
        with pytest.raises(InferenceServerException) as refused:
            either_client.register_system_shared_memory(name, key, byte_size)
        assert refused.value.status() == f"StatusCode.{code}"


def test_what_this_server_does_not_have_is_unimplemented(client):
    for call in (
        client.get_trace_settings,
        client.get_log_settings,
        lambda: client.load_model("sum"),
        lambda: client.unload_model("sum"),
    ):
        with pytest.raises(InferenceServerException) as refused:
            call()
        assert refused.value.status() == "StatusCode.UNIMPLEMENTED"


def test_the_example_of_the_page(server):
    (example,) = re.findall(r"^```python$(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    example = example.replace("localhost:50051", server)
    test = doctest.DocTestParser().get_doctest(example, {}, "kserve.md", str(PAGE), 0)
    assert test.examples
    assert doctest.DocTestRunner().run(test).failed == 0
