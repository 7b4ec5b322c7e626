#!/usr/bin/env python3
"""The mutations themselves, the tables, and what a night says: without a compiler."""

import contextlib
import io
import signal
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import mutate  # noqa: E402
import run  # noqa: E402
import tables  # noqa: E402
import workspace  # noqa: E402

SEED = 20261124


def changes(text):
    """{(old, new), ...} of all sites of a text."""
    return {(site.old, site.new) for site in mutate.sites(text)}


class Sites(unittest.TestCase):
    def test_operators_and_constants_change_by_one_token(self):
        for code, wanted in {
            "if (a < b) return;": {("<", "<="), ("<", ">=")},
            "if (a == b) return;": {("==", "!=")},
            "x = a + b;": {("+", "-")},
            "x = a &&\n    b;": {("&&", "||")},
            "x += 8;": {("+=", "-="), ("8", "9"), ("8", "7")},
            "x = 0;": {("0", "1")},
            "x = 1;": {("1", "0")},
            "x = 1'000;": {("1'000", "1001"), ("1'000", "999")},
            "++x;": {("++", "--")},
            "if (!ok) return;": {("!", "")},
            "return true;": {("true", "false")},
            "x = std::min(a, b);": {("std::min", "std::max")},
        }.items():
            self.assertEqual(changes(code), wanted, code)

    def test_types_and_names_are_left_alone(self):
        for code in (
            "std::vector<int> x;",
            "const T* x = f(&y);",
            "T&& x;",
            "a->b;",
            "x = 0x10;",
            "x = 1.5;",
            "x = 1e9;",
            "int64 x2;",
            "x = -y;",
            "truefalse(x);",
        ):
            self.assertEqual(changes(code), set(), code)

    def test_what_is_not_code_is_left_alone(self):
        for text in (
            "// a < b",
            "/* a < b\n 1 */",
            'x("a < b \\" 1 + 2");',
            "x('<');",
            'x(R"(a < b " 1)");',
            'x(R"end(a < b )" 1)end");',
            "#if A > 1",
            "#define X \\\n  (a < 1)",
            "static_assert(a < 1);",
            "x.reserve(a + 1);",
        ):
            self.assertEqual(changes(text), set(), text)

    def test_code_behind_a_comment_or_a_string_is_found_where_it_is(self):
        text = '/* < */ f("é", a < b);  // <\n'
        site = mutate.sites(text)[0]
        self.assertEqual(mutate.apply(text, site), '/* < */ f("é", a <= b);  // <\n')
        self.assertEqual(mutate.place(text, site)[0], 1)

    def test_masking_keeps_lines_and_offsets(self):
        for path in (HERE.parents[1] / "kernels").glob("*.cc"):
            text = path.read_text(encoding="utf-8")
            plain = mutate.masked(text)
            self.assertEqual(len(plain), len(text))
            self.assertEqual(plain.count("\n"), text.count("\n"))

    def test_every_change_of_a_real_source_is_a_change_of_one_line(self):
        text = (HERE.parents[1] / "kernels" / "plan.cc").read_text(encoding="utf-8")
        found = mutate.sites(text)
        self.assertGreater(len(found), 100)
        for site in found:
            changed = mutate.apply(text, site).splitlines()
            before = text.splitlines()
            (line,) = [i for i, both in enumerate(zip(before, changed)) if both[0] != both[1]]
            self.assertEqual(mutate.place(text, site)[0], line + 1)
            self.assertEqual(mutate.place(text, site)[2], before[line].strip())


class Draws(unittest.TestCase):
    TEXTS = {"a.cc": "x = 1;", "b.cc": "if (a < b) return a + 2;"}

    def test_a_seed_draws_the_same_mutants_once_each(self):
        first = list(mutate.drawn(self.TEXTS, SEED))
        again = list(mutate.drawn(dict(reversed(self.TEXTS.items())), SEED))
        self.assertEqual(first, again)
        self.assertEqual(len(first), len(set(first)))
        self.assertEqual(len(first), sum(len(mutate.sites(t)) for t in self.TEXTS.values()))

    def test_another_seed_draws_others(self):
        orders = {tuple(mutate.drawn(self.TEXTS, seed)) for seed in range(20)}
        self.assertGreater(len(orders), 10)


