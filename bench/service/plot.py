#!/usr/bin/env python3
"""Draws what run.py measured, from its JSON.

  bench/service/plot.py [--output FOLDER] FILE.json...    FILE.png beside each, or in FOLDER

Left: each case's ratio to the wire; right: a tensor in, its sum out, on warpfold and on the peers.
Needs matplotlib.
"""

import argparse
import json
import pathlib

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

LESS_IS_BETTER = ("p50_us", "p99_us")


def size_text(size):
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"


def draw_ratios(axes, cases):
    # Speed relative to the wire's, whatever was measured: 1 is the wire.
    speeds = [case["wire"] / case["warpfold"] if case["metric"] in LESS_IS_BETTER
              else case["warpfold"] / case["wire"] for case in cases]
    places = range(len(cases))
    axes.barh(places, speeds, color="tab:green")
    axes.axvline(1, color="black", linewidth=1)
    axes.set_yticks(places, [case["case"] for case in cases])
    axes.invert_yaxis()
    axes.set_xlabel("speed relative to a server that looks at nothing")


def draw_peers(axes, results):
    requests = sorted({(row["bytes"], row["clients"]) for row in results})
    names = list(dict.fromkeys(row["peer"] for row in results))
    speeds = {(row["peer"], row["bytes"], row["clients"]): row["gb_per_second"] for row in results}
    width = 0.8 / len(names)
    for i, name in enumerate(names):
        axes.bar([at + i * width for at in range(len(requests))],
                 [speeds.get((name, *request), 0) for request in requests], width, label=name)
    axes.set_xticks([at + 0.4 for at in range(len(requests))],
                    [f"{size_text(size)}\n{clients} client{'s' if clients > 1 else ''}"
                     for size, clients in requests])
    axes.set_yscale("log")
    axes.set_ylabel("GB/s")
    axes.legend()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--output", type=pathlib.Path, metavar="FOLDER")
    arguments = parser.parse_args()
    for path in arguments.files:
        data = json.loads(path.read_text(encoding="utf-8"))
        peers = data.get("peers", {}).get("results", [])
        figure, axes = plt.subplots(1, 2 if peers else 1, figsize=(16 if peers else 9, 6),
                                    squeeze=False, layout="constrained")
        draw_ratios(axes[0][0], data["cases"])
        if peers:
            draw_peers(axes[0][1], peers)
        figure.suptitle(f"{data['gpu'] or 'no GPU'}, backend {data['backend']}, "
                        f"{data['processors']} processors, {data['date']}")
        output = (arguments.output or path.parent) / path.with_suffix(".png").name
        figure.savefig(output, dpi=100)
        print(f"written: {output}")


if __name__ == "__main__":
    main()
