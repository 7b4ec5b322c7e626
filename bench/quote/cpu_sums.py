"""Tables of bench/kernels/cpu_sums.py: what exact sums cost on a CPU."""

from quote.form import load, table

FILE = "cpu-sums.json"
CASES = {"plain sum": "SUM, a loop that adds in float64",
         "mean and std": "nine ops, NumPy's mean and std",
         "1024 columns": "SUM of 1,024 columns, np.sum(dtype=float64)"}


def beside(rows):
    return table(["beside", "dtype", "threads", "GB/s", "the other's", "ratio"],
                 [[CASES[row["case"]], row["dtype"], str(row["threads"]),
                   f"{row['warpfold_gbps']:.1f}", f"{row['other_gbps']:.1f}",
                   f"{row['ratio']:.2f}"] for row in rows])


def hard(rows):
    """A line a dtype and set of ops, a column a kind of data."""
    times = {(row["dtype"], row["ops"], row["data"]): row["over_normal"] for row in rows}
    kinds = [kind for kind in dict.fromkeys(row["data"] for row in rows) if kind != "normal"]
    names = {"sum": "SUM", "nine": "nine ops"}
    return table(["time over that of normal data", *kinds],
                 [[f"{dtype}, {names[ops]}",
                   *(f"{times[dtype, ops, kind]:.2f}" for kind in kinds)]
                  for dtype, ops in dict.fromkeys((row["dtype"], row["ops"]) for row in rows)])


def lines():
    data = load(FILE)
    rows = data["results"]
    return [f"**Exact sums on a CPU**, {data['processor']}, {data['simd']}, {data['date']}, commit "
            f"{data['commit']}, `{data['command']}`: tensors in memory, beside sums that round; "
            f"and data that are hard to sum, on one core. NumPy is {data['numpy']}.", "",
            *beside([row for row in rows if row["case"] in CASES]), "",
            *hard([row for row in rows if row["case"] == "hard data"])]
