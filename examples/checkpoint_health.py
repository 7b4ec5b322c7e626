#!/usr/bin/env python3
"""Fails when a checkpoint is not healthy: a step for continuous integration.

usage: checkpoint_health.py [--server HOST:PORT] [--fail-on nan,inf,zero] MODEL.safetensors...

Prints a line for each tensor with a finding. Exit code 0: healthy; 1: findings; 2: wrong usage, a
file or dtype that it cannot read, or no server. checkpoint-health.yml is a workflow around it.
"""

import argparse
import json
import struct
import sys

import numpy as np

import warpfold

DTYPES = {
    "BOOL": "?",
    **{f"I{8 * size}": f"<i{size}" for size in (1, 2, 4, 8)},
    **{f"U{8 * size}": f"<u{size}" for size in (1, 2, 4, 8)},
    **{f"F{8 * size}": f"<f{size}" for size in (2, 4, 8)},
}
OF_ML_DTYPES = {"BF16": "bfloat16", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2"}
FINDINGS = {
    "nan": lambda found: found["nan_count"] > 0,
    "inf": lambda found: found["inf_count"] > 0,
    "zero": lambda found: found["count_nonzero"] == 0,
}


def tensors(path):
    """(name, array) of each tensor, mapped from the file: what is not sent is not read."""
    data = np.memmap(path, np.uint8, "r")
    (header_bytes,) = struct.unpack("<Q", data[:8].tobytes())
    header = json.loads(data[8 : 8 + header_bytes].tobytes())
    data = data[8 + header_bytes :]
    header.pop("__metadata__", None)
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        yield name, data[begin:end].view(dtype_of(entry["dtype"])).reshape(entry["shape"])


def dtype_of(name):
    if name in OF_ML_DTYPES:
        import ml_dtypes  # NumPy has none of its own

        return getattr(ml_dtypes, OF_ML_DTYPES[name])
    if name not in DTYPES:
        raise ValueError(f"{name} is none of {', '.join([*DTYPES, *OF_ML_DTYPES])}")
    return DTYPES[name]


def findings(client, path, kinds):
    for name, x in tensors(path):
        found = client.reduce(x, ["nan_count", "inf_count", "count_nonzero"])
        wrong = [kind for kind in kinds if x.size and FINDINGS[kind](found)]
        if wrong:
            yield f"{path}: {name} {list(x.shape)}: {', '.join(wrong)}"


def main():
    parser = argparse.ArgumentParser(description="Fails when a checkpoint is not healthy.")
    parser.add_argument("files", nargs="+", metavar="MODEL.safetensors")
    parser.add_argument("--server", default="localhost:50051", metavar="HOST:PORT")
    parser.add_argument("--fail-on", default="nan,inf", metavar="KIND,...", help="nan, inf, zero")
    arguments = parser.parse_args()
    kinds = arguments.fail_on.split(",")
    if not FINDINGS.keys() >= set(kinds):
        parser.error(f"--fail-on takes {', '.join(FINDINGS)}")
    count, step = 0, "connecting"
    try:
        with warpfold.connect(arguments.server) as client:
            for step in arguments.files:
                for line in findings(client, step, kinds):
                    print(line)
                    count += 1
    except Exception as error:  # of any kind: Python's own exit code would mean findings
        parser.exit(2, f"{parser.prog}: {step}: {error}\n")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
