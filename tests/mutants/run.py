#!/usr/bin/env python3
"""Changes one operator or constant of a source and expects that source's own test to fail.

A mutant is made in a copy of the tree under the scratch folder, never in the tree itself.
sources.tsv says which test programs a source has to fail. ledger.tsv has every mutant of the nights
so far; a survivor needs a reason there ("equivalent: ...") and is then not drawn again. A mutant
that does not compile does not count: the seed draws the next one.

exit codes:
  0  every mutant was killed, or is a survivor with a reason in the ledger
  1  a survivor has no reason in the ledger
  2  bad option, or a table that names what is not there
  3  the tests do not build or pass without any change
"""

import argparse
import datetime
import fnmatch
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

sys.path[:0] = [str(Path(__file__).parents[1] / "tree"), str(Path(__file__).parent)]
import mutate  # noqa: E402
from rules import is_made  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
# A mutant that loops for ever is killed by time: this many times the unchanged test, and a minute.
TIMES_SLOWER = 10
COLUMNS = ("date", "seed", "place", "code", "change", "outcome", "by, or why not")


class Failed(Exception):
    """A message for people, and the exit code."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Source(NamedTuple):
    path: str
    tests: tuple
    filter: str


def rows_of(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def tested_sources(files, table):
    """The sources that have a test, by path. A row of "-" says that those have none."""
    found, unused = {}, {row[0] for row in table}
    for path in files:
        for row in table:
            if len(row) != 3:
                raise Failed(2, f"sources.tsv: {row[0]}: {len(row)} columns, not 3")
            pattern, tests, test_filter = row
            if fnmatch.fnmatchcase(path, pattern) and pattern.count("/") == path.count("/"):
                unused.discard(pattern)
                if tests != "-":
                    found[path] = Source(path, tuple(tests.split()), test_filter)
                break
    if unused:
        raise Failed(2, f"sources.tsv: no source fits {', '.join(sorted(unused))}")
    return found


def key_of(path, code, change):
    """A mutant's name that outlives edits elsewhere in its file."""
    return path, code, change


def explained(ledger):
    """Why a survivor may survive, by its key."""
    found = {}
    for row in ledger[1:]:
        if len(row) != len(COLUMNS):
            raise Failed(2, f"ledger.tsv: {row[2:3]}: {len(row)} columns, not {len(COLUMNS)}")
        _, _, place, code, change, outcome, why = row
        if outcome == "survived" and why:
            found[key_of(place.split(":")[0], code, change)] = why
    return found


class Mutant(NamedTuple):
    path: str
    site: mutate.Site
    line: int
    column: int  # in the line without its indentation
    code: str
    nth: int  # of the file's lines with the same code

    @property
    def change(self):
        """As in `< -> <= @7`, at column 7; of a second line with the same code, `@7 #2`."""
        what = f"{self.site.old} -> {self.site.new or 'nothing'} @{self.column}"
        return f"{what} #{self.nth}" if self.nth > 1 else what

    @property
    def place(self):
        return f"{self.path}:{self.line}"

    @property
    def key(self):
        return key_of(self.path, self.code, self.change)


def mutant_of(path, text, site):
    line, column, code = mutate.place(text, site)
    lines = text.splitlines()
    whole = lines[line - 1]
    nth = sum(other.strip() == code for other in lines[:line])
    return Mutant(path, site, line, column - (len(whole) - len(whole.lstrip())), code, nth)


