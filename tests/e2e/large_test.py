#!/usr/bin/env python3
"""Tensors of more than 2^32 elements, streamed by the command line client to the real server.

usage: WARPFOLD_SERVER=... WARPFOLD_CLI=... large_test.py [unittest's arguments]

For .ci/nightly (some 4 GiB travel a test); indices and counts are what 32 bits cannot hold. The
bytes are made as they are sent, so that neither side has the tensor whole.
"""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "client_python"))

from running_server import running_server  # noqa: E402

BLOCK = bytes(1 + i % 7 for i in range(7 << 20))  # 1 to 7, whole rounds


def reduce(pieces, *arguments):
    """{op: values} of a tensor of i8 whose bytes are those of `pieces`."""
    with running_server() as target:
        command = [os.environ["WARPFOLD_CLI"], "reduce", "-", "--json", "--server", target]
        with subprocess.Popen(
            [*command, "--dtype", "i8", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as client:
            for piece in pieces:
                client.stdin.write(piece)
            output, _ = client.communicate()
    assert client.returncode == 0, client.returncode
    return {result["op"]: result["values"] for result in json.loads(output)["results"]}


class Large(unittest.TestCase):
    def test_an_index_beyond_32_bits_and_a_sum_of_all(self):
        blocks = (1 << 32) // len(BLOCK) + 1
        tail = bytes([0, 100, 256 - 100, 3])
        pieces = [BLOCK] * blocks + [tail]
        count = blocks * len(BLOCK)
        got = reduce(pieces, "--op", "sum,argmax,argmin,count_nonzero")
        self.assertEqual([4 * count + 3], got["sum"])
        self.assertEqual([count + 1], got["argmax"])
        self.assertEqual([count + 2], got["argmin"])
        self.assertEqual([count + 3], got["count_nonzero"])

    def test_more_rows_than_31_bits_hold(self):
        blocks = (1 << 32) // len(BLOCK) + 1
        rows = blocks * len(BLOCK) // 2 + 1  # a block is an even number of bytes
        pieces = [BLOCK] * blocks + [bytes([90, 91])]
        got = reduce(pieces, "--op", "argmax", "--shape", f"{rows},2", "--axis", "0")
        self.assertEqual([rows - 1, rows - 1], got["argmax"])


if __name__ == "__main__":
    unittest.main()
