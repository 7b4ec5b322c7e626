"""The package's types: it is right by its own, and a user's wrong program is found to be.

mypy and pyright's rules by basedpyright, whose package brings all that it needs.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import warpfold

TESTS = Path(__file__).parent
PROGRAM = TESTS / "typed" / "program.py"
PACKAGE = Path(warpfold.__file__).parents[1]


def planted():
    lines = PROGRAM.read_text(encoding="utf-8").splitlines()
    return [i for i, line in enumerate(lines, 1) if line.endswith("# planted")]


def run_mypy(folder, *arguments):
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", folder, *arguments]
    return subprocess.run(command, cwd=PACKAGE, capture_output=True, text=True, timeout=240)


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return str(tmp_path_factory.mktemp("mypy"))


def test_mypy_finds_nothing_in_the_package(cache):
    run = run_mypy(cache)
    assert run.returncode == 0, run.stdout + run.stderr


def test_mypy_finds_each_planted_error_and_no_other(cache):
    run = run_mypy(cache, str(PROGRAM))
    found = re.findall(r"program\.py:(\d+): error:", run.stdout)
    assert sorted({int(line) for line in found}) == planted(), run.stdout + run.stderr


def test_pyright_finds_each_planted_error_and_no_other(tmp_path):
    pytest.importorskip("basedpyright")
    settings = {
        "include": [str(PROGRAM)],
        "extraPaths": [str(PACKAGE)],
        "typeCheckingMode": "standard",
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--project", str(tmp_path)]
    command += ["--pythonpath", sys.executable]
    run = subprocess.run(command, capture_output=True, text=True, timeout=240)
    found = [d for d in json.loads(run.stdout)["generalDiagnostics"] if d["severity"] == "error"]
    lines = {d["range"]["start"]["line"] + 1 for d in found}
    assert sorted(lines) == planted(), run.stdout + run.stderr
