#!/usr/bin/env python3
"""Which files of server/ one lone unary request enters.

usage: request_path.py --gcov GCOV [--print] PROGRAM COVERAGE_FOLDER SOURCE_FOLDER

Runs PROGRAM (request_path.cc), which serves one Reduce of 4 KiB, and reads from the coverage that
it leaves which functions ran meanwhile. A file is entered if one of them is neither made by the
compiler, a constructor or an assignment nor named in accessors.txt. Fails unless these files are
those that docs/architecture.md lists, and 25 at most. --print prints the functions instead.
"""

import argparse
import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

FILES_MAX = 25
HERE = Path(__file__).resolve().parent


def simple_name(demangled):
    """'Watchdog::DueIn' of 'warpfold::Watchdog::DueIn(warpfold::Watched&, ...) const'."""
    name = demangled.replace("(anonymous namespace)::", "").replace("[abi:cxx11]", "")
    while (shorter := re.sub(r"<[^<>]*>", "", name)) != name:
        name = shorter
    name = name.split("(")[0]
    return re.sub(r"^.*?\bwarpfold::", "", name)


def is_made(name):
    """Whether it is a constructor, a destructor or an assignment."""
    parts = name.split("::")
    last = parts[-1]
    return last.startswith("~") or last == "operator=" or (len(parts) > 1 and last == parts[-2])


def functions_that_ran(gcov, folder, source):
    """Names of functions by their file, relative to the source folder."""
    ran = defaultdict(set)
    counts = sorted(folder.rglob("*.gcda"))
    if not counts:
        sys.exit(f"request_path: no coverage in {folder}")
    reports = subprocess.run(
        [gcov, "--json-format", "--stdout", "--demangled-names", *counts],
        check=True,
        capture_output=True,
        text=True,
        cwd=folder,
    ).stdout
    for report in map(json.loads, reports.splitlines()):
        for file in report["files"]:
            path = Path(report["current_working_directory"], file["file"]).resolve()
            if not path.is_relative_to(source / "server"):
                continue
            for function in file["functions"]:
                if function["execution_count"] > 0:
                    name = simple_name(function["demangled_name"])
                    ran[str(path.relative_to(source))].add(name)
    return ran


def accessors():
    lines = (HERE / "accessors.txt").read_text().splitlines()
    pairs = [line.split(None, 1) for line in lines if line and not line.startswith("#")]
    return {(file, name.strip()) for file, name in pairs}


def listed_files(page):
    """The links of the table under the heading 'A unary request', in order."""
    section = page.read_text().split("## A unary request")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    return [link for row in rows for link in re.findall(r"\]\(\.\./(server/[^)]+)\)", row)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gcov", required=True)
    parser.add_argument("--print", action="store_true")
    parser.add_argument("program", type=Path)
    parser.add_argument("coverage_folder", type=lambda text: Path(text).resolve())
    parser.add_argument("source_folder", type=Path)
    arguments = parser.parse_args()
    for old in arguments.coverage_folder.rglob("*.gcda"):
        old.unlink()
    subprocess.run([arguments.program], check=True, timeout=60)
    source = arguments.source_folder.resolve()
    ran = functions_that_ran(arguments.gcov, arguments.coverage_folder, source)
    known = accessors()
    entered = {
        file: sorted(name for name in names if not is_made(name) and (file, name) not in known)
        for file, names in sorted(ran.items())
    }
    entered = {file: names for file, names in entered.items() if names}
    if arguments.print:
        for file, names in entered.items():
            print(file, *names, sep="\n    ")
        return
    wrong = [
        f"accessors.txt: {name} of {file} did not run"
        for file, name in sorted(known)
        if name not in ran[file]
    ]
    listed = listed_files(source / "docs/architecture.md")
    page = "docs/architecture.md"
    wrong += [f"{page} does not list {file}" for file in entered if file not in listed]
    wrong += [f"{page} lists {file}: not entered" for file in listed if file not in entered]
    if len(entered) > FILES_MAX:
        wrong.append(f"{len(entered)} files are entered, above {FILES_MAX}")
    for line in wrong:
        print(f"request_path: {line}", file=sys.stderr)
    print(f"request_path: {len(entered)} files of server/ are entered")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
