"""The table of bench/service/pays.py, which says where the service pays; the README has a part."""

from quote.form import RESULTS, load, size_text, source_text, time_text

NAME = "pays-h200.json"
GIB = 1 << 30
# What the README shows of it: (question, bytes).
COLUMNS = [("sum", 4 << 10), ("sum", 64 << 20), ("sum", GIB), ("describe", GIB)]
NOT_IN_README = ("CPU kernels in process, one core", "torch, copied from pinned memory")
QUESTIONS = {"sum": "SUM", "describe": "nine statistics"}


def exists():
    return (RESULTS / NAME).exists()


def table_lines(results, columns):
    """A line a way, a column a question and size; '-' where a way was not measured."""
    cells = {(row["way"], row["question"], row["bytes"]): time_text(row["p50_us"])
             for row in results}
    heads = [f"{QUESTIONS[question]} of {size_text(size)}" for question, size in columns]
    lines = [f"| way | {' | '.join(heads)} |", "| --- |" + " --- |" * len(heads)]
    for way in dict.fromkeys(row["way"] for row in results):
        row = [cells.get((way, *column), "-") for column in columns]
        if any(cell != "-" for cell in row):
            lines.append(f"| {way} | {' | '.join(row)} |")
    return lines


def host_text(data):
    torch = f", torch {data['torch']}" if data["torch"] else ""
    return (f"{data['processor']} ({data['processors']} processors), {data['gpu'] or 'no GPU'}, "
            f"NumPy {data['numpy']}{torch}, commit {data['commit']}")


def readme_lines():
    if not exists():
        return assembled_lines()
    data = load(NAME)
    return [f"Median times of one answer on one host, gRPC over its loopback: {host_text(data)}; "
            f"{source_text(NAME, data)}.", "",
            *table_lines([row for row in data["results"] if row["way"] not in NOT_IN_README],
                         COLUMNS)]


def measurements_lines():
    """All sizes and both questions; nothing before there is a run."""
    if not exists():
        return []
    data = load(NAME)
    columns = dict.fromkeys((row["question"], row["bytes"]) for row in data["results"])
    lines = [f"**Where it pays**, {data['date']}, `{data['command']}`: {host_text(data)}. Medians "
             f"of {data['rounds']} rounds of one answer's time, the RPC included; the nine "
             "statistics are one pass of warpfold, and several of NumPy and torch."]
    for wanted in QUESTIONS:
        lines += ["", *table_lines(data["results"], [c for c in columns if c[0] == wanted])]
    return lines


def assembled_lines():
    """The same from earlier runs, of the same kind of host, until there is one of pays.py."""
    cpu, service, torch = map(load, ("cpu.json", "service-h200-cuda.json", "torch-shapes.json"))
    one = max((row for row in cpu["results"] if row["case"] == "one core"),
              key=lambda row: row["elements"])
    every = next(row for row in cpu["results"]
                 if (row["case"], row["dtype"], row["ops"]) == ("all cores", "f32", "sum"))
    sent = {case["case"]: case for case in service["cases"]}
    kept = {case["method"]: case for case in service["alone"]}
    largest = max((row for row in torch["results"] if row["axis"] == "inner"),
                  key=lambda row: (row["kept"] * row["reduced"], row["reduced"]))
    one_bytes = 4 * one["elements"]
    torch_bytes = 4 * largest["kept"] * largest["reduced"]
    rows = [
        ("`np.sum`, one core", one_bytes, one_bytes / one["numpy_us"] * 1e-3),
        ("our CPU kernels in process, one core", one_bytes,
         one_bytes / one["warpfold_us"] * 1e-3),
        (f"our CPU kernels in process, {every['threads']} threads", 4 * every["elements"],
         every["warpfold_gbps"]),
        ("warpfold, gRPC stream, 1 connection", 256 << 20,
         sent["256 MiB stream, 1 client"]["warpfold"]),
        ("warpfold, gRPC streams, 4 connections", GIB, sent["1 GiB striped, 1 client"]["warpfold"]),
        ("warpfold, shared memory", kept["shared"]["bytes"], kept["shared"]["gb_per_second"]),
        ("warpfold, resident tensor (uploaded before)", kept["resident"]["bytes"],
         kept["resident"]["gb_per_second"]),
        ("warpfold, the client's own GPU memory (by CUDA IPC)", kept["cuda"]["bytes"],
         kept["cuda"]["gb_per_second"]),
        (f"`torch.sum` of {largest['kept']} rows on the same GPU, no service", torch_bytes,
         torch_bytes / largest["torch_us"] * 1e-3),
    ]
    return ["| a SUM of f32, by | size | GB/s |", "| --- | --- | --- |",
            *(f"| {name} | {size_text(size)} | {speed:,.{0 if speed >= 100 else 1}f} |"
              for name, size, speed in rows), "",
            f"From three runs on virtual machines with {service['processors']} processors and an "
            f"H200. The NumPy and CPU rows: {cpu['processor']}, {cpu['date']}, "
            "[cpu.json](bench/results/cpu.json). "
            f"The warpfold rows: {service['date'][:10]}, "
            "[service-h200-cuda.json](bench/results/service-h200-cuda.json). The torch row: "
            f"{torch['date']}, [torch-shapes.json](bench/results/torch-shapes.json). "
            "[docs/measurements.md](docs/measurements.md) has their commands."]
