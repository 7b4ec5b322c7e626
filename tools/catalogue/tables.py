"""Tables of documents, and of comments, from the catalogues of ops and dtypes."""

import sys

# Natures of dtypes that most ops treat alike; of floats those of 8 bits have one of their own here.
BYTE_FLOAT = "float of 8 bits"
COLUMNS = (("bool", "signed"), ("unsigned",), ("float",), (BYTE_FLOAT,))


def group_by_results(catalogue, columns=COLUMNS):
    """Ops of the same result dtypes, in the order of their numbers."""
    dtypes = [dtype["name"] for column in columns for dtype in dtypes_of(catalogue, column)]
    groups = {}
    for op in sorted(catalogue["ops"], key=lambda op: op["number"]):
        groups.setdefault(tuple(op["results"][dtype] for dtype in dtypes), []).append(op)
    return list(groups.values())


def nature_of(dtype):
    is_byte_float = dtype["nature"] == "float" and dtype["bytes"] == 1
    return BYTE_FLOAT if is_byte_float else dtype["nature"]


def dtypes_of(catalogue, natures):
    return [dtype for dtype in catalogue["dtypes"] if nature_of(dtype) in natures]


def common_result(op, dtypes, catalogue):
    """What an op's result is over each of `dtypes`: a dtype, "same", or "unsigned".

    "unsigned" is the unsigned integer of the element's size. None: it is no one of these.
    """
    by_name = {dtype["name"]: dtype for dtype in catalogue["dtypes"]}
    results = [by_name[op["results"][dtype["name"]]] for dtype in dtypes]
    if results == dtypes:
        return "same"
    if all(result == results[0] for result in results):
        return results[0]["name"]
    if all(
        result["nature"] == "unsigned" and result["bytes"] == dtype["bytes"]
        for result, dtype in zip(results, dtypes)
    ):
        return "unsigned"
    return None


def results_by_nature(op, column, catalogue):
    """What an op's result is over each nature of a column; the same over all where it can be."""
    together = common_result(op, dtypes_of(catalogue, column), catalogue)
    found = {
        nature: together or common_result(op, dtypes_of(catalogue, [nature]), catalogue)
        for nature in column
    }
    if None in found.values():
        sys.exit(f"generate.py: no words for the dtypes of {op['name']}'s results")
    return found


def readme_table(catalogue):
    """Result dtypes, for README.md."""
    words = {dtype["name"]: dtype["name"] for dtype in catalogue["dtypes"]}
    words.update(same="as the tensor", unsigned="unsigned, of its size")
    heads = [", ".join(d["name"] for d in dtypes_of(catalogue, column)) for column in COLUMNS]
    lines = [f"| op | {' | '.join(heads)} |", "| --- " * (len(heads) + 1) + "|"]
    for ops in group_by_results(catalogue):
        cells = []
        for column in COLUMNS:
            found = results_by_nature(ops[0], column, catalogue)
            if len(set(found.values())) == 1:
                cells.append(words[found[column[0]]])
            else:
                cells.append("; ".join(f"{nature}: {words[r]}" for nature, r in found.items()))
        lines.append(f"| {', '.join(op['name'].upper() for op in ops)} | {' | '.join(cells)} |")
    return lines


INPUTS = {
    ("signed",): "signed integers",
    ("unsigned",): "unsigned integers",
    ("float",): "floats",
    ("bool", "signed"): "BOOL and signed integers",
    ("bool", "signed", "unsigned"): "BOOL and integers",
    ("bool", "unsigned", "float"): "BOOL, unsigned integers and floats",
    ("bool", "unsigned", "float", BYTE_FLOAT): "BOOL, unsigned integers and floats",
    (BYTE_FLOAT,): "floats of 8 bits",
}


def result_in_words(op, catalogue, names, columns=COLUMNS):
    """As "I64 for BOOL and signed integers"; `names` are of dtypes, "same" and "unsigned"."""
    by_result = {}
    for column in columns:
        for nature, result in results_by_nature(op, column, catalogue).items():
            by_result.setdefault(result, []).append(nature)
    if len(by_result) == 1:
        (result,) = by_result
        return names[result]
    return "; ".join(f"{names[r]} for {INPUTS[tuple(of)]}" for r, of in by_result.items())


def kserve_table(catalogue):
    """The models, for docs/kserve.md; the protocol has no floats of 8 bits."""
    columns = COLUMNS[:-1]
    names = {dtype["name"]: dtype["kserve"] for dtype in catalogue["dtypes"]}
    names.update(same="the input's", unsigned="the unsigned one of its size")
    lines = ["| model | output | its datatype |", "| --- | --- | --- |"]

    def quoted(words):
        return ", ".join(f"`{word}`" for word in words)

    for ops in group_by_results(catalogue, columns):
        models = quoted(op["name"] for op in ops)
        outputs = quoted(op["name"].upper() for op in ops)
        datatype = result_in_words(ops[0], catalogue, names, columns)
        lines.append(f"| {models} | {outputs} | {datatype} |")
    outputs = quoted(name.upper() for name in catalogue["describe"])
    lines.append(f"| `describe` | {outputs}, in one pass | as above |")
    return lines


def contract_comment(catalogue):
    """Result dtypes, for the comment of reduction.proto's Op."""
    names = {dtype["name"]: dtype["name"].upper() for dtype in catalogue["dtypes"]}
    names.update(same="the tensor's", unsigned="the unsigned one of its size")
    rows = [
        (", ".join(op["name"].upper() for op in ops), result_in_words(ops[0], catalogue, names))
        for ops in group_by_results(catalogue)
    ]
    return [f"//   {ops}: {result}" for ops, result in rows]


def class_table(catalogue):
    """The fusions, which are the metrics' op_class, for docs/metrics.md."""
    fusions, alone = catalogue["fusions"], {}
    for op in catalogue["ops"]:
        serving = [f for f in fusions[:-1] if set(op["needs"]) <= set(f["holds"])]
        smallest = min(serving, key=lambda fusion: len(fusion["holds"]))
        alone.setdefault(smallest["name"], []).append(op["name"].upper())
    lines = ["| op_class | of one op | why it is there |", "| --- | --- | --- |"]
    for fusion in fusions:
        ops = ", ".join(alone.get(fusion["name"], [])) or "-"
        lines.append(f"| {fusion['name']} | {ops} | {fusion['reason']} |")
    return lines
