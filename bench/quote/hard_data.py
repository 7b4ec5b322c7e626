"""Tables of data that are hard to sum: bench/kernels/hard_data.py and warpfold_bench_exact."""

from quote.form import load, size_text, table

HARD, EXACT = "hard-data-h200.json", "exact-sums-h200.json"
SIZES = (64 << 20, 256 << 20, 1 << 30)


def whole_sums():
    """The kernel of the whole tensor's SUM: a line a dtype and size, a column a kind of data."""
    data = load(EXACT)
    rows = [row for row in data["results"] if row["bytes"] in SIZES]
    times = {(row["dtype"], row["bytes"], row["data"]): row["exact_us"] for row in rows}
    kinds = [kind for kind in dict.fromkeys(row["data"] for row in rows) if kind != "normal"]
    return table(["SUM of a whole tensor", *kinds],
                 [[f"{dtype}, {size_text(size)}",
                   *(f"{times[dtype, size, kind] / times[dtype, size, 'normal']:.2f}"
                     for kind in kinds)]
                  for dtype, size in dict.fromkeys((row["dtype"], row["bytes"]) for row in rows)])


def folds():
    """What the server runs, with what is summed again: the slowest shape of each."""
    rows = load(HARD)["results"]
    kinds = [kind for kind in dict.fromkeys(row["data"] for row in rows) if kind != "normal"]

    def cell(dtype, ops, kind):
        worst = max((row for row in rows if (row["dtype"], row["ops"], row["data"]) ==
                     (dtype, ops, kind)),
                    key=lambda row: row["over_normal"])
        return f"{worst['over_normal']:.2f} ({worst['shape']})"

    names = {"sum": "SUM", "nine": "nine ops"}
    return table(["the slowest shape", *kinds],
                 [[f"{dtype}, {names[ops]}", *(cell(dtype, ops, kind) for kind in kinds)]
                  for dtype, ops in dict.fromkeys((row["dtype"], row["ops"]) for row in rows)])


def lines():
    exact, hard = load(EXACT), load(HARD)
    return [f"**Hard data**, {hard['gpu']}, {hard['date']}, commit {hard['commit']}, "
            f"`{exact['command']}` and `{hard['command']}`: time over that of N(0, 1), whose sums "
            "are hardly ever added up twice; of 256 MiB where nothing else is said.", "",
            *whole_sums(), "", *folds()]
