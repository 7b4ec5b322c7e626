#!/usr/bin/env python3
"""Draws docs/pictures/describe.svg: `warpfold describe` on a model checkpoint, in a terminal.

  docs/pictures/describe.py --build build/release --model .demo/model.safetensors

Starts the server of the build on a free port with the CPU backend, which gives the bits of every
GPU, runs the command with colours, and draws what it printed: the first lines, one that says how
many rows are left out, and the last lines. Nothing else is drawn but the prompt. tests/docs runs
the command again and compares.

`make demo` fetches the checkpoint. Needs python3 and nothing else.
"""

import argparse
import contextlib
import html
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
PICTURE = HERE / "describe.svg"
COMMAND = "warpfold describe model.safetensors"
FIRST, LAST = 11, 5  # lines shown, with the head and with the totals
START_TIMEOUT_S = 60
# Of a character, in pixels: lines are stretched to it, whatever font the reader has.
WIDTH, HEIGHT, SIZE, MARGIN = 7.2, 17, 12, 14
COLORS = {"1": "#ffffff", "31": "#ff7b72", "32": "#7ee787", "33": "#e3b341"}
SGR = re.compile(r"\x1b\[([0-9;]*)m")


@contextlib.contextmanager
def serving(build):
    """host:port of the build's server, with the CPU backend."""
    with tempfile.TemporaryDirectory() as folder:
        ports = pathlib.Path(folder) / "ports"
        command = [build / "server" / "warpfold-server", "--backend=cpu", "--log-level=warning",
                   "--listen-address=127.0.0.1:0", "--metrics-address=127.0.0.1:0",
                   f"--port-file={ports}"]
        with subprocess.Popen(command) as process:
            try:
                give_up_at = time.monotonic() + START_TIMEOUT_S
                while not ports.exists():  # renamed into place when both ports are served
                    if process.poll() is not None or time.monotonic() > give_up_at:
                        sys.exit("describe.py: the server did not start")
                    time.sleep(0.02)
                yield f"127.0.0.1:{ports.read_text(encoding='utf-8').split()[0]}"
            finally:
                process.terminate()


def described(build, model):
    """What the command prints of `model`, with its colours, line by line."""
    model = model.resolve()
    with serving(build.resolve()) as target:
        # By the name that the prompt shows: the command prints the name that it was given.
        done = subprocess.run(
            [build.resolve() / "client" / "cpp" / "warpfold", "describe", model.name,
             "--color=always", "--server", target],
            cwd=model.parent, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"describe.py: {done.stderr.strip()}")
    return done.stdout.splitlines()


def shortened(lines):
    """The first and the last lines, and one that says how many rows are left out between them."""
    left_out = len(lines) - FIRST - LAST
    if left_out < 2:
        return lines
    return [*lines[:FIRST], f"... {left_out} more rows ...", *lines[-LAST:]]


def spans(line):
    """(text, colour or None) of a line with escape sequences."""
    color = None
    for number, part in enumerate(SGR.split(line)):
        if number % 2:
            color = next((COLORS[code] for code in part.split(";") if code in COLORS), None)
        elif part:
            yield part, color


def drawn(lines):
    """The SVG of a terminal with the prompt and these lines."""
    lines = [f"$ {COMMAND}", *lines]
    columns = max(len(SGR.sub("", line)) for line in lines)
    width, height = columns * WIDTH + 2 * MARGIN, len(lines) * HEIGHT + 2 * MARGIN
    out = ['<?xml version="1.0" encoding="UTF-8"?>',
           "<!-- drawn by docs/pictures/describe.py -->",
           f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
           f'viewBox="0 0 {width:.0f} {height:.0f}">',
           f"<title>{html.escape(COMMAND)}</title>",
           '<rect width="100%" height="100%" rx="8" fill="#0d1117"/>',
           '<g font-family="monospace" '
           f'font-size="{SIZE}" fill="#c9d1d9" xml:space="preserve">']
    for number, line in enumerate(lines):
        length = len(SGR.sub("", line))
        if length == 0:
            continue
        text = "".join(f'<tspan fill="{color}">{html.escape(part)}</tspan>' if color
                       else html.escape(part) for part, color in spans(line))
        out.append(f'<text x="{MARGIN}" y="{MARGIN + SIZE + number * HEIGHT}" '
                   f'textLength="{length * WIDTH:.1f}" lengthAdjust="spacingAndGlyphs" '
                   f'xml:space="preserve">{text}</text>')
    return "\n".join([*out, "</g>", "</svg>"]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="a build folder")
    parser.add_argument("--model", type=pathlib.Path, required=True, help="a .safetensors file")
    arguments = parser.parse_args()
    PICTURE.write_text(drawn(shortened(described(arguments.build, arguments.model))),
                       encoding="utf-8")
    print(f"drawn: {PICTURE}")


if __name__ == "__main__":
    main()
