#!/usr/bin/env python3
"""Times the kernels of two builds against each other on one GPU: what a change costs, or gains.

  bench/kernels/beside.py OLD NEW [--dtypes LIST] [--ops LIST] [--max-log2 N] [--json FILE]

OLD and NEW are their warpfold_bench_kernels. Of each dtype they take turns, old new new old, and of
what one took the lesser time counts. Prints NEW over OLD: the geometric mean, how many reductions
are more than 1 % slower and faster, and the slowest. Four seconds a dtype and op on an H200.
"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import report

DTYPES = "i8,u8,i16,u16,i32,u32,i64,u64,f16,bf16,f32,f64"
OPS = "sum,max,sum+min+max+mean,describe"
TURNS = (0, 1, 1, 0)
SHOWN = 20


def times(binary, dtype, options, folder):
    """{(bytes, ops): us} of one process, and the GPU."""
    file = pathlib.Path(folder, "results.json")
    subprocess.run([binary, "--dtypes", dtype, "--ops", options.ops, "--max-log2",
                    str(options.max_log2), "--json", file], check=True, stdout=subprocess.DEVNULL)
    written = json.loads(file.read_text(encoding="utf-8"))
    taken = {(row["bytes"], row["ops"]): row["warpfold_us"] for row in written["results"]}
    return taken, written["gpu"]


def compare(dtype, options, folder):
    """A row for each reduction of a dtype, and the GPU."""
    taken = ([], [])
    for which in TURNS:
        of_process, gpu = times((options.old, options.new)[which], dtype, options, folder)
        taken[which].append(of_process)
    rows = []
    for size, ops in taken[0][0]:
        old, new = (min(run[size, ops] for run in runs) for runs in taken)
        rows.append({"dtype": dtype, "ops": ops, "bytes": size, "old_us": round(old, 4),
                     "new_us": round(new, 4), "ratio": round(new / old, 4)})
    return rows, gpu


def main():
    parser = report.parser_for(__doc__)
    parser.add_argument("old", metavar="OLD", help="a build's warpfold_bench_kernels")
    parser.add_argument("new", metavar="NEW", help="another's")
    parser.add_argument("--dtypes", default=DTYPES, help="default: %(default)s")
    parser.add_argument("--ops", default=OPS, help="default: %(default)s")
    parser.add_argument("--max-log2", type=int, default=26,
                        help="largest size, as the logarithm of the f32 element count")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for dtype in options.dtypes.split(","):
            of_dtype, gpu = compare(dtype, options, folder)
            rows += of_dtype
            print(f"{dtype} done", file=sys.stderr)
    ratios = [row["ratio"] for row in rows]
    summary = {"reductions": len(rows),
               "geometric_mean": round(statistics.geometric_mean(ratios), 4),
               "slower_by_1_percent": sum(ratio > 1.01 for ratio in ratios),
               "faster_by_1_percent": sum(ratio < 1 / 1.01 for ratio in ratios)}
    for name, value in summary.items():
        print(f"{name:20} {value}")
    for row in sorted(rows, key=lambda row: -row["ratio"])[:SHOWN]:
        print(f"{row['ratio']:.3f}  {row['dtype']:5} {row['ops']:18} {row['bytes']:10} B  "
              f"{row['old_us']:8.2f} -> {row['new_us']:8.2f} us")
    report.write(options, rows, gpu=gpu, **summary)
    return 0


if __name__ == "__main__":
    sys.exit(main())
