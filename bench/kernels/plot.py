#!/usr/bin/env python3
"""Draws what the kernel benches measured: PNGs from the files that their --json wrote.

From warpfold_bench_ladder: FILE.png, GB/s of each step with its best block size, and the GPU's
peak. From warpfold_bench_kernels: FILE-ratio.png, CUB's time over warpfold's, and FILE-gbps.png,
both over the number of elements. From warpfold_bench_shapes and warpfold_bench_batch: FILE.png,
their times over that of the flat sum, or of one tensor. From torch_shapes.py: FILE.png, torch's
time over warpfold's of every shape. From cpu.py: FILE.png, against NumPy and a plain read of
memory. Needs matplotlib.
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
    where = report.get("gpu") or report["processor"]
    figure.suptitle(f"{title}: {where}, commit {report['commit']}, {report['date']}")
    figure.tight_layout()
    figure.savefig(path, dpi=100)
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
        axis.tick_params(axis="x", labelsize=6)
    save(figure, report, "The ladder", f"{stem}.png")


def plot_kernels(report, stem):
    compared = [row for row in report["results"] if "ratio" in row]
    plot_lines(report, compared, "ratio", "CUB's time / warpfold's",
               ("warpfold against CUB", f"{stem}-ratio.png"))
    plot_lines(report, report["results"], "warpfold_gbps", "GB/s",
               ("warpfold and CUB", f"{stem}-gbps.png"))


def plot_lines(report, rows, key, label, figure_names):
    """`key` over the elements, a panel for each set of ops, a line for each dtype."""
    ops = distinct(rows, "ops")
    figure, axes = panels(len(ops), 6, 4)
    for axis, name in zip(axes, ops):
        of_name = [row for row in rows if row["ops"] == name]
        axis.set_prop_cycle(color=matplotlib.colormaps["Paired"].colors)  # as many as dtypes
        for dtype in distinct(of_name, "dtype"):
            line = sorted((row for row in of_name if row["dtype"] == dtype),
                          key=lambda row: row["elements"])
            elements = [row["elements"] for row in line]
            (ours,) = axis.plot(elements, [row[key] for row in line], marker="o", label=dtype)
            if key == "warpfold_gbps" and "cub_gbps" in line[0]:
                axis.plot(elements, [row["cub_gbps"] for row in line], linestyle="--",
                          color=ours.get_color(), label=f"{dtype}, CUB")
        if key == "ratio":
            axis.axhline(1, color="black", linewidth=0.8)
        # CUB has no fused reduction: it is timed with the first op.
        first, *more = name.split("+")
        axis.set_title(f"{name} (CUB: {first} alone)" if more else name)
        axis.set_xscale("log", base=2)
        axis.set_xlabel("elements")
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
        axis.legend(fontsize=6, ncols=2)
    title, path = figure_names
    save(figure, report, title, path)


def plot_shapes(report, stem):
    rows = report["results"]
    cases = [(ops, axis) for ops in distinct(rows, "ops") for axis in (1, 0)]
    figure, axes = panels(len(cases), 6, 3.5)
    for axis, (ops, along) in zip(axes, cases):
        for dtype in distinct(rows, "dtype"):
            line = [row for row in rows
                    if (row["dtype"], row["ops"], row["axis"]) == (dtype, ops, along)]
            axis.plot([row["columns"] for row in line], [row["times_flat_sum"] for row in line],
                      marker="o", label=dtype)
        axis.axhline(1, color="black", linewidth=0.8)
        size = rows[0]["rows"] * rows[0]["columns"] * 4 >> 20
        axis.set_title(f"{ops} along axis {along} of {size} MiB")
        axis.set_xscale("log", base=2)
        axis.set_yscale("log", base=2)
        axis.set_xlabel("columns")
        axis.set_ylabel("time / flat sum's")
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    save(figure, report, "Shapes", f"{stem}.png")


def plot_batch(report, stem):
    rows = report["results"]
    ops = distinct(rows, "ops")
    bars = [(row["dtype"], row["elements"]) for row in rows if row["ops"] == ops[0]]
    figure, axes = panels(len(ops), 7, 4)
    for axis, name in zip(axes, ops):
        of_name = {(row["dtype"], row["elements"]): row for row in rows if row["ops"] == name}
        labels = [f"{dtype}\n{elements}" for dtype, elements in bars]
        drawn = axis.bar(labels, [of_name[bar]["times_whole"] for bar in bars])
        axis.bar_label(drawn, fmt="%.2f", fontsize=8)
        axis.axhline(1, color="black", linewidth=0.8)
        axis.set_title(f"{name} of {rows[0]['tensors']} tensors in one launch")
        axis.set_ylabel("time / one tensor's of that size")
        axis.set_xlabel("elements of a tensor")
        axis.tick_params(axis="x", labelsize=8)
    save(figure, report, "Batches", f"{stem}.png")


def ratio_text(ratio):
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"


def plot_torch(report, stem):
    rows = report["results"]
    powers = sorted({row["kept"].bit_length() - 1 for row in rows})
    cases = distinct(rows, "axis")
    figure, axes = panels(len(cases), 9, 8.5)
    # Red where torch is ahead, so that no such shape hides.
    colors = matplotlib.colormaps["viridis"].with_extremes(under="red", bad="white")
    for axis, name in zip(axes, cases):
        ratios = {(row["reduced"].bit_length() - 1, row["kept"].bit_length() - 1): row["ratio"]
                  for row in rows if row["axis"] == name}
        grid = [[ratios.get((reduced, kept), float("nan")) for kept in powers]
                for reduced in powers]
        image = axis.imshow(grid, origin="lower", cmap=colors,
                            norm=matplotlib.colors.LogNorm(1, 8, clip=False))
        for (reduced, kept), ratio in ratios.items():
            axis.text(powers.index(kept), powers.index(reduced), ratio_text(ratio),
                      ha="center", va="center", fontsize=6,
                      color="black" if ratio > 3 else "white")
        ticks = range(0, len(powers), 2)
        axis.set_xticks(ticks, [f"$2^{{{powers[i]}}}$" for i in ticks])
        axis.set_yticks(ticks, [f"$2^{{{powers[i]}}}$" for i in ticks])
        axis.set_xlabel("kept")
        axis.set_ylabel("reduced")
        axis.set_title(f"{name} axis: torch's time / warpfold's (red: below 1)")
        figure.colorbar(image, ax=axis, extend="both", shrink=0.7)
    save(figure, report, f"f32 sums along an axis, torch {report['torch']}", f"{stem}.png")


def plot_cpu(report, stem):
    figure, (speed, shares) = panels(2, 7, 4)
    one = [row for row in report["results"] if row["case"] == "one core"]
    elements = [row["elements"] for row in one]
    for key, label in (("read_us", "a read"), ("without_call_us", "warpfold, without Python"),
                       ("warpfold_us", "warpfold"), ("numpy_us", "numpy.sum")):
        speed.plot(elements, [row["elements"] * 4e-3 / row[key] for row in one], marker="o",
                   label=label)
    speed.set_xscale("log", base=2)
    speed.set_yscale("log")
    speed.set_title("f32 SUM on one core")
    speed.set_xlabel("elements")
    speed.set_ylabel("GB/s")
    many = [row for row in report["results"] if row["case"] == "all cores"]
    dtypes = distinct(many, "dtype")
    names = distinct(many, "ops")
    for i, name in enumerate(names):
        places = [d + 0.8 * (i - (len(names) - 1) / 2) / len(names) for d in range(len(dtypes))]
        shares.bar(places, [row["ratio"] for row in many if row["ops"] == name],
                   width=0.8 / len(names), label=name)
    shares.set_xticks(range(len(dtypes)), dtypes)
    shares.axhline(1, color="black", linewidth=0.8)
    shares.set_title(f"in memory, {report['threads']} threads")
    shares.set_ylabel("a read's time / warpfold's")
    for axis in (speed, shares):
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    save(figure, report, "CPU kernels", f"{stem}.png")


# By what a row of the report has.
PLOTS = {"idea": plot_ladder, "cub_gbps": plot_kernels, "times_flat_sum": plot_shapes,
         "times_whole": plot_batch, "torch_us": plot_torch, "numpy_us": plot_cpu}


def main():
    arguments = parse_arguments()
    for path in arguments.files:
        report = read(path)
        folder = arguments.output or path.parent
        folder.mkdir(parents=True, exist_ok=True)
        plots = [plot for key, plot in PLOTS.items() if key in report["results"][0]]
        if not plots:
            sys.exit(f"plot.py: {path} is of a bench that it does not know")
        plots[0](report, folder / path.stem)


if __name__ == "__main__":
    main()