class Tables(unittest.TestCase):
    def test_the_first_row_that_fits_counts(self):
        table = [["a/b.cc", "-", "*"], ["a/*.cc", "one two", "X*"], ["c/*.cc", "three", "*"]]
        found = tables.tested_sources(["a/b.cc", "a/c.cc", "a/deep/d.cc", "c/e.cc"], table)
        self.assertEqual(sorted(found), ["a/c.cc", "c/e.cc"])
        self.assertEqual(found["a/c.cc"], tables.Source("a/c.cc", ("one", "two"), "X*"))

    def test_a_row_for_nothing_is_named(self):
        with self.assertRaisesRegex(tables.Failed, "no source fits gone.cc"):
            tables.tested_sources(["a.cc"], [["a.cc", "one", "*"], ["gone.cc", "one", "*"]])

    def test_only_a_reason_explains_a_survivor(self):
        header = list(tables.COLUMNS)
        row = ["2026-11-24", "1", "a.cc:7", "if (a < b) {", "< -> <= @7", "survived", ""]
        self.assertEqual(tables.explained([header, row]), {})
        row[-1] = "equivalent: a is never b"
        self.assertEqual(
            tables.explained([header, row]),
            {("a.cc", "if (a < b) {", "< -> <= @7"): "equivalent: a is never b"},
        )
        row[-2] = "killed"
        self.assertEqual(tables.explained([header, row]), {})

    def test_a_mutants_key_outlives_lines_above_it_and_its_indentation(self):
        text = "x = 1;\n  if (a < b) return;\n"
        site = mutate.sites(text)[-1]
        later = "y = 2;\n" + text.replace("  if", "if")
        moved = mutate.sites(later)[-1]
        first, second = (tables.mutant_of("a.cc", t, s) for t, s in ((text, site), (later, moved)))
        self.assertEqual(first.key, second.key)
        self.assertNotEqual(first.place, second.place)

    def test_lines_with_the_same_code_have_mutants_of_different_keys(self):
        text = "if (a < b) f();\nif (a < b) f();\n"
        mutants = [tables.mutant_of("a.cc", text, site) for site in mutate.sites(text)]
        self.assertEqual(len({mutant.key for mutant in mutants}), len(mutants))

    def test_the_committed_tables_are_whole(self):
        tables.tested_sources(workspace.files_below(run.ROOT), tables.rows_of(HERE / "sources.tsv"))
        ledger = tables.rows_of(HERE / "ledger.tsv")
        self.assertEqual(tuple(ledger[0]), tables.COLUMNS)
        tables.explained(ledger)
        for row in ledger[1:]:
            self.assertIn(row[5], ("killed", "survived"))
            self.assertTrue(row[6], f"{row[2]}: {row[5]} by what, or why?")


class Verdicts(unittest.TestCase):
    def test_the_test_that_failed_is_named(self):
        output = "[ RUN      ] A.B\n[  FAILED  ] A.B (0 ms)\n[  FAILED  ] 1 test\n"
        self.assertEqual(workspace.verdict("a_test", 1, output), "A.B")

    def test_a_crash_and_an_exit_without_a_test_kill_too(self):
        self.assertEqual(workspace.verdict("a_test", -signal.SIGSEGV, ""), "a_test: SIGSEGV")
        self.assertEqual(workspace.verdict("a_test", 3, ""), "a_test: exit code 3")

    def test_passing_is_survival_but_not_of_no_tests(self):
        self.assertEqual(workspace.verdict("a_test", 0, "[  PASSED  ] 4 tests.\n"), "")
        self.assertIsNone(workspace.verdict("a_test", 0, "[===] 0 tests from 0 test suites ran."))


class FakeBuild:
    """Compiles every change or none; its test fails of every change, or of none."""

    def __init__(self, tree, jobs):
        self.tree = tree

    def configure(self):
        pass

    def targets(self, names):
        return self.compiles or self.is_unchanged(), "error"

    def is_unchanged(self):
        paths = [folder / "kernels/plan.cc" for folder in (self.tree, run.ROOT)]
        return paths[0].read_bytes() == paths[1].read_bytes()

    def run(self, target, test_filter, timeout_s):
        return "" if self.is_unchanged() or self.survives else "Plan.Fails"