def files_below(root):
    """The tree's files by their paths from `root`: not what a build made, nor .git."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not is_made(name, Path(folder) == root)]
        found += [(Path(folder) / name).relative_to(root).as_posix() for name in names]
    return sorted(found)


def copy_tree(files, to):
    """Makes `to` the same as the tree; what is the same already keeps its time, for the build."""
    for path in files:
        source, target = ROOT / path, to / path
        if target.is_file() and target.read_bytes() == source.read_bytes():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        shutil.copy(source, target)
    for path in set(files_below(to)) - set(files):
        (to / path).unlink()


class Build:
    """Of the copy: a developer's without CUDA, so that ccache may have most of it."""

    def __init__(self, tree, jobs):
        self.tree, self.folder, self.jobs = tree, tree / "build" / "release", jobs
        # Paths below the tree become relative: then another tree's objects fit.
        self.environment = {**os.environ, "CCACHE_BASEDIR": str(tree), "CCACHE_NOHASHDIR": "1"}

    def configure(self):
        command = ["cmake", "--preset", "release", "-DWARPFOLD_CUDA=OFF"]
        if shutil.which("ccache"):
            command.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
        done = self.called(command)
        if done.returncode != 0:
            raise Failed(3, f"cmake failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")

    def targets(self, names):
        """(whether they were built, the end of what the compiler said)."""
        done = self.called(["ninja", "-C", str(self.folder), f"-j{self.jobs}", *names])
        return done.returncode == 0, done.stdout[-3000:]

    def called(self, command):
        return subprocess.run(
            command, cwd=self.tree, env=self.environment, capture_output=True, text=True
        )

    def program(self, target):
        found = [p for p in self.folder.glob(f"tests/**/{target}") if os.access(p, os.X_OK)]
        if len(found) != 1:
            raise Failed(2, f"sources.tsv: {target}: {len(found)} programs of that name")
        return found[0]

    def run(self, target, test_filter, timeout_s):
        """What failed, "" when all tests passed, None when there were no tests."""
        command = [
            str(self.program(target)),
            f"--gtest_filter={test_filter}",
            "--gtest_brief=1",
            "--gtest_fail_fast",
        ]
        # A group of its own, since some tests start programs that would outlive a killed one.
        with subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            try:
                output, _ = process.communicate(timeout=timeout_s)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                return f"{target}: did not end in {timeout_s:.0f} s"
        return verdict(target, process.returncode, output.decode(errors="replace"))


def verdict(target, returncode, output):
    if re.search(r"0 tests from 0 test (suites|cases) ran", output):
        return None
    if returncode == 0:
        return ""
    failed = re.search(r"\[  FAILED  \] ([\w./]+)", output)
    if failed:
        return failed[1]
    how = signal.Signals(-returncode).name if returncode < 0 else f"exit code {returncode}"
    return f"{target}: {how}"


class Night:
    """Runs mutants one after the other."""

    def __init__(self, build, sources):
        self.build, self.sources = build, sources
        self.seconds = {}  # of (test program, filter) without a change

    def ensure_baseline(self, mutant):
        """The tests of its source build, pass and take so long, without a change."""
        source = self.sources[mutant.path]
        test_filter = source.filter
        new = [target for target in source.tests if (target, test_filter) not in self.seconds]
        done, told = self.build.targets(new) if new else (True, "")
        if not done:
            raise Failed(3, f"the tests do not build without a change:\n{told}")
        for target in new:
            start = time.monotonic()
            failed = self.build.run(target, test_filter, 1200)
            if failed is None:
                raise Failed(2, f"sources.tsv: {target}: no test fits {test_filter}")
            if failed:
                raise Failed(3, f"{failed} fails without a change")
            self.seconds[target, test_filter] = time.monotonic() - start

    def try_one(self, mutant):
        """("killed", by), ("survived", "") or ("does not compile", "")."""
        source = self.sources[mutant.path]
        path = self.build.tree / mutant.path
        text = path.read_text(encoding="utf-8")
        path.write_text(mutate.apply(text, mutant.site), encoding="utf-8")
        try:
            for target in source.tests:
                if not self.build.targets([target])[0]:
                    return "does not compile", ""
                limit = 60 + TIMES_SLOWER * self.seconds[target, source.filter]
                failed = self.build.run(target, source.filter, limit)
                if failed:
                    return "killed", failed
            return "survived", ""
        finally:
            path.write_text(text, encoding="utf-8")


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, help="decides the mutants; without it, a random one")
    parser.add_argument("--count", type=int, default=8, metavar="N", help="mutants (8)")
    parser.add_argument("--file", action="append", metavar="PATH", help="only of this source")
    parser.add_argument("--list", action="store_true", help="name the seed's mutants, run none")
    parser.add_argument(
        "--again",
        action="store_true",
        help="the ledger's survivors without a reason, not the seed's",
    )
    parser.add_argument("--record", action="store_true", help="write the mutants into ledger.tsv")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument(
        "--scratch",
        type=Path,
        default=ROOT / "build" / "mutants",
        metavar="FOLDER",
        help="the copy and its build, kept for the next night (build/mutants)",
    )
    parsed = parser.parse_args(arguments)
    for name in ("count", "jobs"):
        if getattr(parsed, name) < 1:
            parser.error(f"--{name}: {getattr(parsed, name)} is not 1 or more")
    if parsed.scratch.resolve() in (ROOT, *ROOT.parents):
        parser.error(f"--scratch: {parsed.scratch} holds the tree")
    return parsed


