"""Checks the licences that deploy/stage.sh writes: each library that it copies has one.

Usage: licenses_test.py WARPFOLD_SERVER WARPFOLD_CLI DEPLOY_FOLDER [unittest's arguments]
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SERVER = CLI = ""
DEPLOY = Path(".")
STAGE_SECONDS = 120


def compile_c(source: str, output: Path, *flags: str):
    """Builds a C program, or with -shared a library."""
    command = ["cc", "-x", "c", "-", "-x", "none", "-o", str(output), *flags]
    subprocess.run(command, input=source, text=True, check=True, timeout=STAGE_SECONDS)


class Licenses(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def stage(self, *programs):
        """(exit code, stderr, the licences' text) of staging the programs."""
        destination = self.folder / "staged"
        done = subprocess.run(
            [DEPLOY / "stage.sh", destination, *programs],
            capture_output=True,
            text=True,
            timeout=STAGE_SECONDS,
        )
        file = destination / "THIRD_PARTY_LICENSES"
        return done.returncode, done.stderr, file.read_text() if file.exists() else ""

    def planted(self, name: str, source: str = "int planted(void) { return 0; }"):
        """A program that needs the library `name`, which lies beside it and is in no package."""
        library = self.folder / name
        compile_c(source, library, "-shared", "-fPIC", f"-Wl,-soname,{name}")
        program = self.folder / "program"
        compile_c(
            "int planted(void); int main(void) { return planted(); }",
            program,
            str(library),
            f"-Wl,-rpath,{self.folder}",
        )
        return program

    def test_name_each_library_and_hold_its_packages_copyright(self):
        status, said, text = self.stage(SERVER, CLI)
        self.assertEqual((0, ""), (status, said))
        listed = dict(re.findall(r"^lib/(\S+): (\S+)", text, re.MULTILINE))
        staged = {file.name for file in (self.folder / "staged/lib").iterdir()}
        self.assertGreater(len(staged), 10)
        self.assertEqual(staged, set(listed))
        for package in set(listed.values()) - {"warpfold", "NVIDIA"}:
            with self.subTest(package=package):
                copyright_file = Path("/usr/share/doc", package, "copyright")
                own = copyright_file.read_text(encoding="utf-8", errors="replace").strip()
                self.assertIn(own, text)

    def test_anybody_may_read_them_and_a_library_of_two_paths_is_named_once(self):
        program = self.planted("libcudart.so.13")
        (self.folder / "other").mkdir()
        library = self.folder / "other/libcudart.so.13"
        library.write_bytes((self.folder / "libcudart.so.13").read_bytes())
        other = self.folder / "other-program"
        compile_c(
            "int planted(void); int main(void) { return planted(); }",
            other,
            str(library),
            f"-Wl,-rpath,{library.parent}",
        )
        before = os.umask(0o077)
        self.addCleanup(os.umask, before)
        _, _, text = self.stage(program, other)
        self.assertEqual(1, text.count("lib/libcudart.so.13: "))
        mode = (self.folder / "staged/THIRD_PARTY_LICENSES").stat().st_mode
        self.assertEqual(0o644, mode & 0o777)

    def test_name_what_is_compiled_in_and_the_licences_that_are_referred_to(self):
        _, _, text = self.stage(CLI)
        self.assertRegex(text, r"compiled in .*\blibcli11-dev, nlohmann-json3-dev\b")
        own = Path("/usr/share/doc/libcli11-dev/copyright").read_text(encoding="utf-8")
        self.assertIn(own.strip(), text)
        common = Path("/usr/share/common-licenses/Apache-2.0").read_text(encoding="utf-8")
        self.assertIn(common.strip(), text)

    def test_a_library_of_no_package_ends_it(self):
        status, said, text = self.stage(self.planted("libplanted.so.1"))
        self.assertEqual((1, ""), (status, text))
        self.assertRegex(said, r"^licenses: libplanted\.so\.1 .* belongs to no package")

    def test_a_library_left_from_before_ends_it(self):
        (self.folder / "staged/lib").mkdir(parents=True)
        (self.folder / "staged/lib/libold.so").write_text("")
        status, said, _ = self.stage(CLI)
        self.assertEqual(1, status)
        self.assertIn("libold.so was not copied now", said)

    def test_nvidias_runtime_is_named_with_its_licence_shared_or_compiled_in(self):
        status, said, text = self.stage(self.planted("libcudart.so.13"))
        self.assertEqual((0, ""), (status, said))
        self.assertIn("lib/libcudart.so.13: NVIDIA CUDA runtime", text)
        self.assertIn("Attachment A names libcudart", text)

        runtime = "int planted(void) { return 0; } void cudaGetDeviceCount(void) {}"
        _, _, text = self.stage_anew(self.planted("libwarpfold_planted.so", runtime))
        self.assertIn("lib/libwarpfold_planted.so: holds NVIDIA's CUDA runtime", text)
        self.assertIn("Attachment A names libcudart", text)

    def stage_anew(self, program):
        (self.folder / "staged").rename(self.folder / "staged-before")
        return self.stage(program)

    def test_the_toolkits_own_text_is_taken_where_it_has_one(self):
        toolkit = self.folder / "cuda-13.0"
        toolkit.mkdir()
        (toolkit / "EULA.txt").write_text("The toolkit's own words.")
        self.folder = toolkit
        _, _, text = self.stage(self.planted("libcudart.so.13"))
        self.assertIn("The toolkit's own words.", text)


if __name__ == "__main__":
    SERVER, CLI, DEPLOY = sys.argv[1], sys.argv[2], Path(sys.argv[3]).resolve()
    del sys.argv[1:4]
    unittest.main()
