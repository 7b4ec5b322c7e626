"""Checks what client/demo/build.sh would build: CUDA only where a GPU is present and nvcc is there.

Usage: demo_test.py [unittest's arguments]
"""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

BUILD = Path(__file__).resolve().parents[2] / "client/demo/build.sh"


class Plan(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dev = Path(folder.name, "dev")
        self.dev.mkdir()
        self.nvcc = Path(folder.name, "nvcc")
        self.nvcc.write_text("#!/bin/sh\n", encoding="utf-8")
        self.nvcc.chmod(0o755)

    def plan(self, nvcc):
        done = subprocess.run(
            [BUILD, "--plan", "build/demo"],
            env=os.environ | {"DEV": str(self.dev), "CUDACXX": str(nvcc)},
            stdout=subprocess.PIPE,
            text=True,
        )
        self.assertEqual(0, done.returncode)
        return done.stdout

    def test_without_a_gpu_it_is_the_cpu_though_nvcc_is_there(self):
        text = self.plan(self.nvcc)
        self.assertIn("under 5 minutes on 2 cores", text)
        self.assertIn("CPU backend alone: nvcc is here, but no GPU is present", text)

    def test_without_a_gpu_and_nvcc_it_is_the_cpu(self):
        self.assertIn("CPU backend alone: neither a GPU nor nvcc", self.plan("/nowhere/nvcc"))

    def test_each_device_node_of_a_gpu_counts(self):
        for name in ("nvidia0", "nvidia12", "nvidiactl", "dxg"):
            node = self.dev / name
            node.touch()
            with self.subTest(node=name):
                text = self.plan(self.nvcc)
                self.assertIn("under 10 minutes on 2 cores", text)
                self.assertIn(f"CUDA and CPU backend: a GPU is present ({node})", text)
                text = self.plan("/nowhere/nvcc")
                self.assertIn(f"CPU backend alone: a GPU is present ({node}), but no nvcc", text)
            node.unlink()

    def test_other_device_nodes_do_not(self):
        for name in ("nvidia-uvm", "nvidia-modeset", "dri"):
            (self.dev / name).touch()
        self.assertIn("no GPU is present", self.plan(self.nvcc))

    def test_without_a_folder_it_says_how_it_is_used(self):
        for arguments in ([], ["--plan"], ["--fast", "x"]):
            done = subprocess.run([BUILD, *arguments], stderr=subprocess.PIPE, text=True)
            self.assertEqual(2, done.returncode)
            self.assertIn("Usage: client/demo/build.sh", done.stderr)


if __name__ == "__main__":
    unittest.main()
