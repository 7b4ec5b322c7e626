"""The flags that the Python benches of the kernels share, and the JSON that they write."""

import argparse
import json
import sys


def parser_for(text):
    """A parser with the common flags; `text` is the bench's docstring."""
    parser = argparse.ArgumentParser(description=text,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", help="folder of libwarpfold_bench_*.so")
    parser.add_argument("--json", help="write the results here")
    parser.add_argument("--date", default="unknown", help="recorded in the results")
    parser.add_argument("--commit", default="unknown", help="recorded in the results")
    return parser


def write(arguments, results, **more):
    """What --json asked for: what was measured, on what, when and from which commit."""
    if not arguments.json:
        return
    head = {"command": " ".join(sys.argv), "date": arguments.date, "commit": arguments.commit,
            **more}
    # A result a line.
    lines = ",\n".join("  " + json.dumps(row) for row in results)
    text = json.dumps(head, indent=1)[:-2] + f',\n "results": [\n{lines}\n ]\n}}\n'
    with open(arguments.json, "w", encoding="utf-8") as file:
        file.write(text)
