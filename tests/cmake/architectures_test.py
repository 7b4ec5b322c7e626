"""What WARPFOLD_CUDA_ARCHITECTURES means, beside a fake nvidia-smi, and what it refuses."""

import os
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).with_name("print_architectures.cmake")
CMAKE = sys.argv.pop(1) if len(sys.argv) > 1 else "cmake"


def configure(architectures=None, nvidia_smi="exit 9"):
    """The exit code and the words of a configuration; `nvidia-smi` runs `nvidia_smi`."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "nvidia-smi")
        program.write_text(f"#!/bin/sh\n{nvidia_smi}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        option = [] if architectures is None else [f"-DWARPFOLD_CUDA_ARCHITECTURES={architectures}"]
        done = subprocess.run(
            [CMAKE, *option, "-P", str(SCRIPT)],
            env=os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
        )
        return done.returncode, " ".join(done.stderr.split())


class Architectures(unittest.TestCase):
    def test_a_list_is_taken_as_it_is(self):
        self.assertEqual(
            configure("80-real;90;120-virtual"),
            (0, "architectures=80-real;90;120-virtual code=80;90 ptx=90;120"),
        )

    def test_the_distribution_has_code_for_the_gpus_people_have(self):
        self.assertEqual(
            configure("dist"),
            (0, "architectures=75-real;80-real;90-real;100-real;120 code=75;80;90;100;120 ptx=120"),
        )

    def test_a_developers_build_takes_the_gpus_that_are_there(self):
        self.assertEqual(
            configure(nvidia_smi="printf '8.6\\n12.0\\n8.6\\n'"),
            (0, "architectures=86;120 code=86;120 ptx=86;120"),
        )

    def test_a_developers_build_without_a_gpu_takes_hopper(self):
        self.assertEqual(configure(), (0, "architectures=90 code=90 ptx=90"))

    def test_what_cannot_be_compiled_is_named(self):
        for architectures, words in {
            "70": "'70' is below 75: CUDA 13 compiles for compute capability 7.5 (T4) and later",
            "90;61-real": "'61-real' is below 75",
            "sm_90": "'sm_90' is no architecture; known are native, dist,",
            "90-fast": "'90-fast' is no architecture",
            "95": "'95' is unknown; known are 75;80;86;",
            "all": "'all' is no architecture",
            "": "is empty: give native, dist, or a list such as 80-real;90",
        }.items():
            with self.subTest(architectures):
                status, said = configure(architectures)
                self.assertNotEqual(status, 0)
                self.assertIn(
                    f"WARPFOLD_CUDA_ARCHITECTURES{'' if words.startswith('is') else ':'} {words}",
                    said,
                )

    def test_a_gpu_that_cuda_no_longer_compiles_for_is_named(self):
        status, said = configure(nvidia_smi="echo 7.0")
        self.assertNotEqual(status, 0)
        self.assertIn("'70' is below 75", said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
