#!/usr/bin/env python3
"""Says which tests were skipped, and finds those that continuous integration may not skip.

usage: skips.py RESULTS.xml

RESULTS.xml is what `ctest --output-junit` wrote. A skipped test is one that CTest calls skipped or
disabled, or one within a test of CTest's that pytest (with -rfEs) or unittest (verbosity=2) says to
have skipped. Exit status: 0; 1 with $CI set when one is not in skips.txt; 2 for no results.
"""

import fnmatch
import os
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ALLOWED = Path(__file__).with_name("skips.txt")
PYTEST = re.compile(r"^SKIPPED \[(\d+)\] (?:\S*/)?([^/\s:]+\.py)(?::\d+)?: (.*)$", re.MULTILINE)
# test_name (module.Class.test_name) ... skipped 'why'. Subtests are indented and have their
# parameters behind; the first line of a test's docstring comes between.
UNITTEST = re.compile(
    r"^ *(test_\w+) \([\w.]+\)(?: \(.*\))?(?:\n.*)? \.\.\. skipped (.*)$", re.MULTILINE
)


def allowed(text):
    """(pattern, reason) of each line; raises ValueError for a line without a reason."""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        pattern, dashes, reason = line.partition(" -- ")
        if not dashes or not reason.strip():
            raise ValueError(f"line {number}: '{line}' is not NAME -- REASON")
        yield pattern.strip(), reason.strip()


def skipped(results):
    """(name, the test within or None, what it said) of each skipped test of CTest's XML."""
    for case in ElementTree.fromstring(results).iter("testcase"):
        name = case.get("name")
        output = case.findtext("system-out") or ""
        if case.get("status") in ("notrun", "disabled") or case.find("skipped") is not None:
            lines = [line.strip() for line in output.splitlines() if line.strip()]
            told = [line for line in lines if re.search(r"skip|no .*here|needs", line, re.I)]
            yield name, None, (told or lines or [""])[-1]
            continue
        for count, file, why in PYTEST.findall(output):
            yield name, file, f"{why} ({count})"
        for test, why in UNITTEST.findall(output):
            yield name, test, why


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    results = Path(sys.argv[1])
    if not results.is_file():
        print(f"skips: there is no {results}", file=sys.stderr)
        sys.exit(2)
    rules = list(allowed(ALLOWED.read_text(encoding="utf-8")))
    by_reason, unnamed = {}, []
    for test, within, told in skipped(results.read_bytes()):
        name = f"{test}/{within}" if within else test
        whole = f"{name}: {told}" if within else name
        reason = next((why for glob, why in rules if fnmatch.fnmatchcase(whole, glob)), None)
        if reason is None:
            unnamed.append(f"{name}: {told}")
        else:
            by_reason.setdefault(reason, []).append(name)
    for reason, names in by_reason.items():
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        print(f"skipped: {names[0]}{more}: {reason}")
    for line in unnamed:
        print(f"skipped, and not in tests/skips.txt: {line}")
    if unnamed and os.environ.get("CI"):
        sys.exit(1)


if __name__ == "__main__":
    main()
