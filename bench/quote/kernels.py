"""Tables of the kernels: beside CUB, beside torch, batches, accuracy, on a GPU and on the CPU."""

import statistics

from quote.form import load, size_text, time_text

KERNEL_SIZES = (10, 14, 17, 20, 22, 24, 26, 28, 30)


def kernel_lines():
    data = load("kernels-h100.json")
    rows = {(row["dtype"], row["ops"], row["elements"]): row for row in data["results"]}
    lines = [
        f"**Kernels**, {data['gpu']}, {data['date']}, commit {data['commit']}, "
        f"`{data['command']}`: f32 in device memory, against CUB's DeviceReduce (one op, sums in "
        "f32, bits that depend on the GPU) in the same run, reductions one after another in a "
        "stream, where ours overlap. Nine ops: SUM MEAN VAR MIN MAX NAN_COUNT INF_COUNT L1_NORM "
        "L2_NORM.",
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


def dtype_lines():
    """Every dtype against CUB, sets of ops against our own sum: a line each, a column a size."""
    data = load("kernels-h100.json")
    rows = {(row["dtype"], row["ops"], row["bytes"]): row for row in data["results"]}
    dtypes, _, sizes = (list(dict.fromkeys(column)) for column in zip(*rows))
    heads = f"{' | '.join(map(size_text, sizes))} |\n| --- |" + " --- |" * len(sizes)
    lines = [
        f"**Every dtype**, {data['gpu']}, {data['date']}, commit {data['commit']}, "
        f"`{data['command']}`. CUB's time over ours; of two ops, the worse one's.",
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
    data = load("torch-shapes-h200.json")
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
        mean = statistics.geometric_mean(ratios)
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


def batch_lines():
    data = load("batch-h100.json")
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
