#!/usr/bin/env python3
"""`describe` means the same in the command line, the Python client and the server's model.

usage: describe_ops_test.py [unittest's arguments]
"""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def listed(path, pattern, item):
    """The ops of the one list in `path` that `pattern` finds, in lower case with underscores."""
    (text,) = re.findall(pattern, (ROOT / path).read_text(encoding="utf-8"), re.DOTALL)
    return [
        re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower() for name in re.findall(item, text)
    ]


class DescribeOps(unittest.TestCase):
    def test_the_three_lists_are_one(self):
        cpp = listed(
            "client/cpp/cli/describe_ops.h", r"kDescribeOps\[\] = \{(.*?)\}", r"OP_(\w+)"
        )
        kserve = listed(
            "server/frontend/kserve/models.cc", r'add\("describe",\s*\{(.*?)\}', r"Op::k(\w+)"
        )
        python = listed(
            "client/python/warpfold/_describe.py", r"_STATISTICS = \((.*?)\)", r'"(\w+)"'
        )
        self.assertEqual(9, len(cpp), cpp)
        self.assertIn("l1_norm", cpp)
        self.assertIn("l2_norm", cpp)
        self.assertEqual(cpp, kserve)
        self.assertEqual(cpp, python)


if __name__ == "__main__":
    unittest.main()
