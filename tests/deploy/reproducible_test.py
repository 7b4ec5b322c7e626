"""Checks that what the image is made of does not name the folder in which it was built.

Usage: reproducible_test.py SOURCE_FOLDER BINARY...
"""

import sys
import unittest
from pathlib import Path

SOURCE = Path(".")
BINARIES = []


def naming(folder: Path, binaries):
    """Those of the binaries that hold the folder's name."""
    return [str(file) for file in binaries if str(folder).encode() in file.read_bytes()]


class Reproducible(unittest.TestCase):
    def test_no_binary_names_its_folder(self):
        self.assertGreaterEqual(len(BINARIES), 3)
        self.assertEqual([], naming(SOURCE, BINARIES))

    def test_one_that_does_is_found(self):
        self.assertEqual([__file__], naming(Path("reproducible_test.py"), [Path(__file__)]))


if __name__ == "__main__":
    SOURCE, BINARIES = Path(sys.argv[1]), [Path(name) for name in sys.argv[2:] if name]
    unittest.main(argv=sys.argv[:1])
