#!/usr/bin/env python3
"""Writes the inputs from which each target starts: one that is good of each kind.

usage: seeds.py FOLDER

Needs protoc and NumPy. What the fuzzer finds beside them is added to corpus/ by minimize.sh.
"""

import io
import json
import struct
import subprocess
import sys
from pathlib import Path

import numpy

ROOT = Path(__file__).resolve().parents[2]
TENSOR = "sources { tensor { dtype: DTYPE_F32 shape: [2, 3] } }"
DATA = 'data: "' + r"\000\000\200\077" * 6 + '"'

REDUCE = {
    "statistics": f"""{TENSOR} {DATA} ops {{ op: OP_SUM }} ops {{ op: OP_VAR
        variance {{ correction: 1.5 }} }} axes: -1 keepdims: true request_id: "id" """,
    "omit": f"{TENSOR} {DATA} ops {{ op: OP_MAX_ABS }} nan_policy: NAN_POLICY_OMIT",
    "region": """sources { tensor { dtype: DTYPE_I8 shape: 8 } memory { name: "r" size_bytes: 8 } }
        ops { op: OP_PTP }""",
    "resident": 'sources { tensor_id: "4-2" } ops { op: OP_ARGMAX }',
    "part": f"""{TENSOR} {DATA} ops {{ op: OP_STD }} part {{ whole_shape: [4, 3]
        offset: [2, 0] }}""",
}
INFER = {
    "raw": r"""model_name: "sum" id: "an id"
        inputs { name: "INPUT" datatype: "INT32" shape: [2, 2] } outputs { name: "SUM" }
        raw_input_contents: "\001\000\000\000\002\000\000\000" """,
    "typed": """model_name: "describe" inputs { name: "INPUT" datatype: "FP32" shape: 2
        contents { fp32_contents: [1, 2] } }
        parameters { key: "axis" value { string_param: "0" } }
        parameters { key: "keepdims" value { bool_param: true } }""",
    "region": """model_name: "max" inputs { name: "INPUT" datatype: "FP16" shape: 4
        parameters { key: "shared_memory_region" value { string_param: "r" } }
        parameters { key: "shared_memory_byte_size" value { int64_param: 8 } } }""",
}
CONFIGS = {
    "sizes": 'staging-buffer-bytes = "4MiB"\nworkers-per-device = 4\nlog-level = "debug"\n',
    "addresses": 'listen-address = "127.0.0.1:1, unix:/a mode=0600"\nmetrics-address = "none"\n',
    "comments": "# nothing\n; else\nqueue-timeout-ms=30000\n[section]\n",
}
ADDRESSES = {
    "several": "127.0.0.1:50051, unix:/run/a.sock mode=0660 group=gpu,[::1]:0",
    "every": "0.0.0.0:1,[::]:2",
}
HASH = "6b5f3c0d" * 8
CALLERS = {
    "several": f"# who\ncaller=a token-sha256={HASH},{HASH[::-1]} scopes=reduce,resident\n"
    "caller=b certificate=spiffe://x/y certificate=z scopes=metrics\n"
    "caller=c listener=unix:/a scopes=memory,admin\ncaller=anonymous scopes=reduce\n",
    "header": f"Bearer {HASH}",
}

TRACE_IDS = "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7"
TRACEPARENTS = {
    "sampled": f"00-{TRACE_IDS}-01",
    "unsampled": f"00-{TRACE_IDS}-00",
    "later_version": f"cc-{TRACE_IDS}-01-what the future will be like",
}


def encode(proto: str, message: str, text: str) -> bytes:
    return subprocess.run(
        ["protoc", f"-I{ROOT}/proto", f"--encode={message}", str(ROOT / "proto" / proto)],
        input=text.encode(), stdout=subprocess.PIPE, check=True,
    ).stdout  # fmt: skip


def npy(array: numpy.ndarray) -> bytes:
    file = io.BytesIO()
    numpy.save(file, array)
    return file.getvalue()


def npz(save, **arrays) -> bytes:
    file = io.BytesIO()
    save(file, **arrays)
    return file.getvalue()


def safetensors(header: dict, data: bytes) -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def seeds() -> dict[str, dict[str, bytes]]:
    floats = numpy.arange(6, dtype="<f4").reshape(2, 3)
    tensor = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
    reduction = "warpfold/v1/reduction.proto"
    return {
        "reduce_request": {
            name: encode(reduction, "warpfold.v1.ReduceRequest", text)
            for name, text in REDUCE.items()
        },
        "infer_request": {
            name: encode("inference/grpc_service.proto", "inference.ModelInferRequest", text)
            for name, text in INFER.items()
        },
        "npy_file": {
            "c_order": npy(floats),
            "fortran": npy(numpy.asfortranarray(floats)),
            "big_endian": npy(floats.astype(">f8")),
            "scalar": npy(numpy.array(7, "u1")),
        },
        "npz_file": {
            "stored": npz(numpy.savez, a=floats, b=numpy.arange(3)),
            "deflated": npz(numpy.savez_compressed, a=numpy.zeros(64, "i2")),
        },
        "safetensors_file": {
            "two": safetensors(
                {"__metadata__": {"k": "v"}, "a": tensor,
                 "b": {"dtype": "U8", "shape": [], "data_offsets": [8, 9]}}, bytes(9)),
            "none": safetensors({}, b""),
        },
        "config_file": {name: text.encode() for name, text in CONFIGS.items()},
        "listen_addresses": {name: text.encode() for name, text in ADDRESSES.items()},
        "traceparent": {name: text.encode() for name, text in TRACEPARENTS.items()},
        "callers_file": {name: text.encode() for name, text in CALLERS.items()},
    }  # fmt: skip


def main() -> int:
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2
    for target, files in seeds().items():
        folder = Path(sys.argv[1]) / target
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (folder / name).write_bytes(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
