"""The tables of sources and of mutants: sources.tsv and ledger.tsv."""

import fnmatch
from typing import NamedTuple

import mutate

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
