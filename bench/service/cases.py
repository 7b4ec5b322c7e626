"""What run.py measures: paths, sizes, numbers of clients, and what each case is about."""

import json
from dataclasses import dataclass, replace

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


@dataclass(frozen=True)
class Case:
    name: str
    method: str  # of `warpfold bench`
    size: int
    clients: int
    metric: str  # p50_us, p99_us, rps or gb_per_second: what the ratio is of
    target: tuple | None = None  # the least (">=") or most ("<=") that the ratio should be
    flags: tuple = ()  # more of `warpfold bench`
    few_processors: bool = False  # keeps to --latency-cpus of them


CASES = [
    Case("4 KiB unary, 1 client", "unary", 4 * KIB, 1, "p50_us", ("<=", 1.4)),
    Case("4 KiB unary, 1 client, on {cpus} processors", "unary", 4 * KIB, 1, "p50_us",
         ("<=", 1.4), few_processors=True),
    Case("4 KiB unary, 16 clients", "unary", 4 * KIB, 16, "rps"),
    Case("4 KiB unary, 64 clients", "unary", 4 * KIB, 64, "rps", (">=", 0.9)),
    Case("4 KiB unary, 5000 a second at random times", "unary", 4 * KIB, 64, "p99_us",
         flags=("--rate", "5000")),
    Case("4 KiB many, 1 client", "many", 4 * KIB, 1, "rps"),
    Case("4 KiB many, 8 clients", "many", 4 * KIB, 8, "rps", (">=", 0.9)),
    Case("1 MiB unary, 1 client", "unary", MIB, 1, "gb_per_second"),
    Case("256 MiB stream, 1 client", "stream", 256 * MIB, 1, "gb_per_second", (">=", 0.95)),
    Case("256 MiB stream, 4 clients", "stream", 256 * MIB, 4, "gb_per_second"),
    Case("1 GiB striped, 1 client", "striped", GIB, 1, "gb_per_second", (">=", 0.9)),
    Case("1 GiB resident, 1 client", "resident", GIB, 1, "p50_us"),
]
# Of the second and third, unary against stream: where a client should change from one to the other.
SWEEP_BYTES = [64 * KIB, 256 * KIB, MIB, 2 * MIB, 4 * MIB, 8 * MIB, 16 * MIB, 64 * MIB]
UNARY_BYTES_MAX = 32 * MIB  # below the server's max_message_bytes

# The peers, and warpfold beside them: (size, clients).
PEER_CASES = [(size, clients) for size in (4 * KIB, MIB, 64 * MIB, 256 * MIB)
              for clients in (1, 8)]
QUICK_BYTES_MAX = 4 * MIB


def is_wanted(case, only):
    """Whether its name holds one of the texts that --only named, if it named any."""
    return not only or any(text in case.name for text in only)


def quick(cases):
    """The same cases with tensors that take no time."""
    return [case if case.size <= QUICK_BYTES_MAX else
            replace(case, size=QUICK_BYTES_MAX, name=f"{case.name}, of 4 MiB") for case in cases]


def parse_size(text):
    for suffix, factor in (("KiB", KIB), ("MiB", MIB), ("GiB", GIB)):
        if text.endswith(suffix):
            return int(float(text[:-3]) * factor)
    return int(text)


def parse_sizes(parser, text, example, dtype, element_bytes):
    """Those of --sizes; ends the process where they are not, or not of whole elements."""
    try:
        sizes = [parse_size(one) for one in text.split(",")]
    except ValueError:
        parser.error(f"--sizes: '{text}' are not sizes such as {example}")
    if any(size < element_bytes or size % element_bytes for size in sizes):
        parser.error(f"--sizes: each must be a positive multiple of {element_bytes} bytes, which "
                     f"an {dtype} has")
    return sizes


def size_text(size):
    for factor, suffix in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if size >= factor and size % factor == 0:
            return f"{size // factor} {suffix}"
    return f"{size} B"


def unit_text(metric, value):
    return {"p50_us": f"{value:.0f} us", "p99_us": f"{value:.0f} us", "rps": f"{value:.0f} rps",
            "gb_per_second": f"{value:.2f} GB/s"}[metric]


def write_results(path, results):
    """As JSON, in a folder that is made where it is missing; without a path nowhere."""
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(f"\nwritten: {path}")


def print_table(title, header, rows):
    widths = [max(len(str(row[i])) for row in [header, *rows]) for i in range(len(header))]
    print(f"\n{title}")
    for row in [header, *rows]:
        cells = [str(cell).ljust(widths[i]) if i == 0 else str(cell).rjust(widths[i])
                 for i, cell in enumerate(row)]
        print("  ".join(cells).rstrip(), flush=True)
