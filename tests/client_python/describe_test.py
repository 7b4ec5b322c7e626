"""The statistics of many tensors by their names, such as a module's state_dict()."""

import asyncio

import numpy as np
import pytest
from conftest import SEED
from fake_torch import Parameter, Tensor

import warpfold
import warpfold.aio

X = np.random.default_rng(SEED).integers(1, 50, (3, 4, 5)).astype(np.float32)
STATE = {
    "layer.weight": Parameter(X),
    "layer.bias": Tensor(X[0], requires_grad=True),
    "steps": np.int64(7),
    3: [1.0, 2.0],
}


def test_describe_takes_a_mapping_of_names_to_tensors(client):
    found = client.describe(STATE)
    assert list(found) == list(STATE)
    assert found["layer.weight"] == client.describe(X)
    assert found["layer.bias"] == client.describe(X[0])
    assert (found["steps"]["sum"], found[3]["mean"]) == (7, 1.5)
    assert isinstance(found["steps"], warpfold.Reduction)
    assert client.describe({}) == {}
    of_columns = client.describe({"x": X}, axis=(0, 1))
    np.testing.assert_array_equal(of_columns["x"]["max"], X.max(axis=(0, 1)))


def test_asyncio_describes_a_mapping(server):
    async def use():
        async with await warpfold.aio.connect(server) as client:
            return await client.describe(STATE)

    assert asyncio.run(use())["steps"]["max"] == 7


@pytest.mark.parametrize(
    "wrong, error, message",
    [
        ("text", TypeError, "^extra: cannot reduce dtype <U4"),
        ({"inner": X}, TypeError, "^extra: cannot reduce a dict"),
        (None, TypeError, "^extra: cannot reduce"),
        ([[1], [1, 2]], ValueError, "^extra: "),
    ],
)
def test_what_cannot_be_described_is_named_before_anything_is_sent(
    fake, fake_client, wrong, error, message
):
    with pytest.raises(error, match=message):
        fake_client.describe({"weight": X, "extra": wrong})
    with pytest.raises(ValueError, match="^weight: .*out of bounds"):
        fake_client.describe({"weight": X}, axis=5)
    assert fake.calls == []


def test_missing_elements_are_left_out_of_each(client):
    arrow = pytest.importorskip("pyarrow")
    assert client.describe({"a": arrow.array([1, None])})["a"]["sum"] == 1


COLUMNS = {"small": [1, 2], "large": [2**53 + 1, None]}


def tables():
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table(COLUMNS)
    yield from (table, table.to_batches()[0])
    pandas = pytest.importorskip("pandas")
    yield pandas.DataFrame({n: pandas.array(v, dtype="Int64") for n, v in COLUMNS.items()})


def test_describe_answers_for_each_column_of_a_table_by_its_name(client):
    for table in tables():
        found = client.describe(table, axis=0)
        assert list(found) == ["small", "large"]
        assert (found["small"]["sum"], found["large"]["max"]) == (3, 2**53 + 1)
        assert isinstance(found["small"], warpfold.Reduction)


def test_columns_of_one_name_are_not_mixed_up(fake, fake_client):
    for table in tables():
        if hasattr(table, "rename_columns"):
            twice = table.rename_columns(["same", "same"])
        else:
            twice = table.set_axis(["same", "same"], axis=1)
        with pytest.raises(ValueError, match="have the same name: .*'same', 'same'"):
            fake_client.describe(twice)
    assert fake.calls == []


def test_a_column_that_is_no_number_is_named(fake, fake_client):
    pandas = pytest.importorskip("pandas")
    arrow = pytest.importorskip("pyarrow")
    polars = pytest.importorskip("polars")
    columns = {"size": [1], "name": ["a"]}
    for table, instead in [
        (pandas.DataFrame(columns), r": x\.select_dtypes\('number'\)"),
        (pandas.DataFrame(columns).astype({"name": object}), r": x\.select_dtypes\('number'\)"),
        (arrow.table(columns), r": x\.select\("),
        (polars.DataFrame(columns), r": x\.select\(polars\.selectors\.numeric\(\)\)"),
        (columns, "$"),
    ]:
        with pytest.raises(TypeError, match=f"^name: cannot reduce .*; or leave it out{instead}"):
            fake_client.describe(table)
        with pytest.raises(TypeError, match="^name: (?!.*astype)"):
            fake_client.describe(table)
    with pytest.raises(TypeError, match="^size: (?!.*leave it out)"):
        fake_client.describe({"size": [1]}, axis="rows")
    assert fake.calls == []


def test_ragged_lists_say_what_to_pass(fake, fake_client):
    for x in ([[1, 2], [3]], ([1], [2, 3]), [np.ones(2), np.ones(3)], [[1], 2]):
        for use in (fake_client.sum, fake_client.describe, fake_client.put):
            words = f"^cannot reduce a ragged {type(x).__name__}: .* a dict of them to describe"
            with pytest.raises(ValueError, match=words):
                use(x)
    assert fake.calls == []


def test_a_dataset_of_xarray_is_described_by_its_names(client):
    xarray = pytest.importorskip("xarray")
    dataset = xarray.Dataset({"a": ("x", [1.0, 2.0]), "b": ("y", [3.0])})
    assert client.describe(dataset)["a"]["sum"] == 3
    with pytest.raises(TypeError, match="^cannot reduce a Dataset; .* itself to describe"):
        client.sum(dataset)


def test_the_state_of_a_pytorch_module(client):
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    found = client.describe(module.state_dict())
    assert found.keys() == module.state_dict().keys()
    assert found["1.weight"]["sum"] == 2
    assert client.describe(dict(module.named_parameters()))["1.bias"]["max"] == 0
