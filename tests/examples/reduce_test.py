"""Each file of examples/reduce alone, compiled and run. tests/emulator runs their kernels, too."""

import glob
import re
import shutil
import subprocess

import pytest
from conftest import EXAMPLES

FOLDER = EXAMPLES / "reduce"
NVCC = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")


@pytest.fixture(scope="module", params=["reduce", "floats"])
def program(request, tmp_path_factory):
    """The command line of the page, in a folder that holds the source alone; its name."""
    if NVCC is None:
        pytest.skip("there is no nvcc")
    folder = tmp_path_factory.mktemp(request.param)
    shutil.copy(FOLDER / f"{request.param}.cu", folder)
    command = [NVCC, "-O3", f"{request.param}.cu"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=240)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    return folder / "a.out", request.param


def run(program, *arguments):
    return subprocess.run([program[0], *arguments], capture_output=True, text=True, timeout=240)


@pytest.mark.parametrize("name", ["reduce", "floats"])
def test_it_includes_nothing_of_the_tree(name):
    text = (FOLDER / f"{name}.cu").read_text("utf-8")
    included = re.findall(r"^\s*#\s*include\s*(.*)$", text, re.MULTILINE)
    assert included
    for header in included:
        assert re.fullmatch(r"<[a-z_]+(\.h)?>", header), header


def test_every_sum_is_right_on_a_gpu(program):
    if not glob.glob("/dev/nvidia[0-9]*"):
        pytest.skip("there is no GPU")
    done = run(program, "24")
    assert (done.returncode, done.stderr) == (0, "")
    steps, times = (range(11), 2) if program[1] == "reduce" else (range(11, 15), 3)
    for step in steps:
        assert len(re.findall(rf"^reduce{step} ", done.stdout, re.MULTILINE)) == times


def test_without_a_gpu_it_says_so_in_one_line(program):
    if glob.glob("/dev/nvidia[0-9]*"):
        pytest.skip("there is a GPU")
    done = run(program)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(rf"{program[1]}: no GPU answers: .+\n", done.stderr)


@pytest.mark.parametrize("arguments", [["21"], ["31"], ["24x"], [""], ["24", "24"]])
def test_an_argument_that_is_no_size_is_refused(program, arguments):
    done = run(program, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"{program[1]}: '{arguments[-1]}' is not LOG2, a number from 22 to 30\n"
