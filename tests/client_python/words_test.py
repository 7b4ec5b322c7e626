"""NumPy's words for how to reduce and what to return, on the client's functions and on tensors."""

import asyncio
import inspect
import pickle

import numpy as np
import pytest
from conftest import SEED, dtype_of

import warpfold
import warpfold.aio
from warpfold._functions import Functions

FUNCTIONS = sorted(
    name
    for name, _ in inspect.getmembers(Functions, inspect.isfunction)
    if not name.startswith("_")
)
WITH_DTYPE = "sum mean prod var std nansum nanmean nanprod nanvar nanstd".split()
WITH_OUT = (
    WITH_DTYPE + "min max ptp any all argmin argmax nanmin nanmax nanargmin nanargmax".split()
)
X = np.random.default_rng(SEED).integers(1, 9, (3, 1, 5)).astype(np.float32)


@pytest.fixture(params=["array", "tensor"])
def call(request, client):
    """A function that calls another by its name: the client's of an array, or a tensor's own."""

    def of_array(name, x, *arguments, **options):
        return getattr(client, name)(x, *arguments, **options)

    def of_tensor(name, x, *arguments, **options):
        with client.put(x) as tensor:
            return getattr(tensor, name)(*arguments, **options)

    return of_array if request.param == "array" else of_tensor


def numpys(name):
    return np.linalg.norm if name == "norm" else getattr(np, name)


@pytest.mark.parametrize("name", sorted({*FUNCTIONS} - {"reduce", "describe"}))
def test_arguments_have_numpys_names_and_places(name):
    own = list(inspect.signature(getattr(warpfold.Client, name)).parameters.values())[2:]
    numpy = list(inspect.signature(numpys(name)).parameters)[1:]
    by_place = [p.name for p in own if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert by_place == numpy[: len(by_place)]
    not_numpys = {p.name for p in own} - {*numpy}
    assert not_numpys <= {"call", "correction"}  # NumPy has the latter from 2.0 on


@pytest.mark.parametrize("tensor", [warpfold.RemoteTensor, warpfold.SharedTensor])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_is_a_method_with_its_words_and_a_docstring(name, tensor):
    of_client, of_tensor = getattr(warpfold.Client, name), getattr(tensor, name)
    expected = [p for p in inspect.signature(of_client).parameters.values() if p.name != "x"]
    assert list(inspect.signature(of_tensor).parameters.values()) == expected
    assert of_tensor.__doc__ and of_tensor.__doc__ == of_client.__doc__
    assert of_tensor.__name__ == name


def test_every_method_answers_what_the_function_does(client):
    with client.put(X) as tensor:
        for name in {*FUNCTIONS} - {"reduce"}:
            expected = getattr(client, name)(X, axis=2)
            got = getattr(tensor, name)(axis=2)
            assert type(got) is type(expected)
            np.testing.assert_equal(got, expected)
        together = client.reduce(X, ["sum", "max"], 1)
        np.testing.assert_equal(dict(tensor.reduce(["sum", "max"], 1)), dict(together))


@pytest.mark.parametrize("name", sorted({*FUNCTIONS} - {"reduce", "describe", "norm"}))
def test_axis_of_no_axes_is_every_element_by_itself(call, name):
    if "arg" in name:
        with pytest.raises(TypeError, match="one axis"):
            call(name, X, axis=())
        return
    expected = numpys(name)(X, axis=())
    got = call(name, X, axis=())
    np.testing.assert_array_equal(got, expected)
    assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
    assert call(name, np.float32(3), axis=()) == numpys(name)(np.float32(3), axis=())


def test_axis_of_no_axes_of_a_tensor_without_an_axis_of_one_says_so(fake, fake_client):
    with fake_client.put(np.ones((2, 3))) as tensor:
        with pytest.raises(ValueError, match=r"^axis is \(\), but .*\(2, 3\) .* pass the array"):
            tensor.sum(axis=())


@pytest.mark.parametrize(
    "words, message",
    [
        ({"keepdims": "no"}, "keepdims is 'no', but must be True or False"),
        ({"keepdims": None}, "keepdims is None"),
        ({"axis": 1.0}, "axis is 1.0, a float, but must be an integer, a tuple"),
        ({"axis": [0, 1]}, r"axis is \[0, 1\], a list, but must be"),
        ({"axis": np.array([0, 1])}, r"axis is array\(\[0, 1\]\), a ndarray, but must be"),
        ({"axis": (0, "1")}, "axis is '1', a str"),
        ({"progress": 3}, "progress is 3, but must be a callable"),
    ],
)
def test_a_wrong_argument_is_named(fake, fake_client, words, message):
    uses = [fake_client.sum, fake_client.nanmax, lambda x, **o: fake_client.reduce(x, ["sum"], **o)]
    for use in uses:
        with pytest.raises(TypeError, match=f"^{message}"):
            use(np.ones((2, 3)), **words)
    assert fake.calls == []


def test_keepdims_may_be_an_integer_as_in_numpy(call):
    for keepdims in (1, np.True_, np.int8(1)):
        assert call("sum", X, axis=2, keepdims=keepdims).shape == (3, 1, 1)
    assert call("sum", X, axis=2, keepdims=0).shape == (3, 1)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_argument_that_is_not_there_is_one_of_the_clients_function(fake_client, name):
    with pytest.raises(TypeError, match=r"^(Client\.)?\w+\(\) missing 1 .*'x'|missing 2 .*'x'"):
        getattr(fake_client, name)()
    method = getattr(warpfold.Client, name)
    assert method.__qualname__ == f"Client.{name}"
    assert pickle.loads(pickle.dumps(method)) is method


def test_the_dtype_of_a_result_that_is_not_held_is_told(fake_client):
    words = r"^dtype is float64, which .* int64, .*; leave dtype out, and convert it: .astype\('f"
    with pytest.raises(TypeError, match=words):
        fake_client.sum(np.ones(3, np.int32), dtype="f8")
    with pytest.raises(TypeError, match="leave dtype out, and round it"):
        fake_client.sum(np.ones(3), dtype="f4")


@pytest.mark.parametrize("one", [1, 1.0, np.float32(1), np.int8(1), True])
@pytest.mark.parametrize("word", ["ddof", "correction"])
def test_ddof_and_correction_are_numbers_of_any_type(call, word, one):
    for name in ("var", "std", "nanvar", "nanstd"):
        expected = numpys(name)(X.astype(np.float64), axis=2, ddof=1)
        got = call(name, X, axis=2, **{word: one})
        np.testing.assert_allclose(got, expected, rtol=1e-6)


@pytest.mark.parametrize("part", [0.5, 2.75, -0.1, np.float32(1.25)])
@pytest.mark.parametrize("word", ["ddof", "correction"])
def test_ddof_and_correction_may_be_fractions(call, word, part):
    for name in ("var", "std", "nanvar", "nanstd"):
        expected = numpys(name)(X.astype(np.float64), axis=2, ddof=part)
        np.testing.assert_allclose(call(name, X, axis=2, **{word: part}), expected, rtol=1e-6)


@pytest.mark.parametrize("wrong", ["1", 1j])
@pytest.mark.parametrize("word", ["ddof", "correction"])
def test_other_ddofs_and_corrections_are_a_type_error(fake, fake_client, word, wrong):
    with pytest.raises(TypeError, match=f"^{word} is .*{type(wrong).__name__}.* number"):
        fake_client.var(np.ones(3), **{word: wrong})
    assert fake.calls == []


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), np.float64("-inf"), 10**400])
@pytest.mark.parametrize("word", ["ddof", "correction"])
def test_ddofs_and_corrections_are_finite(fake, fake_client, word, wrong):
    with pytest.raises(ValueError, match=f"^{word} is .* must be a finite float64"):
        fake_client.var(np.ones(3), **{word: wrong})
    assert fake.calls == []


