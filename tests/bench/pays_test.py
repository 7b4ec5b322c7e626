"""bench/service/pays.py measures what can run here, says what cannot, and the pages quote it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import in_process
import numpy as np
import pays
import pytest
from quote import pays as quoted

ROOT = Path(__file__).resolve().parents[2]
SERVED = {"warpfold, gRPC, 1 connection", "warpfold, gRPC, 4 connections",
          "warpfold, shared memory", "warpfold, resident tensor"}  # fmt: skip
ON_A_GPU = {"torch, tensor on the GPU", "torch, copied to the GPU",
            "torch, copied from pinned memory", "warpfold, client's GPU memory"}  # fmt: skip
LINES_IN_README = 13  # the page has 120 with them (tests/docs)
KERNELS = {"CPU kernels in process, one core", "CPU kernels in process, all cores"}


def run(*arguments):
    command = [sys.executable, "-B", ROOT / "bench" / "service" / "pays.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    path = tmp_path_factory.mktemp("pays") / "pays.json"
    build = os.environ["WARPFOLD_BUILD"]
    done = run("--build", build, "--backend=cpu", "--quick", "--output", path)
    assert done.returncode == 0, done.stderr
    return json.loads(path.read_text(encoding="utf-8"))


def test_what_runs_here_is_measured_and_the_rest_is_named(results):
    measured = {row["way"] for row in results["results"]}
    left_out = {row["way"]: row["why"] for row in results["left_out"]}
    assert measured | set(left_out) == {way.name for way in pays.WAYS}
    assert not measured & set(left_out)
    assert SERVED | {"NumPy, one core"} <= measured
    assert ON_A_GPU <= set(left_out) and all(left_out.values())
    # `make benches` builds their library, and `make test` does not.
    there = Path(os.environ["WARPFOLD_BUILD"], "bench/kernels/libwarpfold_bench_cpu.so").exists()
    assert KERNELS <= (measured if there else set(left_out))


def test_a_figure_is_the_median_of_its_rounds(results):
    sizes = {row["bytes"] for row in results["results"]}
    assert sizes == {4 << 10, 4 << 20}
    for row in results["results"]:
        assert len(row["rounds_us"]) == results["rounds"] == 1
        assert row["p50_us"] == row["rounds_us"][0] > 0
        assert row["gb_per_second"] == pytest.approx(row["bytes"] / row["p50_us"] / 1000)
    assert results["processor"] and results["commit"] and results["device"] == "cpu"


def test_the_pages_quote_it(results, monkeypatch):
    monkeypatch.setattr(quoted, "load", lambda _: results)
    text = "\n".join(quoted.readme_lines())
    row = next(row for row in results["results"]
               if (row["question"], row["bytes"]) == ("sum", 4 << 10))  # fmt: skip
    assert f"| {row['way']} | {quoted.time_text(row['p50_us'])} | - | - | - |" in text
    assert results["processor"] in text and results["date"] in text
    whole = "\n".join(quoted.measurements_lines())
    for row in results["results"]:
        assert f"| {row['way']} | " in whole and quoted.time_text(row["p50_us"]) in whole


def test_the_readme_does_not_grow_when_every_way_was_measured(monkeypatch):
    results = [{"way": way.name, "question": question, "bytes": size, "p50_us": 1.0}
               for way in pays.WAYS for question, size in quoted.COLUMNS]  # fmt: skip
    texts = dict.fromkeys(("processor", "gpu", "numpy", "torch", "commit", "date", "command"), "x")
    monkeypatch.setattr(quoted, "load", lambda _: {**texts, "processors": 1, "results": results})
    lines = quoted.readme_lines()
    assert len(lines) <= LINES_IN_README
    shown = {way.name for way in pays.WAYS if any(way.name in line for line in lines)}
    assert shown == {way.name for way in pays.WAYS} - set(quoted.NOT_IN_README)


@pytest.mark.parametrize("arguments, named", [
    (["--sizes", "4KB"], "--sizes: '4KB'"),
    (["--sizes", "6"], "--sizes: each"),
    (["--sizes", "0"], "--sizes: each"),
    (["--rounds", "0"], "--rounds: at least 1"),
])  # fmt: skip
def test_a_wrong_option_is_named_in_one_line(arguments, named):
    done = run(*arguments)
    assert done.returncode == 2
    assert f"error: {named}" in done.stderr.splitlines()[-1]


def test_a_wrong_sum_ends_the_run():
    x = pays.values_of(4 << 10)
    way = pays.WAYS[0]
    pays.check_sum(way, float(np.sum(x)), x)
    with pytest.raises(SystemExit, match="the sum of 4 KiB is"):
        pays.check_sum(way, float(np.sum(x)) * 1.001, x)


def test_nine_statistics_are_asked_of_numpy_and_of_the_server():
    x = pays.values_of(4 << 10)
    found = in_process.numpy_statistics(x)
    assert len(found) == len(in_process.OPS["describe"].split(",")) == 9
    assert found[0] == np.sum(x) and found[-1] == np.linalg.norm(x)