def chosen_sources(sources, files):
    if not files:
        return sources
    for path in files:
        if path not in sources:
            raise Failed(2, f"--file: {path} is no source with a test of its own (sources.tsv)")
    return {path: sources[path] for path in files}


def open_survivors(texts, ledger):
    """The mutants whose rows say that they survived, but not why they may."""
    wanted = {}
    for _, _, place, code, change, outcome, why in ledger[1:]:
        if outcome == "survived" and not why:
            wanted[key_of(place.split(":")[0], code, change)] = place
    found = []
    for path in sorted({path for path, _, _ in wanted}):
        if path not in texts:
            continue
        every = (mutant_of(path, texts[path], site) for site in mutate.sites(texts[path]))
        found += [mutant for mutant in every if mutant.key in wanted]
    gone = wanted.keys() - {mutant.key for mutant in found}
    if gone:
        names = ", ".join(sorted(f"{wanted[key]}: {key[2]}" for key in gone))
        raise Failed(2, f"ledger.tsv: {names}: no such code any more; take the row out")
    return found


class Ledger:
    """ledger.tsv, written after every mutant, so that what ends early is not lost."""

    def __init__(self, path):
        self.path = path
        self.rows = rows_of(path)

    def record(self, row):
        """In the place of the same mutant's row that gives no reason, or as the last one."""
        for i, (_, _, place, code, change, outcome, why) in enumerate(self.rows[1:], 1):
            if (place.split(":")[0], code, change) != (row[2].split(":")[0], row[3], row[4]):
                continue
            if outcome == "survived" and not why:
                self.rows[i] = [row[0], self.rows[i][1], *row[2:]]  # the seed that drew it
                break
        else:
            self.rows.append(row)
        lines = ("\t".join(row) + "\n" for row in self.rows)
        self.path.write_text("".join(lines), encoding="utf-8")


def tried(night, mutants, count):
    """(mutant, outcome, by) of `count` mutants that compile, each told as it comes."""
    for mutant in mutants:
        if count == 0:
            return
        night.ensure_baseline(mutant)
        start = time.monotonic()
        outcome, by = night.try_one(mutant)
        told = f"{outcome} by {by}" if by else outcome
        seconds = time.monotonic() - start
        print(f"{mutant.place}: {mutant.change}: {told} ({seconds:.0f} s)")
        print(f"    {mutant.code}", flush=True)
        if outcome != "does not compile":
            count -= 1
            yield mutant, outcome, by


def one_night(options):
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**6)
    files = files_below(ROOT)
    sources = chosen_sources(tested_sources(files, rows_of(HERE / "sources.tsv")), options.file)
    texts = {path: (ROOT / path).read_text(encoding="utf-8") for path in sources}
    ledger = Ledger(HERE / "ledger.tsv")
    reasons = explained(ledger.rows)
    if options.again:
        mutants = open_survivors(texts, ledger.rows)
        count = len(mutants)
    else:
        print(f"seed {seed}", flush=True)
        every = (mutant_of(path, texts[path], site) for path, site in mutate.drawn(texts, seed))
        mutants = (mutant for mutant in every if mutant.key not in reasons)
        count = options.count
    if options.list:
        for _, mutant in zip(range(count), mutants):
            print(f"{mutant.place}: {mutant.change}: {mutant.code}")
        return 0

    tree = options.scratch.resolve() / "tree"
    copy_tree(files, tree)
    night = Night(Build(tree, options.jobs), sources)
    night.build.configure()
    today = datetime.date.today().isoformat()
    done, survivors = 0, []
    for mutant, outcome, by in tried(night, mutants, count):
        done += 1
        if outcome == "survived":
            survivors.append(mutant)
        if options.record:
            ledger.record([today, str(seed), mutant.place, mutant.code, mutant.change, outcome, by])
    print(f"{done} mutants, {done - len(survivors)} killed, {len(survivors)} survived")
    for mutant in survivors:
        print(f"no test fails, and ledger.tsv has no reason: {mutant.place}: {mutant.change}")
    return 1 if survivors else 0


def main(arguments=None):
    try:
        return one_night(parse_arguments(arguments))
    except Failed as failed:
        print(f"mutants: {failed}", file=sys.stderr)
        return failed.code


if __name__ == "__main__":
    sys.exit(main())
