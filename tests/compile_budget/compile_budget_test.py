"""What tools/compile_budget/measure.py finds above its table, and how it tells fusions apart."""

import copy
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools/compile_budget"))
import measure

TABLE = {
    "compiler": "13.0",
    "code": "90",
    "ptx": "90",
    "types": {"float": {"bytes": 1000, "kernels": {"sum": 20, "min": 1}, "seconds": 10.0}},
}


def found(change):
    measured = copy.deepcopy(TABLE)
    change(measured["types"]["float"], measured)
    return list(measure.above(measured, TABLE))


class Above(unittest.TestCase):
    def test_the_same_and_a_little_more_is_within(self):
        self.assertEqual(found(lambda row, all: None), [])
        self.assertEqual(found(lambda row, all: row.update(bytes=1050, seconds=15.0)), [])
        self.assertEqual(found(lambda row, all: row["kernels"].update(sum=21)), [])

    def test_more_is_named(self):
        self.assertIn("1051 bytes", found(lambda row, all: row.update(bytes=1051))[0])
        self.assertIn("15.1 s", found(lambda row, all: row.update(seconds=15.1))[0])
        self.assertIn("22 kernels of sum", found(lambda row, all: row["kernels"].update(sum=22))[0])

    def test_a_new_fusion_and_a_new_type_are_named(self):
        self.assertIn("1 kernels of max", found(lambda row, all: row["kernels"].update(max=1))[0])
        self.assertIn("F8 is not", found(lambda row, all: all["types"].update(F8=row))[0])


class Fusions(unittest.TestCase):
    def test_are_told_by_the_folds_components(self):
        def fold(policy, *names):
            parts = ", ".join(f"warpfold::{name}<float>" for name in names)
            return f"void K<warpfold::Fold<float, (warpfold::NanPolicy){policy}, {parts} > >(int)"

        for fusion, policy, names in (
            ("sum", 0, ["Sum", "exact::LargestSize"]),
            ("min", 0, ["Min"]),
            ("max", 0, ["Max"]),
            ("nonzero", 0, ["NonzeroCount"]),
            ("range", 0, ["Sum", "Min", "Max"]),
            ("statistics", 0, ["Sum", "Min", "Max", "NanCount"]),
            ("arg", 0, ["ArgMin", "ArgMax"]),
            ("all", 0, ["Sum", "Min", "ArgMin", "ArgMax"]),
            ("omit_nan", 1, ["Sum", "Min"]),
            ("product", 0, ["exact::FloatProduct"]),
        ):
            self.assertEqual(measure.fusion_of(fold(policy, *names)), fusion)
        self.assertEqual(measure.fusion_of("void AddRows<float>(int)"), "exact")


if __name__ == "__main__":
    unittest.main()
