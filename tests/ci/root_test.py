"""Checks what .ci/root.sh refuses, and .ci/root-grpc.sh with an apt made for the test.

Usage: root_test.py [unittest's arguments]
"""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# In place of chroot: the apt of a root whose archive has what $ARCHIVE says, "PACKAGE VERSION" a
# line.
CHROOT = """#!/bin/sh
case "$2 $3" in
  "apt-get update") ;;
  "apt-cache policy")
    version=$(sed -n "s/^$4 //p" "$ARCHIVE")
    if [ -n "$version" ]; then
      printf '%s:\\n  Installed: (none)\\n  Candidate: %s\\n' "$4" "$version"
    fi
    ;;
  *) exit 1 ;;
esac
"""
PACKAGES = ("libgrpc++-dev", "libgrpc-dev", "protobuf-compiler-grpc")


def run(*command, **environment):
    return subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=50,
    )


class Arguments(unittest.TestCase):
    def test_gRPC_of_another_version_is_a_matter_of_sid(self):
        for arguments in (["--grpc=1.83", "trixie"], ["--grpc=new", "sid"], ["--grpc=1.83"]):
            done = run(".ci/root.sh", *arguments)
            self.assertEqual(2, done.returncode, arguments)
            self.assertIn("Usage: .ci/root.sh", done.stderr)


class RootGrpc(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for part in ("sources.list.d", "preferences.d"):
            (self.folder / "etc/apt" / part).mkdir(parents=True)
        chroot = self.folder / "chroot"
        chroot.write_text(CHROOT, encoding="utf-8")
        chroot.chmod(0o755)

    def run_with(self, archive):
        file = self.folder / "archive"
        lines = [f"{package} {version}\n" for package, version in archive.items()]
        file.write_text("".join(lines), encoding="utf-8")
        path = f"{self.folder}:{os.environ['PATH']}"
        return run(".ci/root-grpc.sh", str(self.folder), "1.83", PATH=path, ARCHIVE=str(file))

    def test_apt_takes_the_version_and_nothing_else_of_experimental(self):
        done = self.run_with(dict.fromkeys(PACKAGES, "1.83.0-2+b1"))
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("gRPC 1.83.0-2+b1", done.stdout)
        etc = self.folder / "etc/apt"
        self.assertIn(
            " experimental main", (etc / "sources.list.d/experimental.list").read_text("utf-8")
        )
        pins = (etc / "preferences.d/grpc").read_text("utf-8")
        self.assertIn("Package: src:grpc\nPin: version 1.83.*\n", pins)
        self.assertNotIn("Package: *", pins)

    def test_an_archive_without_the_version_fails_and_says_what_it_has(self):
        archive = dict.fromkeys(PACKAGES, "1.83.0-2+b1") | {"libgrpc++-dev": "1.51.1-10+b1"}
        del archive["protobuf-compiler-grpc"]
        done = self.run_with(archive)
        self.assertEqual(1, done.returncode)
        have = "libgrpc++-dev (1.51.1-10+b1), protobuf-compiler-grpc (none)"
        self.assertIn(f"gRPC 1.83; what they have: {have}", done.stderr)
        # 1.830 is another version.
        self.assertEqual(1, self.run_with(dict.fromkeys(PACKAGES, "1.830.0-1")).returncode)


if __name__ == "__main__":
    unittest.main()
