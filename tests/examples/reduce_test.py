"""examples/reduce/reduce.cu alone, compiled and run. tests/emulator runs its kernels, too."""

import glob
import re
import shutil
import subprocess

import pytest
from conftest import EXAMPLES

SOURCE = EXAMPLES / "reduce" / "reduce.cu"
NVCC = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The command line of the page, in a folder that holds the source alone."""
    if NVCC is None:
        pytest.skip("there is no nvcc")
    folder = tmp_path_factory.mktemp("reduce")
    shutil.copy(SOURCE, folder)
    command = [NVCC, "-O3", "reduce.cu"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=240)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    return folder / "a.out"


def run(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=240)


def test_it_includes_nothing_of_the_tree():
    included = re.findall(r"^\s*#\s*include\s*(.*)$", SOURCE.read_text("utf-8"), re.MULTILINE)
    assert included
    for name in included:
        assert re.fullmatch(r"<[a-z_]+(\.h)?>", name), name


def test_every_sum_is_right_on_a_gpu(program):
    if not glob.glob("/dev/nvidia[0-9]*"):
        pytest.skip("there is no GPU")
    done = run(program, "24")
    assert (done.returncode, done.stderr) == (0, "")
    assert "every step is right" in done.stdout
    for step in range(11):
        assert len(re.findall(rf"^reduce{step} ", done.stdout, re.MULTILINE)) == 2


def test_without_a_gpu_it_says_so_in_one_line(program):
    if glob.glob("/dev/nvidia[0-9]*"):
        pytest.skip("there is a GPU")
    done = run(program)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"reduce: no GPU answers: .+\n", done.stderr)


@pytest.mark.parametrize("arguments", [["21"], ["31"], ["24x"], [""], ["24", "24"]])
def test_an_argument_that_is_no_size_is_refused(program, arguments):
    done = run(program, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"reduce: '{arguments[-1]}' is not LOG2, a number from 22 to 30\n"