def test_ddof_and_correction_together_are_a_value_error(fake, fake_client):
    with pytest.raises(ValueError, match="ddof and correction"):
        fake_client.std(np.ones(3), ddof=1, correction=2)
    assert fake.calls == []


@pytest.mark.parametrize("name", WITH_DTYPE)
@pytest.mark.parametrize("dtype", [np.float32, "f8", ">f8", np.longdouble, np.complex128, float])
def test_dtype_widens_the_result(call, name, dtype):
    rounded_once = call(name, X, axis=0)
    got = call(name, X, axis=0, dtype=dtype)
    assert got.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(got, rounded_once)
    scalar = call(name, X, dtype=dtype)
    assert isinstance(scalar, np.generic) and scalar.dtype == np.dtype(dtype).newbyteorder("=")


@pytest.mark.parametrize(
    "name, elements, dtype",
    [
        ("sum", np.float32, np.float16),
        ("mean", np.float64, np.float32),
        ("sum", np.float32, np.int64),
        ("sum", np.int32, np.int32),  # the result is int64
        ("sum", np.int32, np.float64),  # has 53 bits
        ("prod", np.uint8, np.int64),
        ("sum", np.int8, np.uint64),
        ("var", np.int16, np.float32),
        ("sum", np.float32, object),
        ("sum", np.float32, "U40"),
    ],
)
def test_a_dtype_that_would_round_is_a_type_error(fake, fake_client, name, elements, dtype):
    with pytest.raises(TypeError, match=rf"^dtype is .* {name}\(\).*astype"):
        getattr(fake_client, name)(np.ones(3, elements), dtype=dtype)
    assert fake.calls == []


