#!/usr/bin/env python3
"""Writes what is made of the catalogues of ops and dtypes (kernels/ops, kernels/dtypes).

`--from DUMP` names the program that prints them (tools/catalogue/dump.cc); without it they are read
from tools/catalogue/catalogue.json, as the last run with it left them.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

import python_functions
import tables

ROOT = Path(__file__).resolve().parents[2]
CATALOGUE = "tools/catalogue/catalogue.json"
CONTRACT = "proto/warpfold/v1/reduction.proto"
PYTHON_NAMES = (
    "DESCRIBE",
    "NUMPY_DTYPES",
    "NUMPY_FUNCTIONS",
    "Op",
    "PARAMS",
    "REFUSE_EMPTY",
    "RESULTS",
    "TRAILING_DIMS",
)
MADE = "Made by tools/catalogue/generate.py; not to be edited."


def cpp_header(catalogue):
    """What the C++ client and the command line know."""
    dtypes, ops = catalogue["dtypes"], catalogue["ops"]
    lines = [
        f"// The catalogues of dtypes and ops. {MADE}",
        "#ifndef WARPFOLD_CLIENT_CPP_CATALOGUE_H_",
        "#define WARPFOLD_CLIENT_CPP_CATALOGUE_H_",
        "",
        "#include <cstddef>",
        "#include <cstdint>",
        "",
        '#include "client/cpp/tensor.h"',
        "",
        "namespace warpfold::client {",
        "",
        "enum class Nature : std::uint8_t { kBool, kSigned, kUnsigned, kFloat };",
        "",
        "// Names are each format's; an empty one says that the format does not have the dtype.",
        "struct DTypeRow {",
        "  DType dtype;",
        "  Nature nature;",
        "  std::size_t bytes;  // of an element",
        "  // Of a float. Without infinities NaN is where they would be, all of its bits set.",
        "  int exponent_bits;",
        "  int mantissa_bits;",
        "  bool has_infinities;",
        "  const char* npy;  // without the byte order",
        "  const char* safetensors;",
        "  const char* kserve;",
        "};",
        "",
        "// clang-format off",
        "inline constexpr DTypeRow kDTypeRows[] = {",
    ]
    for d in dtypes:
        lines.append(
            f"    {{v1::DTYPE_{d['name'].upper()}, Nature::k{d['nature'].capitalize()}, "
            f"{d['bytes']}, {d.get('exponent_bits', 0)}, {d.get('mantissa_bits', 0)}, "
            f"{str(d.get('has_infinities', False)).lower()}, "
            f'"{d["npy"]}", "{d["safetensors"]}", "{d["kserve"]}"}},'
        )
    lines += [
        "};",
        "",
        "struct OpRow {",
        "  Op op;",
        "  bool has_empty;  // it has a result over no elements",
        "  const char* params;  // the field of OpSpec.params that is its own; or empty",
        "  int trailing_dims;  // that its results have of their own, behind those that are kept",
        "  // The most bytes that a partial state has of one output, for each of kDTypeRows.",
        f"  std::int64_t state_bytes_max[{len(dtypes)}];",
        "};",
        "",
        "inline constexpr OpRow kOpRows[] = {",
    ]
    for op in ops:
        sizes = ", ".join(str(op["state_bytes_max"][d["name"]]) for d in dtypes)
        has_empty = str(op["has_empty"]).lower()
        params = op["params"]["name"] if op["params"] else ""
        own = f'{has_empty}, "{params}", {op["trailing_dims"]}'
        lines.append(f'    {{v1::OP_{op["name"].upper()}, {own}, {{{sizes}}}}},')
    lines += [
        "};",
        "",
        "// What `describe` asks for.",
        "inline constexpr Op kDescribeOps[] = {",
        *(f"    v1::OP_{name.upper()}," for name in catalogue["describe"]),
        "};",
        "// clang-format on",
        "",
        "// Null of what only a newer server knows.",
        "constexpr const DTypeRow* RowOf(DType dtype) {",
        "  for (const DTypeRow& row : kDTypeRows) {",
        "    if (row.dtype == dtype) return &row;",
        "  }",
        "  return nullptr;",
        "}",
        "",
        "constexpr const OpRow* RowOf(Op op) {",
        "  for (const OpRow& row : kOpRows) {",
        "    if (row.op == op) return &row;",
        "  }",
        "  return nullptr;",
        "}",
        "",
        "constexpr bool IsFloat(DType dtype) {",
        "  const DTypeRow* row = RowOf(dtype);",
        "  return row != nullptr && row->nature == Nature::kFloat;",
        "}",
        "",
        "}  // namespace warpfold::client",
        "",
        "#endif  // WARPFOLD_CLIENT_CPP_CATALOGUE_H_",
    ]
    return "\n".join(lines) + "\n"


def python_dict(name, kind, pairs):
    """A dict by name, a line an item."""
    pairs = list(pairs)
    if not pairs:
        return [f"{name}: {kind} = {{}}"]
    return [f"{name}: {kind} = {{", *(f'    "{key}": {value},' for key, value in pairs), "}"]


def python_module(catalogue):
    """What the Python client knows."""
    numpy = {dtype["name"]: dtype["numpy"] for dtype in catalogue["dtypes"]}
    ops = catalogue["ops"]
    refuse = sorted(op["name"] for op in ops if not op["has_empty"])
    lines = [
        f'"""The catalogues of ops and dtypes. {MADE}"""',
        "",
        "from __future__ import annotations",
        "",
        "from typing import Literal",
        "",
        "__all__ = [",
        *(f'    "{name}",' for name in PYTHON_NAMES),
        "]",
        "",
        "# The contract's names of ops.",
        "Op = Literal[",
        *(f'    "{op["name"]}",' for op in sorted(ops, key=lambda op: op["number"])),
        "]",
        "",
        "# NumPy's names of the contract's dtypes.",
        *python_dict("NUMPY_DTYPES", "dict[str, str]", ((k, f'"{v}"') for k, v in numpy.items())),
        "",
        "# NumPy's functions that are an op, and those that leave NaN out.",
        "NUMPY_FUNCTIONS: tuple[str, ...] = (",
        *(f'    "{op[key]}",' for key in ("numpy", "numpy_nan") for op in ops if op[key]),
        ")",
        "",
        "# Ops that have no result over no elements.",
        f"REFUSE_EMPTY: frozenset[str] = frozenset({json.dumps(refuse)})",
        "",
        "# What the contract calls the parameters of an op that has some.",
        *python_dict(
            "PARAMS",
            "dict[str, str]",
            ((op["name"], f'"{op["params"]["name"]}"') for op in ops if op["params"]),
        ),
        "",
        "# How many dimensions an op's results have of their own, where they have some.",
        *python_dict(
            "TRAILING_DIMS",
            "dict[str, int]",
            ((op["name"], op["trailing_dims"]) for op in ops if op["trailing_dims"]),
        ),
        "",
        "# What `describe` asks for.",
        "DESCRIBE: tuple[str, ...] = (",
        *(f'    "{name}",' for name in catalogue["describe"]),
        ")",
        "",
        "# The dtypes of an op's results that are not the elements', by NumPy's names.",
        "RESULTS: dict[str, dict[str, str]] = {",
    ]
    for op in ops:
        other = {numpy[k]: numpy[v] for k, v in op["results"].items() if k != v}
        if not other:
            lines.append(f'    "{op["name"]}": {{}},')
            continue
        lines.append(f'    "{op["name"]}": {{')
        lines += [f'        "{key}": "{value}",' for key, value in other.items()]
        lines.append("    },")
    lines.append("}")
    return "\n".join(lines) + "\n"


def with_comment(path, start, comment):
    """The text of `path` with its comment behind the line that starts so."""
    text = (ROOT / path).read_text(encoding="utf-8")
    marker = rf"({re.escape(start)}[^\n]*\n)(?://   [^\n]*\n)+"
    replaced, count = re.subn(marker, lambda m: m[1] + "\n".join(comment) + "\n", text)
    if count != 1:
        sys.exit(f"generate.py: {path} has {count} comments that start with '{start}'")
    return replaced


def with_table(path, name, table):
    """The text of `path` with its table behind the marker of that name."""
    text = (ROOT / path).read_text(encoding="utf-8")
    marker = rf"(<!-- catalogue {name}: [^\n]*-->\n+)(?:\|[^\n]*\n)+"
    replaced, count = re.subn(marker, lambda m: m[1] + "\n".join(table) + "\n", text)
    if count != 1:
        sys.exit(f"generate.py: {path} has {count} tables behind '<!-- catalogue {name}: ... -->'")
    return replaced


def made(catalogue):
    """All texts that are made, by path."""
    return {
        CONTRACT: with_comment(CONTRACT, "// Reductions.", tables.contract_comment(catalogue)),
        "README.md": with_table("README.md", "results", tables.readme_table(catalogue)),
        "docs/kserve.md": with_table("docs/kserve.md", "models", tables.kserve_table(catalogue)),
        "docs/metrics.md": with_table("docs/metrics.md", "classes", tables.class_table(catalogue)),
        "client/cpp/catalogue.h": cpp_header(catalogue),
        "client/python/warpfold/_catalogue.py": python_module(catalogue),
        **python_functions.made_of(catalogue, MADE),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", dest="dump", metavar="DUMP", help="the program that prints them")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail where a file would change"
    )
    options = parser.parse_args()
    texts = {}
    if options.dump:
        text = subprocess.run([options.dump], check=True, capture_output=True, text=True).stdout
        texts[CATALOGUE] = text
    else:
        text = (ROOT / CATALOGUE).read_text(encoding="utf-8")
    texts.update(made(json.loads(text)))
    stale = []
    for path, new in texts.items():
        file = ROOT / path
        if file.exists() and file.read_text(encoding="utf-8") == new:
            continue
        stale.append(path)
        if not options.check:
            file.write_text(new, encoding="utf-8")
            print(f"wrote {path}")
    if options.check and stale:
        names = ", ".join(stale)
        sys.exit(f"generate.py: not as the catalogues say: {names}; run `make catalogue`")


if __name__ == "__main__":
    main()
