"""Command line arguments that the benches of this folder share."""

import argparse
import pathlib


def bench_parser(doc, rounds, seconds):
    """A parser that shows `doc` as it stands, with the defaults of one bench."""
    parser = argparse.ArgumentParser(description=doc,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, help="a build folder; default: the bundle")
    parser.add_argument("--backend", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--seconds", type=float, default=seconds, help="per measurement")
    parser.add_argument("--output", type=pathlib.Path, help="write the results here, as JSON")
    return parser
