#!/usr/bin/env python3
"""Files and pipes larger than what the command line client may hold, against the real server.

usage: WARPFOLD_SERVER=... WARPFOLD_CLI=... large_files_test.py [unittest's arguments]

WARPFOLD_PIPE_MIB and WARPFOLD_FILE_MIB are the sizes; .ci/nightly has larger ones than CTest. Flags
are the defaults: what moves has no limit of time.
"""

import json
import os
import resource
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "client_python"))

from running_server import running_server  # noqa: E402

MIB = 1 << 20
PIPE_MIB = int(os.environ.get("WARPFOLD_PIPE_MIB", "512"))
FILE_MIB = int(os.environ.get("WARPFOLD_FILE_MIB", "512"))
DIFF_MIB = min(FILE_MIB, 4096)
PEAK_MIB_MAX = 256
PIECE = struct.pack("<4f", 1, 2, 3, -4) * (MIB // 16)


def npy_header(*shape, fortran=False):
    text = f"{{'descr': '<f4', 'fortran_order': {fortran}, 'shape': {shape}, }}"
    text += " " * ((-(len(text) + 11)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


def safetensors_header(count):
    entry = {"dtype": "F32", "shape": [count], "data_offsets": [0, 4 * count]}
    text = json.dumps({"w": entry}).encode()
    return struct.pack("<Q", len(text)) + text


def described(target, header, mib, *arguments):
    """(the tensor, peak MiB) of a description of `header` and `mib` MiB through a pipe."""
    command = [os.environ["WARPFOLD_CLI"], "describe", "--json", "--server", target, "-"]
    with subprocess.Popen(
        [*command, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as client:

        def feed():
            with client.stdin as pipe:
                pipe.write(header)
                for _ in range(mib):
                    pipe.write(PIECE)

        feeder = threading.Thread(target=feed)
        feeder.start()
        output = client.stdout.read()
        feeder.join()
        _, status, usage = os.wait4(client.pid, 0)
        client.returncode = os.waitstatus_to_exitcode(status)
    assert client.returncode == 0, client.returncode
    (tensor,) = json.loads(output)["tensors"]
    return tensor, usage.ru_maxrss / 1024


def sparse_file(path, header, mib, last=b""):
    """Zeros, of which the last are `last`."""
    with path.open("wb") as file:
        file.write(header)
        file.truncate(file.tell() + mib * MIB)
        file.seek(-len(last), os.SEEK_END)
        file.write(last)


def limit_memory():
    """Of the process's own: pages of a mapped file do not count, as they can be dropped."""
    resource.setrlimit(resource.RLIMIT_DATA, (PEAK_MIB_MAX * MIB, PEAK_MIB_MAX * MIB))


class LargeFiles(unittest.TestCase):
    def test_a_pipe_is_read_in_bounded_memory(self):
        count = PIPE_MIB * MIB // 4
        forms = {
            ".npy": (npy_header(count), ()),
            ".safetensors": (safetensors_header(count), ()),
            "raw": (b"", ("--dtype", "f32", "--shape", f"{count}")),
            "raw of unknown length": (b"", ("--dtype", "f32")),
        }
        with running_server() as target:
            for form, (header, arguments) in forms.items():
                with self.subTest(form):
                    start = time.monotonic()
                    tensor, peak_mib = described(target, header, PIPE_MIB, *arguments)
                    seconds = time.monotonic() - start
                    print(f"{form}: {PIPE_MIB} MiB in {seconds:.1f} s, peak {peak_mib:.0f} MiB")
                    self.assertLess(peak_mib, PEAK_MIB_MAX)
                    self.assertEqual(
                        [count, -4.0, 3.0, 0.5],
                        [tensor[key] for key in ("count", "min", "max", "mean")],
                    )
                    # The digits of an f32 are as many as identify it.
                    self.assertEqual(struct.pack("<f", count / 2), struct.pack("<f", tensor["sum"]))

    def test_a_large_file_is_described_with_the_defaults(self):
        count = FILE_MIB * MIB // 4
        with tempfile.TemporaryDirectory() as folder, running_server() as target:
            path = Path(folder) / "sparse.npy"
            sparse_file(path, npy_header(count), FILE_MIB)
            start = time.monotonic()
            output = subprocess.run(
                [os.environ["WARPFOLD_CLI"], "describe", "--json", "--server", target, str(path)],
                stdout=subprocess.PIPE,
                check=True,
            ).stdout
            print(f"file: {FILE_MIB} MiB in {time.monotonic() - start:.1f} s")
            (tensor,) = json.loads(output)["tensors"]
            self.assertEqual([count, 0, 0], [tensor[key] for key in ("count", "max", "nan_count")])

    def test_two_large_files_are_compared_in_bounded_memory(self):
        shape = (2, 64, DIFF_MIB * MIB // 512)
        with tempfile.TemporaryDirectory() as folder, running_server() as target:
            a, b, fortran = (Path(folder) / f"{name}.npy" for name in "abf")
            sparse_file(a, npy_header(*shape), DIFF_MIB)
            sparse_file(b, npy_header(*shape), DIFF_MIB, struct.pack("<f", 3))
            sparse_file(fortran, npy_header(*shape, fortran=True), DIFF_MIB, struct.pack("<f", 3))
            wanted = {
                "changed": 1,
                "max_abs": 3,
                "max_at": [n - 1 for n in shape],
                "relative_l2": "Infinity",
            }
            for left, right, exit_code, difference in (
                (a, a, 0, None),
                (a, b, 1, wanted),
                (a, fortran, 1, wanted),
                (b, fortran, 0, None),
            ):
                with self.subTest(left=left.name, right=right.name):
                    start = time.monotonic()
                    run = subprocess.run(
                        [os.environ["WARPFOLD_CLI"], "diff", "--json", "--server", target]
                        + [str(left), str(right)],
                        stdout=subprocess.PIPE,
                        preexec_fn=limit_memory,
                        check=False,
                    )
                    print(f"diff: {DIFF_MIB} MiB in {time.monotonic() - start:.1f} s")
                    self.assertEqual(exit_code, run.returncode)
                    (tensor,) = json.loads(run.stdout)["tensors"]
                    self.assertEqual(difference, tensor["difference"])


if __name__ == "__main__":
    unittest.main()
