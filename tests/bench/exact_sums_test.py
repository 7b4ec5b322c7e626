"""bench/peers/exact_sums.py: its oracle, what it says of wrong answers and of who is missing."""

import json
import math
import os
import random
import stat
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import exact_arrays
import exact_sums
import numpy as np
import pytest
from quote import exact_sums as quoted

ROOT = Path(__file__).resolve().parents[2]
SEED = 20261127
SMALL_CASES = 4000
SERVER = "warpfold, CPU server"
# A program like exact_sums.cu that answers each record with the bits that the test planted, and
# says how many elements it read.
PROGRAM = """#!{python}
import struct, sys
print('{{"gpu": "none", "version": "planted"}}')
file, record = open(sys.argv[1], "rb"), 0
while header := file.read(24):
    size, zero, count, timed = struct.unpack("=IIQQ", header)
    elements = struct.unpack(f"={{count}}{{'f' if size == 4 else 'd'}}", file.read(size * count))
    found = '"seconds": 0.5' if timed else f'"bits": "{{"{bits}"[:2 * size]}}"'
    print(f'{{{{"record": {{record}}, "peer": "{peer}", {{found}}}}}}')
    record += 1
"""


def run(*arguments):
    command = [sys.executable, "-B", ROOT / "bench" / "peers" / "exact_sums.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=250, check=False)


def planted(folder, peer, bits):
    path = folder / "program"
    path.write_text(PROGRAM.format(python=sys.executable, peer=peer, bits=bits), encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """(the results of a run with a server, what it printed). The empty folder has no kernels."""
    folder = tmp_path_factory.mktemp("exact")
    done = run("--json", folder / "exact.json", "--sizes=1MiB", "--rounds=1", "--seconds=0.01",
               "--build", tmp_path_factory.mktemp("empty"), "--warpfold-server",
               Path(os.environ["WARPFOLD_BUILD"], "server/warpfold-server"),
               "--cub-program", planted(folder, "CUB, gpu_to_gpu", "3f" * 8))
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "exact.json").read_text(encoding="utf-8")), done.stdout


def small_case(dtype, numbers):
    """A few numbers that cancel, of few or of many binades, often ties."""
    least = exact_arrays.LEAST_LOG2[dtype]
    middle = numbers.choice([least + 60, 0, 60])
    width = numbers.choice([2, 30, 60, 110])
    bits = exact_arrays.PRECISION[dtype]
    found = [math.ldexp(numbers.randrange(-(1 << bits) + 1, 1 << bits),
                        min(max(middle + numbers.randrange(-width, width + 1), least + bits),
                            exact_arrays.ABOVE_LOG2[dtype] - 8) - bits)
             for _ in range(numbers.randrange(1, 12))]
    return np.array(found + [-x for x in found if numbers.random() < 0.5],
                    exact_arrays.DTYPES[dtype])


def test_the_oracle_is_fsum_and_fractions():
    print(f"seed {SEED}")
    numbers = random.Random(SEED)
    for _ in range(SMALL_CASES):
        values = small_case("f64", numbers)
        units = exact_arrays.exact_units(values)
        assert Fraction(units, 1 << 1074) == sum(map(Fraction, values.tolist()))
        assert float(exact_arrays.rounded_once(units, "f64")) == math.fsum(values.tolist())


def test_f32_is_rounded_once_and_to_the_nearest():
    print(f"seed {SEED}")
    numbers = random.Random(SEED)
    for _ in range(SMALL_CASES):
        units = exact_arrays.exact_units(small_case("f32", numbers))
        got = exact_arrays.rounded_once(units, "f32")
        exact = Fraction(units, 1 << 1074)
        off = abs(Fraction(float(got)) - exact)
        for side in (-np.inf, np.inf):
            beside = Fraction(float(np.nextafter(got, np.float32(side))))
            assert off <= abs(beside - exact)
            if off == abs(beside - exact):
                assert got.view(np.uint32) % 2 == 0
        assert exact_arrays.error_ulps(got, units, "f32") <= 0.5


@pytest.mark.parametrize("dtype, values, wanted", [
    ("f32", [1, 2.0**-24], 1),
    ("f32", [1, 2.0**-24, 2.0**-140], 1 + 2.0**-23),
    ("f32", [1 + 2.0**-23, 2.0**-24], 1 + 2.0**-22),
    ("f32", [3.4028234663852886e38, 2.0**103], math.inf),
    ("f32", [-3.4028234663852886e38, -(2.0**103), 2.0**-149], -3.4028234663852886e38),
    ("f32", [2.0**-149] * 3, 3 * 2.0**-149),
    ("f64", [1, 1e16, -1e16], 1),
    ("f64", [1.7e308, 1.7e308, -1.7e308], 1.7e308),
    ("f64", [1.7976931348623157e308, 2.0**970], math.inf),
    ("f64", [5e-324, -5e-324], 0),
])  # fmt: skip
def test_the_oracle_by_hand(dtype, values, wanted):
    units = exact_arrays.exact_units(np.array(values, exact_arrays.DTYPES[dtype]))
    assert float(exact_arrays.rounded_once(units, dtype)) == wanted


def test_arrays_are_the_same_for_a_seed_and_sums_of_them_do_not_depend_on_order():
    first, again = (list(exact_arrays.arrays(SEED)) for _ in range(2))
    for (dtype, name, values), (_, _, others) in zip(first, again):
        assert values.tobytes() == others.tobytes(), name
        assert values.dtype == exact_arrays.DTYPES[dtype] and np.isfinite(values).all()
        orders = exact_arrays.orders(np.random.default_rng(SEED), values)
        sums = {exact_arrays.exact_units(order) for order in orders[:4]}
        assert sums == {exact_arrays.exact_units(values)}, name
    assert len(first) == 2 * len(exact_arrays.ARRAYS)


