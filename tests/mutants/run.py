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
  3  the tests do not build or pass without any change, or no mutant compiles
"""

import argparse
import datetime
import os
import random
import sys
import time
from pathlib import Path

import mutate
from tables import (
    Failed,
    Ledger,
    explained,
    mutant_of,
    open_survivors,
    rows_of,
    tested_sources,
)
from workspace import Build, copy_tree, files_below

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
# A mutant that loops for ever is killed by time: this many times the unchanged test, and a minute.
TIMES_SLOWER = 10
# More mutants in a row that do not compile: it is not the mutants (a full disk, a lost compiler).
STILLBORN_MAX = 20


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


def tried(night, mutants, count):
    """(mutant, outcome, by) of `count` mutants that compile, each told as it comes."""
    stillborn = 0
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
        if outcome == "does not compile":
            stillborn += 1
            if stillborn > STILLBORN_MAX:
                raise Failed(3, f"{stillborn} mutants in a row do not compile")
            continue
        stillborn = 0
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
    copy_tree(ROOT, files, tree)
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
