"""The table of tests/attacks/measure.py, with a row for every attack, measured or not."""

import ast
import csv
import sys

from quote.form import RESULTS, ROOT, load, table

TESTS = ROOT / "tests" / "attacks"
# The first that is there and has attacks of the section is quoted: put a run of a larger host here.
FILES = ("attacks-16-processors.json", "attacks-2-processors.json",
         "attacks-edge-2-processors.json")
EDGE = "edge_test.py"
HEADS = ["attacker", "connections, bytes", "RSS of bound, MiB", "Reduce, p99 ms",
         "ReduceStream, p99 ms", "failed", "again", "recovers, s", "what the test asserts"]
EDGE_HEAD = "nginx of bound, MiB"
NONE = "-"


def names_of_tests():
    """FILE::TEST of each, in the order of the files."""
    return [f"{path.name}::{node.name}" for path in sorted(TESTS.glob("*_test.py"))
            for node in ast.parse(path.read_text(encoding="utf-8")).body
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]


def attackers():
    """What the attacker of each does. Ends the process where a test has no words, or words no
    test."""
    with open(TESTS / "attackers.tsv", encoding="utf-8", newline="") as file:
        lines = [line for line in file if not line.startswith("#")]
    words = dict(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    if wrong := set(names_of_tests()) ^ set(words):
        sys.exit(f"tests/attacks/attackers.tsv: no test, or no words: {', '.join(sorted(wrong))}")
    return words


def bytes_text(size):
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >> shift:
            return f"{size / (1 << shift):.1f} {unit}"
    return f"{size} B"


def sent_text(sent):
    if not sent["connections"]:
        return NONE
    return f"{sent['connections']:,}, {bytes_text(sent['bytes'])}"


def memory_text(server, name=""):
    peak, bound = server.get(f"{name}peak_mib"), server.get(f"{name}bound_mib")
    if peak is None:
        return NONE
    return f"{peak:.0f}" + (f" of {bound:.0f}" if bound is not None else "")


def latency_text(row, kind):
    """Of the calls without the attack, beside it, and how many those were."""
    if kind not in row["without"] or kind not in row["with"]:
        return NONE
    without, beside = row["without"][kind], row["with"][kind]
    return f"{without['p99_ms']:.2f}, {beside['p99_ms']:.2f} ({beside['calls']:,})"


def cells(row):
    """Of a measured attack, without its first and its last."""
    has_calls = bool(row["with"])
    recovered = row["recovered_s"]
    return [sent_text(row["sent"]), memory_text(row["server"]), latency_text(row, "reduce"),
            latency_text(row, "reduce_stream"), str(row["failed"]) if has_calls else NONE,
            str(row["tried_again"]) if has_calls else NONE,
            f"{recovered:.2f}" if recovered is not None else NONE]


def processors_text(data):
    parts = data["processors"]
    if parts["server"] + parts["honest"] + parts["attackers"] > parts["all"]:
        return "the server on one, the honest client and the attackers on the other"
    return (f"{parts['server']} for the server, {parts['honest']} for the honest client, "
            f"{parts['attackers']} for the attackers")


def source_line(name, data):
    return (f"{data['processors']['all']} processors, {data['processor']}: "
            f"{processors_text(data)}. From [{name}](../bench/results/{name}): commit "
            f"{data['commit']} with gRPC {data['grpc']}, {data['date']}, `{data['command']}`.")


def summary_line(rows):
    """What all rows come to, and how far apart they are without an attack."""
    called = [row for row in rows if row["with"]]
    without = [row["without"]["reduce"]["p99_ms"] for row in called if "reduce" in row["without"]]
    calls = sum(times["calls"] for row in called for times in row["with"].values())
    nearest = max(row["server"]["peak_mib"] / row["server"]["bound_mib"] for row in rows
                  if "bound_mib" in row["server"])
    slowest = max(row["recovered_s"] for row in rows if row["recovered_s"] is not None)
    faults = sum(len(row["faults"]) for row in rows)
    return (f"{len(rows)} tests, of which {len(called)} have honest calls beside the attack: "
            f"{calls:,} calls, {sum(row['failed'] for row in called)} failed. Memory came to "
            f"{100 * nearest:.0f} % of its bound at most; the server recovered within "
            f"{slowest:.2f} s; {faults} promises did not hold. Without an attack the p99 of Reduce "
            f"is {min(without):.2f} to {max(without):.2f} ms from row to row: smaller differences "
            "say nothing.")


def results_of(is_edge):
    """(file, its content, its attacks of the section by name)."""
    for file in FILES:
        if not (RESULTS / file).exists():
            continue
        data = load(file)
        rows = {row["attack"]: row for row in data["attacks"]
                if row["attack"].startswith(EDGE) == is_edge}
        if rows:
            return file, data, rows
    sys.exit(f"bench/results: none of {', '.join(FILES)} has "
             f"{'attacks at the edge' if is_edge else 'attacks on the server'}")


def section_lines(is_edge):
    file, data, rows = results_of(is_edge)
    heads = list(HEADS)
    if is_edge:
        heads.insert(3, EDGE_HEAD)
    lines = []
    for name, words in attackers().items():
        if name.startswith(EDGE) != is_edge:
            continue
        row = rows.get(name)
        measured = cells(row) if row else ["not measured", *[NONE] * (len(HEADS) - 3)]
        if is_edge:
            measured.insert(2, memory_text(row["server"], "edge_") if row else NONE)
        test_file, _, test = name.partition("::test_")
        lines.append([words, *measured, f"[`{test}`](../tests/attacks/{test_file})"])
        for fault in row["faults"] if row else ():
            lines.append([f"**does not hold**: {fault}", *[NONE] * (len(heads) - 1)])
    return [source_line(file, data), "", summary_line(rows.values()), "", *table(heads, lines)]


def server_lines():
    return section_lines(is_edge=False)


def edge_lines():
    return section_lines(is_edge=True)
