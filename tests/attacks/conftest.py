"""What the attacks share: the server, and the table of those that it does not withstand yet."""

from pathlib import Path

import pytest
from attacked_server import attacked, without_unknown_options
from honest import SEED

HERE = Path(__file__).parent


def pytest_addoption(parser):
    parser.addoption(
        "--drop-unknown-options",
        action="store_true",
        help="start the server without the options that it does not have",
    )
    parser.addoption(
        "--skip-pending", action="store_true", help="leave out the tests that pending.txt names"
    )


def pytest_report_header():
    return f"seed: {SEED}"


def pending():
    """{"file.py::test": reason} of pending.txt."""
    lines = (HERE / "pending.txt").read_text().splitlines()
    return dict(line.split("\t") for line in lines if line and not line.startswith("#"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Tests of the table have to fail, by an assertion: an error of the script is no attack."""
    tests = {f"{item.path.name}::{item.name}": item for item in items}
    files = {item.path.name for item in items}
    chosen_one_by_one = any("::" in arg for arg in config.args)
    for name, reason in pending().items():
        file = name.partition("::")[0]
        if name in tests and config.getoption("--skip-pending"):
            items.remove(tests[name])
        elif name in tests:
            mark = pytest.mark.xfail(strict=True, reason=reason, raises=AssertionError)
            tests[name].add_marker(mark)
        elif not (HERE / file).exists() or (file in files and not chosen_one_by_one):
            raise pytest.UsageError(f"pending.txt names {name}, which is no test")


@pytest.fixture
def attack(request):
    """attack(*flags, ...): a server under attack, as a context."""

    def start(*flags, **others):
        if request.config.getoption("--drop-unknown-options"):
            flags = without_unknown_options(flags)
        return attacked(*flags, **others)

    return start