@pytest.mark.parametrize("narrow", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_what_numpy_has_no_name_for_widens(call, narrow):
    x = X.astype(dtype_of(narrow))
    for wide in (np.float32, np.float64):
        total = call("sum", x, dtype=wide)
        assert total.dtype == wide and total == X.sum()
        out = np.zeros((), wide)
        assert call("max", x, out=out) is out and out == X.max()
    with pytest.raises(TypeError, match=f"^dtype is {narrow}"):
        call("sum", X, dtype=x.dtype)


@pytest.mark.parametrize("narrow", ["float8_e4m3fn", "float8_e5m2"])
def test_float16_holds_float8(call, narrow):
    x, out = X.astype(dtype_of(narrow)), np.zeros((), np.float16)
    assert call("max", x, out=out) is out and out == X.max()
    for other in {"float8_e4m3fn", "float8_e5m2"} - {narrow}:
        with pytest.raises(TypeError, match=f"^out is of dtype {other}"):
            call("max", x, out=np.zeros((), dtype_of(other)))
    with pytest.raises(TypeError, match="^out is of dtype float16"):
        call("sum", x, out=out)


@pytest.mark.parametrize("name", WITH_OUT)
def test_out_is_written_and_returned(call, name):
    expected = call(name, X, axis=2, keepdims=True)
    for out in (np.zeros_like(expected), np.zeros((6, 1, 1), expected.dtype)[::2]):
        assert call(name, X, 2, out=out, keepdims=True) is out
        np.testing.assert_array_equal(out, expected)
    of_all = np.zeros((), expected.dtype)
    assert call(name, X, out=of_all) is of_all
    np.testing.assert_array_equal(of_all, call(name, X))


def test_out_may_be_wider(call):
    wide = np.zeros((1, 5))
    assert call("sum", X, axis=0, out=wide) is wide
    np.testing.assert_array_equal(wide, call("sum", X, axis=0))
    indices = np.zeros((1, 5), np.complex64)
    with pytest.raises(TypeError, match="^out is of dtype complex64"):
        call("argmin", X, axis=0, out=indices)
    with pytest.raises(TypeError, match="^out is of dtype float32"):
        call("sum", X, axis=0, dtype=np.float64, out=np.zeros((1, 5), np.float32))


def test_a_wrong_out_is_refused_before_anything_is_sent(fake, fake_client):
    read_only = np.zeros(())
    read_only.setflags(write=False)
    for out, error, message in [
        (np.zeros((), np.float32), TypeError, "^out is of dtype float32"),
        (np.zeros(2), ValueError, r"^out is of shape \(2,\)"),
        ([0.0], TypeError, "^out is a list"),
        (read_only, ValueError, "^out is read-only"),
    ]:
        with pytest.raises(error, match=message):
            fake_client.sum(np.ones(3), out=out)
    assert fake.calls == []


def test_asyncio_awaits_what_is_written(server):
    async def use():
        async with await warpfold.aio.connect(server) as client, await client.put(X) as tensor:
            out = np.zeros(())
            for awaited in (client.sum(X, out=out), tensor.sum(out=out), np.sum(tensor, out=out)):
                out[()] = 0
                assert await awaited is out
                assert out == X.sum()
            assert (await tensor.sum(dtype=np.float64)).dtype == np.float64

    asyncio.run(use())


def test_numpys_functions_take_the_words_for_a_tensor(client):
    out = np.zeros((3, 1, 1))
    with client.put(X) as tensor:
        assert np.sum(tensor, axis=2, dtype=np.float64, out=out, keepdims=True) is out
        assert np.var(tensor, ddof=1.0) == tensor.var(correction=1)
        assert np.count_nonzero(tensor, keepdims=True).shape == (1, 1, 1)
        np.testing.assert_array_equal(np.max(tensor, axis=()), X)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("word", ["initial", "where", "axes", "function", "self_", "dim"])
def test_a_word_that_it_has_not_names_the_function_that_was_called(fake, fake_client, name, word):
    says = f"has no {word}= yet" if word in ("initial", "where") else f"unexpected .*'{word}'"
    given = {"ops": ["sum"]} if name == "reduce" else {}
    with fake_client.put(np.ones(3)) as tensor:
        fake.calls.clear()
        for use in (getattr(tensor, name), lambda **o: getattr(fake_client, name)(np.ones(3), **o)):
            with pytest.raises(TypeError, match=rf"^{name}\(\) .*{says}"):
                use(**given, **{word: None})
        assert fake.calls == []


def test_the_other_calls_name_themselves_too(fake, fake_client):
    part = {"ops": ["sum"], "whole_shape": (3,), "offset": 0}
    with pytest.raises(TypeError, match=r"^put\(\) got an unexpected keyword argument 'lifetime'"):
        fake_client.put(np.ones(3), lifetime=3)
    with pytest.raises(TypeError, match=r"^reduce_part\(\) got an unexpected .*'retries'"):
        fake_client.reduce_part(np.ones(3), **part, retries=3)
    with pytest.raises(TypeError, match=r"merge\(\) got an unexpected .*'retries'"):
        fake_client.merge([], retries=3)
    assert fake.calls == []


def test_initial_and_where_of_numpys_functions_of_a_tensor_say_so(client):
    with client.put(X) as tensor:
        with pytest.raises(TypeError, match=r"^max\(\) has no initial= yet"):
            np.max(tensor, initial=0)
        with pytest.raises(TypeError, match=r"^sum\(\) has no where= yet"):
            np.sum(tensor, where=X > 0)
