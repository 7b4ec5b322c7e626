#!/usr/bin/env python3
"""Quotes committed results in README.md and docs/measurements.md: no figure is typed by hand.

  bench/summary.py           rewrites the part of each page between the two marks
  bench/summary.py --check   exit status 1 when such a part is not what bench/results say

Needs python3 and nothing else.
"""

import argparse
import json
import math
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
PLOTS = "docs/plots"  # by bench/kernels/plot.py and bench/service/plot.py
BEGIN = "<!-- measured: written by bench/summary.py -->\n"
END = "<!-- end of measured -->\n"

FORMS = {"p50_us": "{:.0f} us (p50)", "p99_us": "{:.0f} us (p99)", "rps": "{:.0f} requests/s",
         "gb_per_second": "{:.2f} GB/s"}
KERNEL_SIZES = (10, 14, 17, 20, 22, 24, 26, 28, 30)


def load(name):
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def time_text(us):
    return f"{us:.2f} us" if us < 1000 else f"{us / 1000:.3f} ms"


def kernel_lines():
    data = load("kernels-h200.json")
    rows = {(row["dtype"], row["ops"], row["elements"]): row for row in data["results"]}
    lines = [
        f"**Kernels**, {data['gpu']}, {data['date']}, commit {data['commit']}, "
        f"`{data['command']}`: f32 in device memory, against CUB's DeviceReduce (one op, sums in "
        "f32, bits that depend on the GPU) in the same run, one reduction behind another in a "
        "stream, where ours overlap. Ours accumulates in f64 and gives the canonical bits. Nine "
        "ops: SUM MEAN VAR MIN MAX NAN_COUNT INF_COUNT L1_NORM L2_NORM.",
        "",
        "| elements | SUM | GB/s | CUB's time / ours | SUM MIN MAX MEAN in one pass "
        "| nine ops in one pass | nine ops / SUM |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for log2 in KERNEL_SIZES:
        one = rows.get(("f32", "sum", 1 << log2))
        four = rows.get(("f32", "sum+min+max+mean", 1 << log2))
        nine = rows.get(("f32", "describe", 1 << log2))
        if one is None or four is None or nine is None:
            continue
        lines.append(f"| 2^{log2} | {time_text(one['warpfold_us'])} | {one['warpfold_gbps']:.0f} | "
                     f"{one['ratio']:.3f} | {time_text(four['warpfold_us'])} | "
                     f"{time_text(nine['warpfold_us'])} | {nine['times_own_sum']:.2f} |")
    return lines


def size_text(size):
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >> shift:
            return f"{size >> shift} {unit}"
    return f"{size} B"


def dtype_lines():
    """Every dtype against CUB, sets of ops against our own sum: a line each, a column a size."""
    data = load("kernels-h200.json")
    rows = {(row["dtype"], row["ops"], row["bytes"]): row for row in data["results"]}
    dtypes, _, sizes = (list(dict.fromkeys(column)) for column in zip(*rows))
    heads = f"{' | '.join(map(size_text, sizes))} |\n| --- |" + " --- |" * len(sizes)
    lines = [
        f"**Every dtype**, {data['gpu']}, {data['date']}, commit {data['commit']}, "
        f"`{data['command']}`. CUB's time over ours; of two ops, that of the worse.",
        "",
        f"| CUB's time / ours | {heads}",
    ]

    def table(key, ops_by_name):
        for dtype in dtypes:
            for name, ops in ops_by_name.items():
                cells = (min(rows[dtype, op, size][key] for op in ops) for size in sizes)
                yield f"| {dtype} {name} | {' | '.join(f'{cell:.2f}' for cell in cells)} |"

    lines += table("ratio", {"SUM": ["sum"], "MIN, MAX": ["min", "max"],
                             "ARGMIN, ARGMAX": ["argmin", "argmax"]})
    lines += ["", "Nine ops, and all sixteen, in one pass:", "", f"| their time / SUM's | {heads}"]
    lines += table("times_own_sum", {"nine": ["describe"], "sixteen": ["all"]})
    return lines


def torch_lines():
    data = load("torch-shapes.json")
    lines = [
        f"**Axes**, {data['gpu']}, {data['date']}, commit {data['commit']}, `{data['command']}`: "
        "f32 sums along one axis of every matrix of 2^4 to 2^26 by 2^4 to 2^26 that fits in 16 "
        f"GiB, against torch.sum(dim) of torch {data['torch']} in the same process.",
        "",
        "| axis | shapes | torch's time / ours, geometric mean | least | behind torch |",
        "| --- | --- | --- | --- | --- |",
    ]
    for axis in ("inner", "outer"):
        ratios = [row["ratio"] for row in data["results"] if row["axis"] == axis]
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        lines.append(f"| {axis} | {len(ratios)} | {mean:.2f} | {min(ratios):.2f} | "
                     f"{sum(ratio < 1 for ratio in ratios)} |")
    return lines


def cpu_lines():
    data = load("cpu.json")
    one = [row for row in data["results"] if row["case"] == "one core"]
    many = [row for row in data["results"] if row["case"] == "all cores"]
    lines = [
        f"**CPU kernels**, {data['processor']}, {data['simd']}, {data['date']}, commit "
        f"{data['commit']}, `{data['command']}`: f32 SUM on one core against numpy.sum of NumPy "
        f"{data['numpy']}, both as Python calls them, and reductions in memory on "
        f"{data['threads']} threads against a read that does nothing with what it reads.",
        "",
        "| elements | SUM on one core | numpy.sum | numpy.sum / ours |",
        "| --- | --- | --- | --- |",
    ]
    for row in one:
        lines.append(f"| 2^{row['elements'].bit_length() - 1} | {time_text(row['warpfold_us'])} | "
                     f"{time_text(row['numpy_us'])} | {row['ratio']:.2f} |")
    lines += axis_lines([row for row in data["results"] if row["case"] == "one axis"])
    names = list(dict.fromkeys(row["ops"] for row in many))
    lines += ["", f"| {data['threads']} threads, GB/s | a read | {' | '.join(names)} |",
              "| --- |" + " --- |" * (len(names) + 1)]
    for dtype in dict.fromkeys(row["dtype"] for row in many):
        rows = [row for row in many if row["dtype"] == dtype]
        read = max(row["read_gbps"] for row in rows)
        cells = " | ".join(f"{row['warpfold_gbps']:.1f} ({row['ratio']:.2f})" for row in rows)
        lines.append(f"| {dtype} | {read:.1f} | {cells} |")
    return lines


def axis_lines(rows):
    """NumPy's time over ours along one axis: a line an op and dtype, a column a shape."""
    if not rows:
        return []
    first = rows[0]["dtype"]
    shapes = list(dict.fromkeys((r["count"], r["inner"]) for r in rows if r["dtype"] == first))
    heads = [f"rows of {count}" if inner == 1 else
             f"columns of {count}" if count < inner else f"{inner} columns"
             for count, inner in shapes]
    lines = ["", f"| NumPy / ours, one core | {' | '.join(heads)} |",
             "| --- |" + " --- |" * len(shapes)]
    for key in dict.fromkeys((row["dtype"], row["ops"]) for row in rows):
        ratios = [row["ratio"] for row in rows if (row["dtype"], row["ops"]) == key]
        lines.append(f"| {' '.join(key)} | {' | '.join(f'{ratio:.2f}' for ratio in ratios)} |")
    return lines


def image(name, folder):
    return f"![{name}]({folder}/{name}.png)"


def plot_lines():
    """All plots of the results, as a page in docs shows them."""
    plots = sorted((ROOT / PLOTS).glob("*.png"))
    return ["Plots, by [bench/kernels/plot.py](../bench/kernels/plot.py) and "
            "[bench/service/plot.py](../bench/service/plot.py):", "",
            *(image(path.stem, "plots") for path in plots)]


def accuracy_lines():
    data = load("accuracy.json")
    rows = data["results"]
    names = list(rows[0]["errors_ulp"])
    lines = [
        f"**Accuracy**, {data['gpu'] or 'no GPU'}, {data['date']}, `{data['command']}`: the error "
        f"of the f32 sum of {rows[0]['count']:,} random values, in ulp (units in the last place) "
        "against the exact sum; a correctly rounded one is off by up to 0.5. Condition: the sum "
        f"of absolute values over that of the values. NumPy {data['numpy']}, "
        f"torch {data['torch'] or 'not there'}.",
        "",
        f"| elements | condition | {' | '.join(names)} |",
        "| --- | --- |" + " --- |" * len(names),
    ]
    for row in rows:
        errors = " | ".join(f"{row['errors_ulp'][name]:.4g}" for name in names)
        lines.append(f"| {row['distribution']} | {row['condition']:.2g} | {errors} |")
    return lines


def peer_lines(peers):
    """A tensor in, its sum out: warpfold and what people write today, of the same run."""
    results = peers.get("results", [])
    if not results:
        return []
    names = list(dict.fromkeys(row["peer"] for row in results))
    requests = list(dict.fromkeys((row["bytes"], row["clients"]) for row in results))
    cells = {(row["peer"], row["bytes"], row["clients"]):
             f"{row['p50_us']:.0f} us, {row['rps']:.0f} requests/s" if row["bytes"] < 1 << 20
             else f"{row['gb_per_second']:.2f} GB/s" for row in results}
    lines = ["", "A tensor in, its sum out, in the same run (bench/peers has the others' code):",
             "",
             f"| request | {' | '.join(names)} |", "| --- |" + " --- |" * len(names)]
    for size, clients in requests:
        row = " | ".join(cells.get((name, size, clients), "-") for name in names)
        lines.append(f"| {size_text(size)}, {clients} client{'s' if clients > 1 else ''} | {row} |")
    return lines


def alone_lines(cases):
    """Tensors that do not travel, beside what of their time is the kernel's."""
    if not cases:
        return []
    lines = ["", "Tensors that do not travel, one client, the RPC included:", "",
             "| case | p50 | GB/s | in the server | the kernel | null server, pausing as long |",
             "| --- | --- | --- | --- | --- | --- |"]
    for case in cases:
        server, wire_us = case["server_p50_us"], case.get("paused_wire_p50_us")
        lines.append(f"| {case['case']} | {time_text(case['p50_us'])} | "
                     f"{case['gb_per_second']:.1f} | {time_text(server['total'])} | "
                     f"{time_text(server['kernel'])} | {time_text(wire_us) if wire_us else '-'} |")
    return lines


def service_lines(name, place):
    data = load(name)
    lines = [
        f"**Service**, {place}, {data['date']}, `{data['command']}`: against a null server that "
        "answers the same client without looking at the bytes, in the same run.",
        "",
        "| case | null server | warpfold | ratio |",
        "| --- | --- | --- | --- |",
    ]
    for case in data["cases"]:
        form = FORMS[case["metric"]]
        lines.append(f"| {case['case']} | {form.format(case['wire'])} | "
                     f"{form.format(case['warpfold'])} | {case['ratio']:.2f} |")
    lines += alone_lines(data.get("alone", []))
    lines += peer_lines(data.get("peers", {}))
    memory = ", ".join(f"{row['rss_kib'] / 1024:.0f} MiB after {row['after']}"
                       for row in data.get("memory", []) if row["after"] != "start")
    if memory:
        lines += ["", f"The server's resident memory: {memory}."]
    idle = ", ".join(f"{100 * row['share']:.1f}% {row['when']}" for row in data.get("idle", []))
    if idle:
        lines += ["", f"Of one processor, a server that nobody asks: {idle}."]
    return lines


def batch_lines():
    data = load("batch-h200.json")
    lines = [
        f"**Batches**, {data['gpu']}, {data['date']}, `{data['command']}`: f32 tensors at "
        "scattered addresses, all in one launch, against one tensor of their total size and "
        "against a launch each (replayed as a graph).",
        "",
        "| tensors | ops | one launch | times one tensor of that size | a launch each | CUB's |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in data["results"]:
        if row["dtype"] == "f32" and row["elements"] in (256, 1024, 10000):
            lines.append(f"| {row['tensors']} of {row['elements']} | "
                         f"{row['ops'].replace('_', ' ').upper()} | "
                         f"{time_text(row['batch_us'])} | {row['times_whole']:.2f} | "
                         f"{time_text(row['singles_us'])} | {time_text(row['cub_singles_us'])} |")
    return lines


def client_lines():
    """Python's client beside the C++ one, and the world's clients of KServe v2 beside ours."""
    data = load("clients-h200.json")
    forms = {"added_us": "{:.0f} us more", "time": "{:.2f} times the time",
             "speed": "{:.2f} times the speed"}
    lines = [
        f"**Clients**, {data['gpu']}, {data['processors']} processors, {data['date']}, "
        f"`{data['command']}`: one client beside another on the same path, in the same run. "
        "Of 256 MiB C++ streams on one connection, and Python by itself sends on four.",
        "",
        "| case | one, p50 | the other, p50 | the other over the one |",
        "| --- | --- | --- | --- |",
    ]
    for case in data["cases"]:
        lines.append(f"| {case['case']} | {time_text(case['base']['p50_us'])} | "
                     f"{time_text(case['other']['p50_us'])} | "
                     f"{forms[case['figure']].format(case['value'])} |")
    return lines


def gpus_lines(name):
    data = load(name)
    lines = [
        f"**Several GPUs**, {data['gpu']}, {data['date']}, `{data['command']}`, the RPC "
        f"included. SUM, one op, and describe, nine: a resident tensor of {data['bytes'] >> 30} "
        "GiB of f32, reduced by one client.",
        "",
        "| GPUs | case | result | speed-up |",
        "| --- | --- | --- | --- |",
    ]
    for run in data["runs"]:
        metric = run.get("metric", "p50_us")
        value = (f"{time_text(run['p50_us'])} (p50)" if metric == "p50_us"
                 else FORMS[metric].format(run[metric]))
        lines.append(f"| {run['gpus']} | {run['case']} | {value} | {run['speedup']:.2f} |")
    return lines


def readme_sections():
    return [kernel_lines(), torch_lines(),
            service_lines("service-h200-cuda.json", "CUDA backend, H200 host, 16 cores"),
            [image("service-h200-cuda", PLOTS)], gpus_lines("gpus-h200x4.json")]


def measurements_sections():
    return [dtype_lines(), cpu_lines(), accuracy_lines(), batch_lines(),
            service_lines("service-h200-cpu.json", "CPU backend, H200 host, 16 cores"),
            client_lines(), plot_lines()]


PAGES = {"README.md": readme_sections, "docs/measurements.md": measurements_sections}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    for page, sections in PAGES.items():
        text = (ROOT / page).read_text(encoding="utf-8")
        before, rest = text.split(BEGIN)
        _, after = rest.split(END)
        measured = "\n".join("\n".join(lines) + "\n" for lines in sections())
        wanted = before + BEGIN + measured + END + after
        if wanted == text:
            continue
        if arguments.check:
            sys.exit(f"{page}: the measured part is not what bench/results say; run "
                     "bench/summary.py")
        (ROOT / page).write_text(wanted, encoding="utf-8")


if __name__ == "__main__":
    main()
