"""Checks tests/skips.py: it finds every kind of skip, and with $CI an unnamed one fails.

Usage: skips_test.py [unittest's arguments]
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from xml.sax.saxutils import escape

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

import skips  # noqa: E402

PYTEST = """..s.                                                   [100%]
=========================== short test summary info ============================
SKIPPED [8] ../../../tests/kserve/perf_analyzer_test.py:28: perf_analyzer needs glibc 2.38
SKIPPED [1] contract_test.py:27: protoc is not installed
4 passed, 2 skipped in 0.10s
"""
UNITTEST = """test_a (__main__.A.test_a)
What it is about. ... skipped 'why a'
test_b (__main__.A.test_b) ...
  test_b (__main__.A.test_b) (x=1) ... skipped 'why b'
test_c (__main__.A.test_c) ... skipped 'why c'
test_d (__main__.A.test_d) ... ok
"""


def case(name, output, skipped=False):
    mark = '<skipped message="SKIP_RETURN_CODE=77"/>' if skipped else ""
    status = "notrun" if skipped else "run"
    return (
        f'<testcase name="{name}" status="{status}">{mark}'
        f"<system-out>{escape(output)}</system-out></testcase>"
    )


def results(*cases):
    return f"<testsuite>{''.join(cases)}</testsuite>"


class Skips(unittest.TestCase):
    def test_those_of_ctest_pytest_and_unittest_are_found(self):
        found = list(
            skips.skipped(
                results(
                    case("one", "x\nthere is no GPU: skipped\n", skipped=True),
                    case("two", PYTEST),
                    case("three", UNITTEST),
                    case("four", "nothing was skipped here\n"),
                )
            )
        )
        self.assertEqual(
            [
                ("one", None, "there is no GPU: skipped"),
                ("two", "perf_analyzer_test.py", "perf_analyzer needs glibc 2.38 (8)"),
                ("two", "contract_test.py", "protoc is not installed (1)"),
                ("three", "test_a", "'why a'"),
                ("three", "test_b", "'why b'"),
                ("three", "test_c", "'why c'"),
            ],
            found,
        )

    def test_a_line_without_a_reason_is_refused(self):
        self.assertEqual([("a*", "why")], list(skips.allowed("# note\n\na* -- why\n")))
        for line in ("a*", "a* --", "a* -- "):
            with self.subTest(line=line), self.assertRaisesRegex(ValueError, "line 1"):
                list(skips.allowed(line))

    def run_on(self, text, **environment):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "tests.xml")
            file.write_text(text, encoding="utf-8")
            clean = {name: value for name, value in os.environ.items() if name != "CI"}
            return subprocess.run(
                [sys.executable, "-B", TESTS / "skips.py", file],
                env=clean | environment,
                stdout=subprocess.PIPE,
                text=True,
            )

    def test_an_unnamed_one_fails_in_continuous_integration_alone(self):
        text = results(case("python_dask", "PyPI does not give it: skipped", skipped=True))
        for environment, code in (({}, 0), ({"CI": "1"}, 1)):
            with self.subTest(environment=environment):
                done = self.run_on(text, **environment)
                self.assertEqual(code, done.returncode)
                self.assertIn("not in tests/skips.txt: python_dask: PyPI does not", done.stdout)

    def test_named_ones_are_listed_with_their_reason(self):
        cases = [case("GpuWorkerTest.A", "", True), case("GpuWorkerTest.B", "", True)]
        done = self.run_on(results(*cases), CI="1")
        self.assertEqual(0, done.returncode, done.stdout)
        self.assertRegex(done.stdout, r"skipped: GpuWorkerTest.A and 1 more: needs a GPU")

    def test_one_within_a_test_is_named_with_what_it_says(self):
        for why, code in (("perf_analyzer needs glibc 2.38", 0), ("it did not install", 1)):
            output = f"SKIPPED [8] tests/kserve/perf_analyzer_test.py:28: {why}\n"
            done = self.run_on(results(case("kserve_clients", output)), CI="1")
            self.assertEqual(code, done.returncode, done.stdout)

    def test_without_results_it_fails(self):
        done = subprocess.run(
            [sys.executable, "-B", TESTS / "skips.py", "/nowhere.xml"], stderr=subprocess.PIPE
        )
        self.assertEqual(2, done.returncode)


if __name__ == "__main__":
    unittest.main()
