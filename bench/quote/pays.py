"""The table of bench/service/pays.py, which says where the service pays; the README has a part."""

from quote.form import load, size_text, source_text, time_text

NAME = "pays-h100.json"
GIB = 1 << 30
# What the README shows of it: (question, bytes).
COLUMNS = [("sum", 4 << 10), ("sum", 64 << 20), ("sum", GIB), ("describe", GIB)]
NOT_IN_README = ("CPU kernels in process, one core", "torch, copied to the GPU")
# Rows of the tables, in this order: in the memory of the program, on its GPU, by the server.
ORDER = ("NumPy, one core", "CPU kernels in process, one core",
         "CPU kernels in process, all cores", "torch, copied to the GPU",
         "torch, copied from pinned memory", "torch, tensor on the GPU",
         "warpfold, gRPC, 1 connection", "warpfold, gRPC, 4 connections",
         "warpfold, shared memory", "warpfold, client's GPU memory",
         "warpfold, resident tensor")
QUESTIONS = {"sum": "SUM", "describe": "nine statistics"}


def table_lines(results, columns):
    """A line a way, a column a question and size; '-' where a way was not measured."""
    cells = {(row["way"], row["question"], row["bytes"]): time_text(row["p50_us"])
             for row in results}
    heads = [f"{QUESTIONS[question]} of {size_text(size)}" for question, size in columns]
    lines = [f"| way | {' | '.join(heads)} |", "| --- |" + " --- |" * len(heads)]
    for way in sorted({row["way"] for row in results}, key=ORDER.index):
        row = [cells.get((way, *column), "-") for column in columns]
        if any(cell != "-" for cell in row):
            lines.append(f"| {way} | {' | '.join(row)} |")
    return lines


def host_text(data):
    torch = f", torch {data['torch']}" if data["torch"] else ""
    return (f"{data['processor']} ({data['processors']} processors), {data['gpu'] or 'no GPU'}, "
            f"NumPy {data['numpy']}{torch}, commit {data['commit']}")


def readme_lines():
    data = load(NAME)
    return ["Median times of one answer, f32 (nine: sum, mean, standard deviation, extrema, norms, "
            "counts of NaN and infinity), on one host, gRPC over its loopback: "
            f"{host_text(data)}; {source_text(NAME, data)}.", "",
            *table_lines([row for row in data["results"] if row["way"] not in NOT_IN_README],
                         COLUMNS)]


def measurements_lines():
    """All sizes and both questions."""
    data = load(NAME)
    columns = dict.fromkeys((row["question"], row["bytes"]) for row in data["results"])
    lines = [f"**Where it pays**, {data['date']}, `{data['command']}`: {host_text(data)}. Medians "
             f"of {data['rounds']} rounds of one answer's time, the RPC included; the nine "
             "statistics are one pass of warpfold, and several of NumPy and torch."]
    for wanted in QUESTIONS:
        lines += ["", *table_lines(data["results"], [c for c in columns if c[0] == wanted])]
    return lines
