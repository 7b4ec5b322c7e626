#!/usr/bin/env python3
"""Quotes a run of warpfold_bench_ladder in docs/reduce6.md, beside the published figures.

  bench/kernels/reduce6.py           rewrites the part of the page between the two marks
  bench/kernels/reduce6.py --check   exit status 1 when that part is not what bench/results say

Needs python3 and nothing else.
"""

import argparse
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reduce6.md"
RESULTS = ROOT / "bench" / "results" / "ladder-h100.json"
BEGIN = "<!-- measured: written by bench/kernels/reduce6.py -->\n"
END = "<!-- end of measured -->\n"

# 2^22 ints. Milliseconds and GB/s as printed in the slides, on a GeForce 8800 GTX (G80), in blocks
# of 128; and as printed in the retelling's results.png, on a Tesla T4, in blocks of 256.
PUBLISHED = {
    "reduce0": ((8.054, 2.083), (0.841, 19.949)),
    "reduce1": ((3.456, 4.854), (0.790, 21.237)),
    "reduce2": ((1.722, 9.741), (0.643, 26.092)),
    "reduce3": ((0.965, 17.377), (0.407, 41.222)),
    "reduce4": ((0.536, 31.289), (0.315, 53.261)),
    "reduce5": ((0.381, 43.996), (0.306, 54.828)),
    "reduce6": ((0.268, 62.671), (0.212, 59.892)),
}
G80_PEAK_GBPS, T4_PEAK_GBPS = 86.4, 320


def best_of(results, elements):
    """The fastest row of each name, in the order of the file."""
    best = {}
    for row in results:
        if (row["dtype"], row["elements"]) == ("i32", elements):
            if row["name"] not in best or row["us"] < best[row["name"]]["us"]:
                best[row["name"]] = row
    return best


def gain_text(before, after):
    return f"{before / after:.2f}" if before else ""


def published_cells(name, before):
    """Time, share of the peak and gain over the step before, for each of the two GPUs."""
    if name not in PUBLISHED:
        return "|" + " |" * 6
    cells = []
    for gpu, peak in enumerate((G80_PEAK_GBPS, T4_PEAK_GBPS)):
        ms, _ = PUBLISHED[name][gpu]
        gbps = (4 << 22) / ms * 1e-6
        cells += [f"{ms:.3f} ms", f"{100 * gbps / peak:.1f} %",
                  gain_text(PUBLISHED[before][gpu][0] if before else 0, ms)]
    return f"| {' | '.join(cells)} |"


def published_table(data):
    """The size that was published, beside the same on today's GPU."""
    gpu, peak = data["gpu"].removeprefix("NVIDIA "), data["peak_gbps"]
    lines = [
        f"2^22 ints. Time, share of the memory's peak ({G80_PEAK_GBPS}, {T4_PEAK_GBPS} and "
        f"{peak:.0f} GB/s), and how many times as fast as the step before:",
        "",
        f"| step | 8800 GTX | of peak | gain | T4 | of peak | gain | {gpu} | of peak | gain |",
        "| --- |" + " --- |" * 9,
    ]
    before = None
    best = best_of(data["results"], 1 << 22)
    for name, row in best.items():
        if not row["threads"]:
            continue
        gain = gain_text(best[before]["us"] if before else 0, row["us"])
        lines.append(f"| {name} {published_cells(name, before)} {row['us']:.2f} us | "
                     f"{100 * row['gbps'] / peak:.1f} % | {gain} |")
        before = name
    return lines


def size_table(data, elements):
    """A size in every block size; ours and CUB's in the end."""
    rows = [row for row in data["results"]
            if (row["dtype"], row["elements"]) == ("i32", elements)]
    sizes = sorted({row["threads"] for row in rows if row["threads"]})
    by_key = {(row["name"], row["threads"]): row for row in rows}
    lines = [f"| 2^{elements.bit_length() - 1} ints, GB/s | "
             + " | ".join(f"blocks of {size}" for size in sizes) + " | best, of peak |",
             "| --- |" + " --- |" * (len(sizes) + 1)]
    for name, row in best_of(rows, elements).items():
        cells = ([f"{by_key[name, size]['gbps']:.0f}" for size in sizes] if row["threads"]
                 else [f"{row['gbps']:.0f}"] + [""] * (len(sizes) - 1))
        lines.append(f"| {name} | {' | '.join(cells)} | "
                     f"{100 * row['gbps'] / data['peak_gbps']:.1f} % |")
    return lines


def measured():
    data = json.loads(RESULTS.read_text(encoding="utf-8"))
    lines = [f"**{data['gpu']}**, {data['date']}, commit {data['commit']}, `{data['command']}`.",
             "", *published_table(data)]
    for elements in sorted({row["elements"] for row in data["results"]}):
        lines += ["", *size_table(data, elements)]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    wanted = before + BEGIN + measured() + END + after
    if wanted == text:
        return
    if arguments.check:
        sys.exit(f"{PAGE.relative_to(ROOT)}: the measured part is not what "
                 f"{RESULTS.relative_to(ROOT)} says; run bench/kernels/reduce6.py")
    PAGE.write_text(wanted, encoding="utf-8")


if __name__ == "__main__":
    main()
