"""`cmake --install` puts a server somewhere, and it serves from there without the build.

Usage: install_test.py CMAKE BUILD_FOLDER [unittest's arguments]
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from running_server import running_server

CMAKE = BUILD = ""


def printed(*command):
    return subprocess.run(
        list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True, timeout=60
    ).stdout


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.prefix = Path(folder.name).resolve()
        for component in ("server", "cli"):
            printed(CMAKE, "--install", BUILD, "--component", component, "--prefix", cls.prefix)
        cls.server = cls.prefix / "bin/warpfold-server"

    def test_it_serves(self):
        os.environ["WARPFOLD_SERVER"] = str(self.server)
        with running_server("--backend=cpu") as target:
            said = printed(self.prefix / "bin/warpfold", "health", f"--server={target}")
        self.assertIn("SERVING", said)

    def test_it_needs_nothing_of_the_build(self):
        kernels = [line for line in printed("ldd", self.server).splitlines() if "kernels" in line]
        self.assertTrue(kernels)
        for line in kernels:
            self.assertIn(f"=> {self.prefix}/", line)
        for file in (self.server, *self.prefix.glob("lib*/**/*.so")):
            self.assertNotIn(BUILD, printed("readelf", "-d", file))

    def test_no_other_component_comes_along(self):
        files = {path.name for path in self.prefix.rglob("*") if path.is_file()}
        self.assertEqual(set(), {name for name in files if name.endswith((".h", ".a", ".proto"))})


if __name__ == "__main__":
    CMAKE, BUILD = sys.argv[1:3]
    del sys.argv[1:3]
    unittest.main()
