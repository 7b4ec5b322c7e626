#!/usr/bin/env python3
"""Quotes committed results in the README, so that no figure is typed by hand.

  bench/summary.py           rewrites the part of README.md between the two marks
  bench/summary.py --check   exit status 1 when that part is not what bench/results say

Needs python3 and nothing else.
"""

import argparse
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
README = ROOT / "README.md"
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
        "f32, bits that depend on the GPU) in the same run. Ours accumulates in f64 and gives the "
        "canonical bits. Nine ops: SUM MEAN VAR MIN MAX NAN_COUNT INF_COUNT L1_NORM L2_NORM.",
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
        size_text = f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"
        row = " | ".join(cells.get((name, size, clients), "-") for name in names)
        lines.append(f"| {size_text}, {clients} client{'s' if clients > 1 else ''} | {row} |")
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


def gpus_lines():
    data = load("gpus-h200x4.json")
    lines = [
        f"**Several GPUs**, {data['gpu']}, {data['date']}, `{data['command']}`: a resident tensor "
        f"of {data['bytes'] >> 30} GiB of f32, reduced by one client, the RPC included. SUM is "
        "one op, describe nine.",
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


def measured():
    lines = kernel_lines()
    lines += [""] + batch_lines()
    lines += [""] + service_lines("service-h200-cuda.json", "CUDA backend, H200 host, 16 cores")
    lines += [""] + service_lines("service-h200-cpu.json", "CPU backend, the same host")
    lines += [""] + gpus_lines()
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    text = README.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    wanted = before + BEGIN + measured() + END + after
    if arguments.check:
        if wanted != text:
            sys.exit("README.md: the measured part is not what bench/results say; run "
                     "bench/summary.py")
        return
    README.write_text(wanted, encoding="utf-8")


if __name__ == "__main__":
    main()
