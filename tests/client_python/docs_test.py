"""Every example of the package and its README does what it shows, on the real server."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import numpy as np
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


def test_the_examples_of_the_readme(server):
    text = re.sub(r"^ *```.*$", "", README.read_text(encoding="utf-8"), flags=re.MULTILINE)
    names = {"server": server, "np": np, "warpfold": warpfold}
    test = doctest.DocTestParser().get_doctest(text, names, "README", str(README), 0)
    assert test.examples
    assert doctest.DocTestRunner().run(test, clear_globs=False).failed == 0
    test.globs["client"].close()
