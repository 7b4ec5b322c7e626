"""Checks .ci/nightly with parts made for the test: which run, what fails, and what the ledger gets.

Usage: nightly_test.py [unittest's arguments]
"""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NIGHTLY = ROOT / ".ci/nightly"
LEDGER = """# Ledger
| part | what it runs | last passed | on | minutes |
| good | old | | | |
| bad | | | | |
"""


class Nightly(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.ledger = self.folder / "ledger.md"
        self.ledger.write_text(LEDGER, encoding="utf-8")
        (self.folder / "parts").mkdir()
        self.part("good", "echo ran good")
        self.part("bad", "echo ran bad; exit 3")

    def part(self, name, body):
        file = self.folder / "parts" / name
        file.write_text(f"#!/bin/sh\n# What {name} does\n{body}\n", encoding="utf-8")
        file.chmod(0o755)

    def run_nightly(self, *arguments, limit_s=60, parts=None):
        environment = os.environ | {
            "NIGHTLY_PARTS": str(parts or self.folder / "parts"),
            "NIGHTLY_LEDGER": str(self.ledger),
            "NIGHTLY_LIMIT_S": str(limit_s),
        }
        return subprocess.run(
            [NIGHTLY, *arguments],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=50,
        )

    def test_list_names_the_parts_and_what_they_do(self):
        done = self.run_nightly("--list")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual(["bad", "What", "bad", "does"], done.stdout.splitlines()[0].split())
        self.assertEqual(2, len(done.stdout.splitlines()))

    def test_an_unknown_part_names_the_known_ones_and_runs_none(self):
        done = self.run_nightly("good", "godo")
        self.assertEqual(2, done.returncode)
        self.assertIn("unknown part 'godo'; the parts are: bad good", done.stderr)
        self.assertNotIn("ran", done.stdout)
        self.assertEqual(2, self.run_nightly("--all").returncode)

    def test_a_part_that_passes_gets_its_line_in_the_ledger(self):
        done = self.run_nightly("good")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertRegex(done.stdout, r"\| good \| What good does \| [\d-]{10}, \S+ \| 2 proc")
        self.assertEqual(LEDGER, self.ledger.read_text(encoding="utf-8"))
        self.assertEqual(0, self.run_nightly("--record", "good").returncode)
        lines = self.ledger.read_text(encoding="utf-8").splitlines()
        self.assertRegex(lines[2], r"^\| good \| What good does \| \d{4}-.* \| 0 \|$")
        self.assertEqual(LEDGER.splitlines()[:2] + LEDGER.splitlines()[3:], lines[:2] + lines[3:])

    def test_without_arguments_all_run_and_the_one_that_failed_is_named(self):
        done = self.run_nightly("--record")
        self.assertEqual(1, done.returncode)
        self.assertIn("ran bad", done.stdout)
        self.assertIn("ran good", done.stdout)
        self.assertIn("bad failed with status 3", done.stderr)
        self.assertEqual("nightly: failed: bad", done.stderr.splitlines()[-1])
        self.assertIn("| bad | | | | |", self.ledger.read_text(encoding="utf-8"))

    def test_a_part_that_hangs_is_ended_with_what_it_started(self):
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        # Both wait for a writer, which never comes.
        self.part("hangs", f"echo $$ >&2; cat {fifo} & cat {fifo}")
        done = self.run_nightly("hangs", limit_s=1)
        self.assertEqual(1, done.returncode)
        self.assertIn("hangs did not end within 1 s", done.stderr)
        # With a reader left, this would open.
        with self.assertRaises(OSError):
            os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)

    def test_parts_see_that_they_run_in_continuous_integration(self):
        self.part("good", 'test "$CI" = 1')
        self.assertEqual(0, self.run_nightly("good").returncode)

    def test_parts_can_be_interrupted(self):
        self.part("good", "kill -INT $$; echo ignored")
        done = self.run_nightly("good")
        self.assertEqual(1, done.returncode)
        self.assertNotIn("ignored", done.stdout)

    def test_an_empty_folder_of_parts_is_no_success(self):
        empty = self.folder / "empty"
        empty.mkdir()
        done = self.run_nightly(parts=empty)
        self.assertEqual(1, done.returncode)
        self.assertIn("no parts", done.stderr)


class TheParts(unittest.TestCase):
    def test_each_has_its_line_in_the_ledger_and_no_other_does(self):
        parts = sorted(path.name for path in (ROOT / ".ci/parts").iterdir())
        text = (ROOT / "docs/nightly.md").read_text(encoding="utf-8")
        rows = [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("|")]
        self.assertEqual(parts, sorted(rows[2:]))

    def test_each_can_be_run_and_says_what_it_does(self):
        for path in (ROOT / ".ci/parts").iterdir():
            with self.subTest(part=path.name):
                self.assertTrue(os.access(path, os.X_OK))
                text = path.read_text(encoding="utf-8")
                self.assertRegex(text, r"\A#!/usr/bin/env bash\n# \S.*\nset -euo pipefail\n")


if __name__ == "__main__":
    unittest.main()
