#!/usr/bin/env python3
"""Draws what the kernel benches measured: PNGs from the files that their --json wrote.

From warpfold_bench_ladder: FILE.png, GB/s of each step with its best block size, and the GPU's
peak. From warpfold_bench_kernels: FILE-ratio.png, CUB's time over warpfold's, and FILE-gbps.png,
both over the number of elements. Needs matplotlib.
"""

import argparse
import json
import pathlib
import sys

try:
    import matplotlib

    matplotlib.use("Agg")  # no display needed
    from matplotlib import pyplot
except ImportError:
    sys.exit("plot.py: matplotlib is missing: 'pip install matplotlib' gets it")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--output", type=pathlib.Path,
                        help="folder for the PNGs; default: each beside its file")
    return parser.parse_args()


def read(path):
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
        if not report["results"]:
            raise ValueError("it has no results")
    except (OSError, ValueError, KeyError, TypeError) as error:
        sys.exit(f"plot.py: {path} is no JSON of a kernel bench: {error!r}")
    return report


def distinct(rows, key):
    """The values of `key`, in the order of the file."""
    return list(dict.fromkeys(row[key] for row in rows))


def panels(count, width, height):
    """A figure and its panels, at most two in a row."""
    columns = min(count, 2)
    lines = -(-count // columns)
    figure, axes = pyplot.subplots(lines, columns, squeeze=False,
                                   figsize=(width * columns, height * lines))
    for unused in axes.flat[count:]:
        unused.remove()
    return figure, axes.flat[:count]


def save(figure, report, title, path):
    figure.suptitle(f"{title}: {report['gpu']}, commit {report['commit']}, {report['date']}")
    figure.tight_layout()
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
    print(path)


def size_text(elements):
    power = elements.bit_length() - 1
    return f"2^{power}" if elements == 1 << power else str(elements)


def plot_ladder(report, stem):
    rows, peak = report["results"], report["peak_gbps"]
    cases = [(dtype, elements) for elements in distinct(rows, "elements")
             for dtype in distinct(rows, "dtype")]
    figure, axes = panels(len(cases), 7, 4)
    for axis, (dtype, elements) in zip(axes, cases):
        best = {}
        for row in rows:
            if (row["dtype"], row["elements"]) == (dtype, elements):
                if row["name"] not in best or row["gbps"] > best[row["name"]]["gbps"]:
                    best[row["name"]] = row
        names = [f"{name}\n{row['threads'] or ''}" for name, row in best.items()]
        colors = ["tab:blue" if row["threads"] else "tab:green" for row in best.values()]
        bars = axis.bar(names, [row["gbps"] for row in best.values()], color=colors)
        axis.bar_label(bars, fmt="%.0f", fontsize=8)
        if peak > 0:
            axis.axhline(peak, color="tab:red", linestyle="--", label=f"peak, {peak:.0f} GB/s")
            axis.legend(loc="center left")
        axis.margins(y=0.1)
        axis.set_title(f"sum of {size_text(elements)} {dtype}")
        axis.set_ylabel("GB/s (below: threads a block)")
        axis.tick_params(axis="x", labelsize=8)
    save(figure, report, "The ladder", f"{stem}.png")


def plot_kernels(report, stem):
    rows = report["results"]
    ops = distinct(rows, "ops")
    ratio, ratio_axes = panels(len(ops), 6, 4)
    gbps, gbps_axes = panels(len(ops), 6, 4)
    for name, ratio_axis, gbps_axis in zip(ops, ratio_axes, gbps_axes):
        for dtype in distinct(rows, "dtype"):
            line = sorted((row for row in rows if (row["ops"], row["dtype"]) == (name, dtype)),
                          key=lambda row: row["elements"])
            elements = [row["elements"] for row in line]
            ratio_axis.plot(elements, [row["ratio"] for row in line], marker="o", label=dtype)
            (ours,) = gbps_axis.plot(elements, [row["warpfold_gbps"] for row in line], marker="o",
                                     label=dtype)
            gbps_axis.plot(elements, [row["cub_gbps"] for row in line], linestyle="--",
                           color=ours.get_color(), label=f"{dtype}, CUB")
        ratio_axis.axhline(1, color="black", linewidth=0.8)
        ratio_axis.set_ylabel("CUB's time / warpfold's")
        gbps_axis.set_ylabel("GB/s")
        for axis in (ratio_axis, gbps_axis):
            # CUB has no fused reduction: it is timed with the first op.
            first, *more = name.split("+")
            axis.set_title(f"{name} (CUB: {first} alone)" if more else name)
            axis.set_xscale("log", base=2)
            axis.set_xlabel("elements")
            axis.grid(alpha=0.3)
            axis.legend(fontsize=8)
    save(ratio, report, "warpfold against CUB", f"{stem}-ratio.png")
    save(gbps, report, "warpfold and CUB", f"{stem}-gbps.png")


def main():
    arguments = parse_arguments()
    for path in arguments.files:
        report = read(path)
        folder = arguments.output or path.parent
        folder.mkdir(parents=True, exist_ok=True)
        plot = plot_ladder if "peak_gbps" in report else plot_kernels
        plot(report, folder / path.stem)


if __name__ == "__main__":
    main()
