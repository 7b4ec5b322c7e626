#!/usr/bin/env python3
"""How many kernels a build has, their bytes, and what it takes to compile them.

    tools/compile_budget/measure.py build/release [--check | --write] [--seconds]

Prints, for each element type, the kernels of each fusion (kernels/ops/fusions.h) and the bytes of
their machine code and PTX as they lie in the library. --seconds compiles each source once more, one
after another, and adds the processor seconds: 20 minutes. --check compares with table.json, and
fails where kernels or bytes are 5 % above it, or seconds 50 %; tests/kernels/code has what all may
take together. Other compilers and architectures have other figures: then nothing is compared, and
a line says so. --write makes this build's figures the table.
Exit status: 0 within the budget, or nothing to compare; 1 above it; 2 wrong usage, no kernels.
"""

import argparse
import collections
import json
import os
import re
import resource
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

TABLE = Path(__file__).with_name("table.json")
KERNELS_SLACK, BYTES_SLACK, SECONDS_SLACK = 1.05, 1.05, 1.5
STUB = "__device_stub_"  # what nvcc calls the host function that launches a kernel


def fail(text):
    print(f"compile-budget: {text}", file=sys.stderr)
    sys.exit(2)


def output_of(*command, stdin=None):
    return subprocess.run(command, check=True, capture_output=True, text=True, input=stdin).stdout


def kernels_in(path):
    """The demangled names of an object's kernels, each of which has a stub."""
    mangled = set()
    for length, at in re.findall(r"L(\d+)(__device_stub__Z\w+)", output_of("nm", path)):
        mangled.add(at[len(STUB) : int(length)])
    return output_of("c++filt", stdin="\n".join(sorted(mangled))).split("\n") if mangled else []


def fusion_of(kernel):
    """By the components that the kernel's fold has."""
    fold = re.search(r"Fold<\w[^,]*, \(warpfold::NanPolicy\)(\d), (.*?> )>", kernel)
    if fold is None:
        return "exact"
    components = set(re.findall(r"warpfold::(?:exact::)?(\w+)<", fold[2]))
    has = {name for name in components if name not in ("LargestSize", "SmallestSize")}
    if fold[1] == "1":
        return "omit_nan"
    if has <= {"ArgMin", "ArgMax"}:
        return "arg"
    if "ArgMin" in has:
        return "all"
    if "NanCount" in has or "AbsSum" in has:
        return "statistics"
    if has == {"Min"}:
        return "min"
    if has == {"Max"}:
        return "max"
    if has == {"NonzeroCount"}:
        return "nonzero"
    if {"Min", "Max"} <= has:
        return "range"
    return "product" if any("Product" in name for name in has) else "sum"


def fatbin_bytes(path):
    sizes = re.findall(r"^\.nv_fatbin\s+(\d+)", output_of("size", "-A", path), re.MULTILINE)
    return sum(map(int, sizes))


def seconds_of(build, source):
    """User and system, of the compiler alone."""
    commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    (entry,) = (c for c in commands if Path(c["file"]).name == source)
    words = [word for word in shlex.split(entry["command"]) if Path(word).name != "ccache"]
    with tempfile.TemporaryDirectory() as folder:
        words[words.index("-o") + 1] = os.path.join(folder, "engine.o")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(words, check=True, cwd=entry["directory"])
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(build, with_seconds):
    objects = sorted((build / "kernels/CMakeFiles/warpfold_kernels_cuda.dir").glob("*.cu.o"))
    if not objects:
        fail(f"{build} has no kernels: build it with CUDA")
    types = collections.defaultdict(lambda: {"bytes": 0, "kernels": collections.Counter()})
    for path in objects:
        source = path.name.removesuffix(".o")
        row = types[re.sub(r"^(engine|exact_sum|output_sums)_(\w+)\.cu$", r"\2", source)]
        row["bytes"] += fatbin_bytes(path)
        row["kernels"].update(fusion_of(kernel) for kernel in kernels_in(path) if kernel)
        if with_seconds:
            row["seconds"] = round(row.get("seconds", 0) + seconds_of(build, source), 1)
    cache = (build / "CMakeCache.txt").read_text(encoding="utf-8")
    code, ptx = (
        re.search(rf"^WARPFOLD_CUDA_{kind}:\w+=(.*)$", cache, re.MULTILINE)[1]
        for kind in ("CODE", "PTX")
    )
    compiler = next(build.glob("CMakeFiles/*/CMakeCUDACompiler.cmake")).read_text(encoding="utf-8")
    return {
        "compiler": re.search(r'CMAKE_CUDA_COMPILER_VERSION "([^"]*)"', compiler)[1],
        "code": code,
        "ptx": ptx,
        "types": {name: types[name] for name in sorted(types)},
    }


def show(measured):
    fusions = sorted({fusion for row in measured["types"].values() for fusion in row["kernels"]})
    print(f"{'type':<10}", *(f"{fusion:>10}" for fusion in fusions), f"{'bytes':>10} {'CPU s':>6}")
    for name, row in measured["types"].items():
        counts = (f"{row['kernels'].get(fusion, 0):>10}" for fusion in fusions)
        print(f"{name:<10}", *counts, f"{row['bytes']:>10} {row.get('seconds', '-'):>6}")
    of = f"machine code {measured['code'] or '-'}, PTX {measured['ptx'] or '-'}"
    print(f"compile-budget: {total(measured):,} bytes, {of}, nvcc {measured['compiler']}")


def total(measured):
    return sum(row["bytes"] for row in measured["types"].values())


def above(measured, table):
    """What is over the budget, in words."""
    for name, row in measured["types"].items():
        allowed = table["types"].get(name)
        if allowed is None:
            yield f"{name} is not in the table"
            continue
        for fusion, count in row["kernels"].items():
            before = allowed["kernels"].get(fusion, 0)
            if count > before * KERNELS_SLACK:
                yield f"{name} has {count} kernels of {fusion}, {before} before"
        if row["bytes"] > allowed["bytes"] * BYTES_SLACK:
            yield f"{name} has {row['bytes']} bytes, {allowed['bytes']} before"
        if row.get("seconds", 0) > allowed.get("seconds", float("inf")) * SECONDS_SLACK:
            yield f"{name} takes {row['seconds']} s, {allowed['seconds']} before"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("build", type=Path, help="a build folder")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="compare with table.json")
    what.add_argument("--write", action="store_true", help="make it the table")
    parser.add_argument("--seconds", action="store_true", help="compile once more, and time it")
    options = parser.parse_args()
    measured = measure(options.build.resolve(), options.seconds)
    show(measured)
    if options.write:
        TABLE.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
    if not options.check:
        return
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    for what in ("compiler", "code", "ptx"):
        if measured[what] != table[what]:
            print(f"compile-budget: not compared, the table is of {what} {table[what]}")
            return
    found = list(above(measured, table))
    for line in found:
        print(f"compile-budget: {line}")
    if found:
        sys.exit("compile-budget: above the budget: make it less, or --write it and say why")
    print("compile-budget: within the budget")


if __name__ == "__main__":
    main()
