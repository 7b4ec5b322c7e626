"""Every example does what it says, against the real server."""

import ast
import json
import re
import socket
import struct
import subprocess
import sys

import numpy as np
import pytest
from conftest import EXAMPLES, PACKAGE, SEED

import gradient_monitor
import parquet_quality


def run(name, *arguments):
    command = [sys.executable, "-B", EXAMPLES / name, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def write_safetensors(path, tensors):
    names = {np.dtype(np.float32): "F32", np.dtype(np.int64): "I64", np.dtype(np.float16): "F16"}
    header, data = {"__metadata__": {"format": "np"}}, b""
    for name, x in tensors.items():
        end = len(data) + x.nbytes
        header[name] = {
            "dtype": names[x.dtype],
            "shape": x.shape,
            "data_offsets": [len(data), end],
        }
        data += x.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def test_a_checkpoint_is_healthy_or_its_findings_are_told(server, tmp_path):
    good, bad = tmp_path / "good.safetensors", tmp_path / "bad.safetensors"
    write_safetensors(good, {"a": np.ones((3, 4), np.float32), "none": np.ones(0, np.float16)})
    weights = np.ones((2, 3), np.float32)
    weights[1] = np.nan, np.inf, 0
    write_safetensors(bad, {"w": weights, "z": np.zeros(5, np.int64), "ok": np.ones(2, np.int64)})

    options = ("--server", server, "--fail-on", "nan,inf,zero")
    healthy = run("checkpoint_health.py", *options, good)
    assert (healthy.returncode, healthy.stdout) == (0, ""), healthy.stderr
    found = run("checkpoint_health.py", *options, good, bad)
    assert found.returncode == 1, found.stderr
    assert found.stdout == f"{bad}: w [2, 3]: nan, inf\n{bad}: z [5]: zero\n"
    assert run("checkpoint_health.py", "--server", server, good).returncode == 0
    assert run("checkpoint_health.py", *options[:2], "--fail-on", "nans", good).returncode == 2


def test_a_checkpoint_that_cannot_be_read_is_not_one_with_findings(server, tmp_path):
    good, odd, text = (tmp_path / name for name in ("good", "odd", "text"))
    write_safetensors(good, {"a": np.ones(3, np.float32)})
    odd.write_bytes(good.read_bytes().replace(b'"F32"', b'"F8X"'))
    text.write_text("no checkpoint " * 9, encoding="utf-8")
    for path in (tmp_path / "none", odd, text, tmp_path):
        done = run("checkpoint_health.py", "--server", server, good, path)
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        assert done.stderr.startswith(f"checkpoint_health.py: {path}: ")
        assert done.stderr.count("\n") == 1
    with socket.create_server(("127.0.0.1", 0)) as taken:  # nobody serves there
        host, port = taken.getsockname()
    done = run("checkpoint_health.py", "--server", f"{host}:{port}", good)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.startswith("checkpoint_health.py: connecting: ")


@pytest.mark.parametrize("path", [EXAMPLES / "checkpoint-health.yml", PACKAGE / "README.md"])
def test_the_package_is_installed_from_a_checkout(path):
    """An index has it not."""
    commands = re.findall(r"pip install ([^`\n]*)", path.read_text(encoding="utf-8"))
    assert commands
    for command in commands:
        assert re.match(r"'?\./client/python", command), command


def test_the_workflow_calls_the_check_with_options_that_it_has():
    text = (EXAMPLES / "checkpoint-health.yml").read_text(encoding="utf-8")
    (call,) = re.findall(r"python examples/(\S+\.py)(.*)", text)
    known = run(call[0], "--help").stdout
    options = re.findall(r"--[a-z-]+", call[1])
    assert options
    for option in options:
        assert option in known


def test_gradients_are_watched_whatever_made_them(client, capsys):
    monitor = gradient_monitor.GradientMonitor(client, norm_max=100)
    good, large = np.full(4, 3.0, np.float32), np.full(16, -50.0, np.float32)
    assert monitor.observe(1, [("w", good), ("b", good)]) == {}
    assert capsys.readouterr().out == "step 1: gradient norm 8.485\n"
    found = monitor.observe(2, [("w", large), ("b", np.array([1, np.nan, np.inf], np.float32))])
    assert found == {
        "w": "norm 200, from -50 to -50",
        "b": "2 elements are NaN or infinite",
    }


def test_a_pytorch_loop_is_watched(server):
    # The distribution's, where it is installed: PyPI's wheels bring gigabytes of CUDA along.
    pytest.importorskip("torch")
    done = run("gradient_monitor.py", "--server", server, "--steps", 4)
    lines = [line for line in done.stdout.splitlines() if line.startswith("step")]
    assert done.returncode == 0 and len(lines) == 4, done.stderr
    assert "  0.weight" in done.stdout


@pytest.mark.parametrize("rows", [512, 4096, 1 << 17])
def test_a_parquet_columns_quality_is_that_of_the_whole(client, server, tmp_path, rows):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    rng = np.random.default_rng(SEED)
    x = rng.standard_normal(10_000) * 2.0 ** rng.integers(-9, 9, 10_000)
    x[::97] = np.nan
    path = tmp_path / "table.parquet"
    column = pa.array(x, from_pandas=True)  # NaN becomes null
    pq.write_table(pa.table({"price": column, "other": column}), path, row_group_size=3000)

    whole = client.reduce(x, parquet_quality.OPS, omit_nan=True)
    found = parquet_quality.quality(client, path, "price", rows)
    assert found == {"rows": 10_000} | {op: value.item() for op, value in whole.items()}
    assert found["nan_count"] == len(x[::97])
    printed = run("parquet_quality.py", "--server", server, path, "price")
    assert json.loads(printed.stdout) == found, printed.stderr


def test_the_notebooks_cells_run_and_answer_what_is_committed(server, monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    monkeypatch.setenv("WARPFOLD_TARGET", server)
    notebook = json.loads((EXAMPLES / "statistics.ipynb").read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    names, compared = {}, 0
    for cell in cells:
        source = "".join(cell["source"])
        told = [out["data"].get("text/plain") for out in cell["outputs"] if "data" in out]
        *statements, last = ast.parse(source).body
        exec(compile(ast.Module(statements, []), "cell", "exec"), names)
        if not isinstance(last, ast.Expr):
            exec(compile(ast.Module([last], []), "cell", "exec"), names)
            continue
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
        if told and told[0] is not None:
            assert repr(value) == "".join(told[0])
            compared += 1
    assert compared == 4
    images = [
        out for cell in cells for out in cell["outputs"] if "image/png" in out.get("data", {})
    ]
    assert len(images) == 2


def test_every_example_is_in_the_readme():
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    named = {name for name in re.findall(r"\]\(([\w./-]+)\)", text) if not name.startswith("../")}
    paths = [path for path in EXAMPLES.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    files = {path.relative_to(EXAMPLES).as_posix() for path in paths}
    assert named == files - {"README.md"}
