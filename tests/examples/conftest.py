"""What the tests share: a server, a client of it, and where the examples are."""

import os
from pathlib import Path

import pytest
from running_server import running_server

import warpfold

SEED = 20261121
EXAMPLES = Path(__file__).parents[2] / "examples"
PACKAGE = Path(warpfold.__file__).parents[1]


@pytest.fixture(scope="session", autouse=True)
def package_for_children():
    os.environ["PYTHONPATH"] = str(PACKAGE)  # the examples run as programs


@pytest.fixture(scope="session")
def server():
    with running_server() as target:
        yield target


@pytest.fixture(scope="session")
def client(server):
    with warpfold.connect(server, timeout=60) as client:
        yield client
