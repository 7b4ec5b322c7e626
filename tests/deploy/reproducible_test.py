"""Checks that what the image is made of does not name the folder in which it was built.

Usage: reproducible_test.py SOURCE_FOLDER BINARY...
"""

import re
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(".")
BINARIES = []


def naming(folder: Path, binaries):
    """Those of the binaries that hold the path of something in the folder.

    Not of its name alone: a tree in /warpfold is not what "/warpfold.v1.ReductionService" names.
    """
    path = re.compile(rb"(?<![\w./-])" + re.escape(str(folder)).encode() + rb"/")
    return [str(file) for file in binaries if path.search(file.read_bytes())]


class Reproducible(unittest.TestCase):
    def test_no_binary_names_its_folder(self):
        self.assertGreaterEqual(len(BINARIES), 3)
        self.assertEqual([], naming(SOURCE, BINARIES))

    def test_one_that_does_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            binary = Path(folder) / "binary"
            for content, found in (
                (b"\0/warpfold/server/main.cc\0", True),
                (b"RPATH=/warpfold/build", True),
                (b"\0/warpfold.v1.ReductionService/Reduce\0", False),
                (b"\0/usr/src/warpfold/main.cc\0", False),
            ):
                binary.write_bytes(content)
                with self.subTest(content=content):
                    self.assertEqual(found, naming(Path("/warpfold"), [binary]) != [])


if __name__ == "__main__":
    SOURCE, BINARIES = Path(sys.argv[1]), [Path(name) for name in sys.argv[2:] if name]
    unittest.main(argv=sys.argv[:1])
