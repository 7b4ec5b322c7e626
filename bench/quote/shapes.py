"""The table of bench_shapes.cu: sums and statistics along one axis of a matrix."""

from quote.form import load, table

DTYPES = ("f32", "f64")
WORKS = ("sum", "describe")


def shape_text(row):
    count = row["rows"] * row["columns"]
    reduced = row["columns"] if row["axis"] == 1 else row["rows"]
    kind = "rows" if row["axis"] == 1 else "columns"
    return f"{count // reduced:,} {kind} of {reduced:,}"


def lines(name):
    data = load(name)
    found = {}
    for row in data["results"]:
        if row["dtype"] in DTYPES:
            key = (row["dtype"], row["axis"], row["columns"])
            found.setdefault(key, {})[row["ops"]] = row
    head = (f"**Rows and columns**, {data['gpu']}, {data['date']}, commit {data['commit']}, "
            f"`{data['command']}`: matrices of 256 MiB in device memory, normally distributed, in "
            "GB/s. Nine ops: SUM MEAN VAR MIN MAX NAN_COUNT INF_COUNT L1_NORM L2_NORM in one pass. "
            "Outputs that a kernel leaves undecided are not summed again here; of these matrices "
            "fewer than ten are.")
    cells = []
    for key in sorted(found, key=lambda key: (key[0], -key[1], key[2])):
        rows = found[key]
        cells.append([f"{key[0]}, {shape_text(rows['sum'])}",
                      *(f"{rows[work]['warpfold_gbps']:,.0f}" for work in WORKS)])
    return [head, "", *table(["matrix", "SUM", "nine ops"], cells)]
