"""The table of bench/peers/exact_sums.py: sums of hard arrays, by warpfold and by others."""

from quote.form import size_text, table

# Columns, in this order; a run has some of them.
PEERS = ("warpfold, CPU server", "warpfold, CPU kernels", "warpfold, CUDA server",
         "warpfold, CUDA kernels", "math.fsum", "xsum", "bitrep", "numpy.sum", "torch, CPU",
         "torch, CUDA", "CUB, run_to_run", "CUB, gpu_to_gpu")
# Rows of the README: warpfold, where one of them is, and those beside it; and what some are.
IN_README = (("warpfold, CUDA kernels", "warpfold, CUDA server", "warpfold, CPU kernels",
              "warpfold, CPU server"),
             ("math.fsum",), ("numpy.sum",), ("CUB, run_to_run",), ("CUB, gpu_to_gpu",))
WHAT = {"math.fsum": "math.fsum, one core", "numpy.sum": "numpy.sum, one core",
        "CUB, run_to_run": "CUB's sum", "CUB, gpu_to_gpu": "CUB's reproducible sum"}
README_BYTES = 256 << 20


def is_wrong(row):
    return row["case"] == "answer" and row["right"] < row["orders"]


def answer_text(row):
    """"right" of the real sum rounded once in every order, else how far off at worst."""
    if not is_wrong(row):
        return "right"
    worst = row["worst_ulp"]
    text = worst if isinstance(worst, str) else f"{worst:.2g} ulp"
    values = len(row["answers"])
    return f"{text} ({values} values)" if values > 1 else text


def figure_text(value):
    """Three digits, or all of a whole number, so that its ratios agree with it."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def speed_text(row):
    text = figure_text(row["gbps"])
    if row["timed_bytes"] == row["bytes"]:
        return text
    return f"{text} ({size_text(row['timed_bytes'])})"


def joined(runs):
    """(the rows, the peers) of runs of the same arrays; of a peer, those of the first run."""
    owners = {}
    for number, run in enumerate(runs):
        for row in run["results"]:
            owners.setdefault(row["peer"], number)
    rows = [row for number, run in enumerate(runs) for row in run["results"]
            if owners[row["peer"]] == number]
    exact = {}
    for row in rows:
        if row["case"] == "answer":
            key, found = (row["dtype"], row["array"]), (row["exact"], row["orders"])
            if exact.setdefault(key, found) != found:
                raise SystemExit(f"{row['dtype']} {row['array']}: the runs have other arrays")
    unknown = set(owners) - set(PEERS)
    return rows, [*(peer for peer in PEERS if peer in owners), *sorted(unknown)]


def keys_of(rows, case, names):
    return list(dict.fromkeys(tuple(row[name] for name in names) for row in rows
                              if row["case"] == case))


def answer_rows(rows, peers):
    """A line an array, then how many arrays were right and how many the same in every order."""
    cells = {(row["peer"], row["dtype"], row["array"]): row for row in rows
             if row["case"] == "answer"}
    keys = keys_of(rows, "answer", ("dtype", "array"))
    for dtype, array in keys:
        found = (cells.get((peer, dtype, array)) for peer in peers)
        yield [f"{dtype}: {array}", *("-" if row is None else answer_text(row) for row in found)]
    counted = [[cells[(peer, *key)] for key in keys if (peer, *key) in cells] for peer in peers]
    yield ["arrays that are right", *(f"{sum(not is_wrong(row) for row in each)} of {len(each)}"
                                      for each in counted)]
    yield ["the same bits in all orders",
           *(f"{sum(len(row['answers']) == 1 for row in each)} of {len(each)}"
             for each in counted)]


def speed_rows(rows, peers):
    cells = {(row["peer"], row["dtype"], row["data"], row["bytes"]): row for row in rows
             if row["case"] == "speed"}
    for key in keys_of(rows, "speed", ("dtype", "data", "bytes")):
        found = (cells.get((peer, *key)) for peer in peers)
        dtype, data, size = key
        yield [f"GB/s, {dtype}: {data}, {size_text(size)}",
               *("-" if row is None else speed_text(row) for row in found)]


def run_text(run):
    """A run: on what, when, by what command."""
    place = ", ".join(filter(None, (run["processor"], run["gpu"])))
    return f"{place}, {run['date']}, commit {run['commit']}, `{run['command']}`"


def missing_text(runs, peers):
    """Who is in none of the runs, and why."""
    why = {name: reason for run in runs for name, reason in run["missing"].items()
           if not any(is_of(name, peer) for peer in peers)}
    return "; ".join(f"{name} ({reason})" for name, reason in why.items())


def is_of(name, peer):
    """Whether `peer` is what a run without it calls `name`: CUB's sums have one program."""
    if name == "warpfold, server":
        return peer.startswith("warpfold") and peer.endswith("server")
    return peer == name or peer.startswith(name + ", ")


def versions_text(runs, peers):
    versions = {}
    for run in runs:
        for peer, version in run["versions"].items():
            versions.setdefault(peer, version)
    return ", ".join(f"{peer} ({versions[peer]})" for peer in peers if peer in versions)


def table_lines(runs):
    """All arrays and speeds of one run or more."""
    rows, peers = joined(runs)
    head = "; ".join(map(run_text, runs))
    lines = [f"**Exact and reproducible sums**, {head}: what each gives for arrays that are hard "
             "to sum, each in 8 orders. Right is the real sum, rounded once to the dtype, in every "
             "order; else the error at worst, in units of the last place, and how many values the "
             "orders gave. Peers: " + versions_text(runs, peers) + "."]
    if missing := missing_text(runs, peers):
        lines[0] += f" Not measured: {missing}."
    return [*lines, "", *table(["array", *peers],
                               [*answer_rows(rows, peers), *speed_rows(rows, peers)])]


def readme_lines(runs):
    """Five of the peers: what the table counts, one speed a dtype and warpfold's speed over it."""
    rows, peers = joined(runs)
    wanted = [next((peer for peer in names if peer in peers), None) for names in IN_README]
    wanted = [peer for peer in wanted if peer]
    speeds = {(row["peer"], row["dtype"]): row for row in rows if row["case"] == "speed"
              and (row["data"], row["bytes"]) == ("normal", README_BYTES)}
    found = []
    for peer in wanted:
        answers = [row for row in rows if (row["peer"], row["case"]) == (peer, "answer")]
        counts = [f"{sum(not is_wrong(row) for row in answers if row['dtype'] == dtype)} of "
                  f"{sum(row['dtype'] == dtype for row in answers)}" for dtype in ("f32", "f64")]
        same = f"{sum(len(row['answers']) == 1 for row in answers)} of {len(answers)}"
        found.append([WHAT.get(peer, peer), *counts, same])
        for dtype in ("f32", "f64"):
            own, its = speeds.get((wanted[0], dtype)), speeds.get((peer, dtype))
            found[-1] += [speed_text(its) if its else "-",
                          figure_text(own["gbps"] / its["gbps"]) if own and its else "-"]
    return table(["implementation", "f32 right", "f64 right", "same bits in all orders",
                  "f32, GB/s", "ours / its", "f64, GB/s", "ours / its"], found)
