"""Every example of the package and its README does what it shows, on the real server."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import numpy as np
import printed_page
import pytest

import warpfold

MODULES = [f"warpfold.{module.name}" for module in pkgutil.iter_modules(warpfold.__path__)]
README = Path(warpfold.__file__).parents[1] / "README.md"


@pytest.mark.parametrize("name", ["warpfold", *MODULES])
def test_the_examples_of_a_module(server, client, name):
    if "dask" in name:  # tests/dask has it
        pytest.importorskip("dask.array")
    module = importlib.import_module(name)
    names = {"server": server, "client": client, "np": np}
    assert doctest.testmod(module, extraglobs=names).failed == 0


# What the page has examples with and this Python may lack. tests/dask has Dask.
OPTIONAL = {"dask", "tqdm"}
ON_A_GPU = {"torch"}


def test_the_readme_prints_every_name():
    assert len(printed_page.blocks(README)) >= 7
    assert list(printed_page.unprinted(README)) == []


def test_the_readme_runs_as_it_is_printed(server):
    missing = printed_page.run(README, server, without=ON_A_GPU)
    assert missing - ON_A_GPU <= OPTIONAL


def test_a_name_that_is_not_printed_is_found(tmp_path):
    page = tmp_path / "page.md"
    first = "```python\n>>> np.sum([1])\n1\n```\n"
    second = "- a\n\n  ```python\n  import os\n  sys.exit(os)\n  ```\n"
    page.write_text(first + second)
    assert list(printed_page.unprinted(page)) == ["np", "sys"]


def test_an_answer_that_is_not_so_is_found(server, tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text("```python\n>>> 1 + 1\n3\n```\n")
    (block,) = printed_page.blocks(page)
    assert block.run(server, {}) == 1
    assert "Got:\n    2" in capsys.readouterr().out
