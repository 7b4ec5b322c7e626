"""What judge.py writes of its runs, in Markdown."""


def summary(run):
    columns = zip(*map(dict.values, run["parts"].values()))
    tests, apply, passed = map(sum, columns)
    return f"{apply} of {tests} tests apply, {passed} pass, {apply - passed} are exceptions"


def report(expected):
    """The report, in Markdown."""
    lines = [
        "# NumPy's own tests as a judge",
        "",
        "The tests of reductions that NumPy ships, run with this client in the place of NumPy's",
        "functions and methods. Written by `tests/client_python/numpy_judge/judge.py`, which says",
        "how, and held by `ctest -R numpy_judge`. A test applies when a call that it makes is one",
        "that the client promises to answer; its other calls stay with NumPy. The exceptions pass",
        "too with NumPy called beside the client for its warnings, where the reason names those.",
    ]
    for version, run in expected["runs"].items():
        parts = run["parts"].items()
        lines += [
            "",
            f"## NumPy {version}",
            f"{summary(run)}.",
            "",
            "| part | tests | apply | pass |",
            "| --- | --- | --- | --- |",
            *(f"| {part} | {' | '.join(map(str, n.values()))} |" for part, n in parts),
            "",
            "| exceptions | why |",
            "| --- | --- |",
            *(f"| {n} | {reason} |" for reason, n in run["exceptions"].items()),
            "",
            "| do not apply | what the client does not promise, or else |",
            "| --- | --- |",
            *(f"| {n} | {reason} |" for reason, n in run["left"].items()),
        ]
    return "\n".join(lines) + "\n"
