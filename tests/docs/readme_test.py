"""What README.md shows works as it is printed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import grpc
import pytest
from running_server import running_server
from warpfold import _contract

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
LINES_MAX = 120
ADDRESS = "localhost:50051"
SAME = "as the tensor"
UNSIGNED = "unsigned, of its size"


@pytest.fixture(scope="module")
def server():
    with running_server("--backend=cpu") as target:
        yield target


def block(language):
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    return found


def test_it_is_read_in_a_minute():
    assert TEXT.count("\n") <= LINES_MAX


def test_the_python_prints_what_its_comments_say(server):
    code = block("python")
    assert code.count(ADDRESS) == 1
    told = re.findall(r"print\(.*\)  # (.*)$", code, re.MULTILINE)
    assert len(told) == code.count("print(") > 0
    done = subprocess.run(
        [sys.executable, "-B", "-c", code.replace(ADDRESS, server)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "client" / "python")},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == told


def test_the_targets_of_make_are_there():
    named = re.findall(r"\bmake (?:[A-Z_]+=\S+ )*([a-z-]+)", TEXT)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    there = re.findall(r"^([a-z-]+):", makefile, re.MULTILINE)
    assert named and set(named) <= set(there)


def result_in(cell, dtype):
    """What a cell says of a dtype; "bool: ...; signed: ..." where those two differ."""
    by_nature = dict(part.split(": ") for part in cell.split("; ")) if ": " in cell else {}
    words = by_nature.get("bool" if dtype == "BOOL" else "signed", cell)
    return {SAME: dtype, UNSIGNED: dtype.replace("I", "U")}.get(words, words.upper())


def table_of_ops():
    """{(op, dtype): dtype of the result} as the table has it, in the contract's names."""
    lines = TEXT.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("| op |"))
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[start:]]
    found = {}
    for ops, *cells in rows[2 : rows.index([""])]:
        for op in ops.split(", "):
            for dtypes, cell in zip(rows[0][1:], cells):
                for dtype in dtypes.upper().split(", "):
                    assert (op, dtype) not in found
                    found[op, dtype] = result_in(cell, dtype)
    return found


def names(enum):
    """The contract's names of an enum by number."""
    values = _contract.ReduceRequest.DESCRIPTOR.file.enum_types_by_name[enum].values
    prefix = f"{enum.upper()}_"
    return {value.number: value.name[len(prefix) :] for value in values if value.number}


def test_the_table_is_what_the_server_answers(server):
    ops, dtypes = names("Op"), names("DType")
    with grpc.insecure_channel(server) as channel:
        info = channel.unary_unary(
            _contract.GET_SERVER_INFO_METHOD,
            response_deserializer=_contract.GetServerInfoResponse.FromString,
        )(b"", timeout=60)
        reduce = channel.unary_unary(
            _contract.REDUCE_METHOD,
            request_serializer=_contract.ReduceRequest.SerializeToString,
            response_deserializer=_contract.ReduceResponse.FromString,
        )
        answered = {}
        for dtype in info.dtypes:
            bits = int(re.sub(r"_.*|\D", "", dtypes[dtype]) or 8)  # BOOL has a byte
            for op in info.ops:
                request = _contract.ReduceRequest(ops=[{"op": op}], data=bytes(2 * bits // 8))
                tensor = request.sources.add().tensor
                tensor.dtype = dtype
                tensor.shape.append(2)
                (result,) = reduce(request, timeout=60).results
                answered[ops[op], dtypes[dtype]] = dtypes[result.tensor.dtype]
    assert len(answered) == len(ops) * len(info.dtypes)  # the server has all of the contract's ops
    assert table_of_ops() == answered