class Nights(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.scratch = folder.name
        self.before = (run.ROOT / "kernels/plan.cc").read_bytes()

    def night(self, *options, survives=False, compiles=True):
        """(exit code, standard output, standard error) of a night of plan.cc."""
        build = type("Build", (FakeBuild,), {"survives": survives, "compiles": compiles})
        out, err = io.StringIO(), io.StringIO()
        common = ["--seed", str(SEED), "--scratch", self.scratch, "--file", "kernels/plan.cc"]
        with contextlib.ExitStack() as stack:
            stack.enter_context(mock.patch.object(run, "Build", build))
            stack.enter_context(contextlib.redirect_stdout(out))
            stack.enter_context(contextlib.redirect_stderr(err))
            try:
                code = run.main([*common, *options])
            except SystemExit as ended:  # argparse's
                code = ended.code
        return code, out.getvalue(), err.getvalue()

    def test_killed_mutants_are_named_with_their_test(self):
        code, out, _ = self.night("--count", "3")
        self.assertEqual(code, 0)
        self.assertEqual(out.count("killed by Plan.Fails"), 3)
        self.assertIn(f"seed {SEED}\n", out)
        self.assertIn("3 mutants, 3 killed, 0 survived\n", out)

    def test_a_survivor_without_a_reason_is_named_and_fails_the_night(self):
        code, out, _ = self.night("--count", "2", survives=True)
        self.assertEqual(code, 1)
        self.assertEqual(
            out.count("no test fails, and ledger.tsv has no reason: kernels/plan.cc:"), 2
        )

    def test_a_build_that_fails_for_every_mutant_fails_the_night(self):
        code, out, err = self.night("--count", "2", compiles=False)
        self.assertEqual(code, 3)
        self.assertEqual(out.count("does not compile"), run.STILLBORN_MAX + 1)
        self.assertIn("mutants in a row do not compile", err)

    def test_the_tree_itself_is_never_changed(self):
        self.night("--count", "2")
        self.assertEqual((run.ROOT / "kernels/plan.cc").read_bytes(), self.before)
        copied = Path(self.scratch) / "tree" / "kernels/plan.cc"
        self.assertEqual(copied.read_bytes(), self.before)  # and the copy is put right again

    def test_a_list_runs_nothing_and_names_what_a_night_would_run(self):
        code, listed, _ = self.night("--count", "4", "--list")
        self.assertEqual(code, 0)
        self.assertFalse((Path(self.scratch) / "tree").exists())
        _, ran, _ = self.night("--count", "4")
        places = [line.split(": ")[0] for line in listed.splitlines()[1:]]
        self.assertEqual(len(places), 4)
        for place in places:
            self.assertIn(place + ": ", ran)

    def test_a_survivor_with_a_reason_is_not_drawn_again(self):
        _, listed, _ = self.night("--count", "2", "--list")
        first, second = listed.splitlines()[1:]
        place, change, code = first.split(": ", 2)
        ledger = [list(tables.COLUMNS), ["", "", place, code, change, "survived", "equivalent: x"]]
        real = tables.rows_of
        with mock.patch.object(
            tables, "rows_of", lambda p: ledger if p.name == "ledger.tsv" else real(p)
        ):
            _, listed, _ = self.night("--count", "1", "--list")
        self.assertEqual(listed.splitlines()[1:], [second])

    def test_a_night_is_recorded_and_its_survivors_are_tried_again(self):
        header = "\t".join(tables.COLUMNS) + "\n"
        ledger = Path(self.scratch) / "ledger.tsv"
        ledger.write_text(header, encoding="utf-8")
        (Path(self.scratch) / "sources.tsv").write_text("kernels/plan.cc\tplan_test\t*\n")
        with mock.patch.object(run, "HERE", Path(self.scratch)):
            self.night("--count", "2", "--record", survives=True)
            survived = tables.rows_of(ledger)[1:]
            self.assertEqual([row[5:] for row in survived], [["survived", ""]] * 2)
            code, out, _ = self.night("--again", "--record")
            self.assertEqual((code, out.count("killed by Plan.Fails")), (0, 2))
            killed = tables.rows_of(ledger)[1:]
            self.assertEqual([row[5:] for row in killed], [["killed", "Plan.Fails"]] * 2)
            self.assertEqual([row[:5] for row in killed], [row[:5] for row in survived])
            code, out, _ = self.night("--again")
            self.assertEqual((code, out), (0, "0 mutants, 0 killed, 0 survived\n"))
            survived[0][3] += " // gone"
            text = header + "\t".join(survived[0]) + "\n"
            ledger.write_text(text, encoding="utf-8")
            code, _, err = self.night("--again")
            self.assertEqual(code, 2)
            self.assertIn("no such code any more", err)

    def test_bad_input_gets_one_line(self):
        for options, line in {
            ("--file", "README.md"): "mutants: --file: README.md is no source with a test",
            ("--count", "0"): "--count: 0 is not 1 or more",
            ("--scratch", str(run.ROOT)): "holds the tree",
        }.items():
            code, _, err = self.night(*options)
            self.assertEqual(code, 2, options)
            self.assertIn(line, err)


if __name__ == "__main__":
    print(f"seed: {SEED}", flush=True)
    unittest.main()
