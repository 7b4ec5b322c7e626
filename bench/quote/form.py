"""Where the results are, and how figures are written."""

import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"
LESS_IS_BETTER = ("p50_us", "p99_us")


def load(name):
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def time_text(us):
    return f"{us:.2f} us" if us < 1000 else f"{us / 1000:.3f} ms"


def size_text(size):
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >> shift:
            return f"{size >> shift} {unit}"
    return f"{size} B"


def value_text(metric, value):
    """A figure of `warpfold bench`, by the name that it has there."""
    if metric in LESS_IS_BETTER:
        return f"{time_text(value)} ({metric[:3]})"
    return f"{value:.0f} requests/s" if metric == "rps" else f"{value:.2f} GB/s"


def line(cells):
    return f"| {' | '.join(cells)} |"


def table(heads, rows):
    return [line(heads), "| --- |" + " --- |" * (len(heads) - 1), *map(line, rows)]


def source_text(name, data):
    """A result file as a page at the root links to it: what ran, where and when."""
    place = data.get("gpu") or data.get("processor") or "no GPU"
    return f"[{name}](bench/results/{name}): {place}, {data['date'][:10]}, `{data['command']}`"