def test_a_wrong_answer_is_called_wrong():
    case = exact_sums.Case("f64", "ones", np.ones(4), np.random.default_rng(SEED))
    orders = len(case.orders)
    right = case.judge("a", [np.float64(4)] * orders)
    assert not quoted.is_wrong(right) and quoted.answer_text(right) == "right"
    ulp = np.spacing(4.0)
    once = case.judge("a", [np.float64(4)] * (orders - 1) + [np.float64(4 + 2 * ulp)])
    assert quoted.is_wrong(once) and quoted.answer_text(once) == "2 ulp (2 values)"
    for answer, word in ((np.float64(np.nan), "NaN"), (np.float64(np.inf), "infinite"),
                         ("OverflowError", "OverflowError")):
        row = case.judge("a", [answer] * orders)
        assert quoted.is_wrong(row) and quoted.answer_text(row) == word


def test_peers_are_judged_and_those_missing_are_named(found):
    results, printed = found
    rows = [row for row in results["results"] if row["case"] == "answer"]
    by_peer = {peer: [row for row in rows if row["peer"] == peer] for peer in results["versions"]}
    assert {SERVER, "math.fsum", "numpy.sum", "CUB, gpu_to_gpu"} <= set(by_peer)
    assert all(len(each) == 2 * len(exact_arrays.ARRAYS) for each in by_peer.values())
    assert all(map(quoted.is_wrong, by_peer["CUB, gpu_to_gpu"]))  # the planted answers
    assert not any(map(quoted.is_wrong, by_peer[SERVER]))
    of_f64 = {row["array"]: row for row in by_peer["math.fsum"] if row["dtype"] == "f64"}
    assert of_f64["1.7e308 and -1.7e308"]["worst_ulp"] == "OverflowError"
    assert not quoted.is_wrong(of_f64["1, 1e16, -1e16"])
    assert quoted.is_wrong(next(row for row in by_peer["numpy.sum"]
                                if row["array"] == "1, 1e16, -1e16"))
    for package in ("xsum", "bitrep", "torch, CPU", "torch, CUDA"):
        assert (package in by_peer) != (package in results["missing"]), package
    for name, why in results["missing"].items():
        assert why and f"missing: {name}: {why}" in printed
    assert {"warpfold, CPU kernels", "warpfold, CUDA kernels"} <= set(results["missing"])
    assert f"seed {results['seed']}" in printed


def test_the_table_has_every_figure(found, tmp_path):
    results, _ = found
    path = tmp_path / "a.json"
    path.write_text(json.dumps(results), encoding="utf-8")
    done = run("--table", path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    heads = lines[2].strip("| ").split(" | ")[1:]
    cells = {row[0]: dict(zip(heads, row[1:]))
             for row in (line.strip("| ").split(" | ") for line in lines[4:])}
    for row in results["results"]:
        if row["case"] == "answer":
            label, text = f"{row['dtype']}: {row['array']}", quoted.answer_text(row)
        else:
            label, text = (f"GB/s, {row['dtype']}: {row['data']}, 1 MiB", quoted.speed_text(row))
        assert cells[label][row["peer"]] == text
    assert cells["arrays that are right"]["CUB, gpu_to_gpu"] == "0 of 20"
    assert cells["the same bits in all orders"]["CUB, gpu_to_gpu"] == "20 of 20"
    assert "Not measured: " in lines[0] and "warpfold, CUDA kernels (" in lines[0]
    assert results["command"] in lines[0]


def test_runs_are_joined_and_of_other_arrays_refused(found):
    results, _ = found
    kernels = "warpfold, CPU kernels"
    other = {**results, "missing": {}, "versions": {kernels: "AVX2"},
             "results": [{**row, "peer": kernels} for row in results["results"]
                         if row["peer"] == SERVER]}
    lines = quoted.table_lines([results, other])
    assert f"| array | {SERVER} | {kernels} | math.fsum |" in lines[2]
    assert f"{kernels} (AVX2)" in lines[0] and f"{kernels} (lib" not in lines[0]
    readme = "\n".join(quoted.readme_lines([results, other]))
    places = [readme.index(name) for name in (kernels, "math.fsum", "CUB's reproducible sum")]
    assert places == sorted(places)
    assert len(readme.splitlines()) <= 2 + 5 and SERVER not in readme
    other["results"][0] = {**other["results"][0], "exact": "00000000"}
    with pytest.raises(SystemExit, match="the runs have other arrays"):
        quoted.table_lines([results, other])


def test_a_wrong_answer_of_warpfold_ends_the_run(tmp_path):
    done = run("--sizes=", "--warpfold-program",
               planted(tmp_path, "warpfold, CUDA kernels", "40" * 8))
    assert done.returncode == 1
    assert "wrong: warpfold, CUDA kernels, f32 1, 1e8, -1e8" in done.stderr


@pytest.mark.parametrize("arguments, named", [
    (["--sizes", "1MB"], "--sizes: '1MB'"),
    (["--sizes", "12"], "--sizes: each"),
    (["--rounds", "0"], "--rounds: at least 1"),
    (["--cub-program", "/nowhere"], "/nowhere: is no program"),
])  # fmt: skip
def test_a_wrong_option_is_named_in_one_line(arguments, named):
    done = run(*arguments)
    assert done.returncode == 2
    assert f"error: {named}" in done.stderr.splitlines()[-1]
