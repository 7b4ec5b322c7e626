#!/usr/bin/env python3
"""Quotes committed results in README.md and pages of docs: no figure is typed by hand.

  bench/summary.py           rewrites the parts of each page between two marks
  bench/summary.py --check   exit status 1 when such a part is not what bench/results say

A part begins with `<!-- measured NAME: written by bench/summary.py -->` and ends with
`<!-- end of measured -->`; bench/quote has the tables. Needs python3 and nothing else.
"""

import argparse
import re
import sys

from quote import attacks, cpu_sums, exact_sums, hard_data, kernels, pays, service, shapes
from quote.form import ROOT, load, source_text

EXACT = "exact-peers-h100.json"
PLOTS = "docs/plots"  # by bench/kernels/plot.py and bench/service/plot.py
PART = re.compile(r"(<!-- measured (\w+): written by bench/summary\.py -->\n)(.*?)"
                  r"(<!-- end of measured -->\n)", re.DOTALL)


def plot_lines():
    """All plots of the results, as a page in docs shows them."""
    plots = sorted((ROOT / PLOTS).glob("*.png"))
    return ["Plots, by [bench/kernels/plot.py](../bench/kernels/plot.py) and "
            "[bench/service/plot.py](../bench/service/plot.py):", "",
            *(f"![{path.stem}](plots/{path.name})" for path in plots)]


def service_lines():
    return [*service.service_lines("service-h100-cuda.json", "CUDA backend, H100 host, 16 cores"),
            "",
            *service.service_lines("service-h100-cpu.json", "CPU backend, H100 host, 16 cores")]


def exact_lines():
    return exact_sums.table_lines([load(EXACT)])


def exact_readme_lines():
    data = load(EXACT)
    return [*exact_sums.readme_lines([data]), "",
            "From " + source_text(EXACT, data) + "."]


def measurements_lines():
    sections = [exact_lines(), hard_data.lines(), shapes.lines("shapes-h200.json"),
                pays.measurements_lines(), kernels.kernel_lines(), kernels.torch_lines(),
                service_lines(), service.gpus_lines("gpus-h100x2.json"), kernels.dtype_lines(),
                kernels.cpu_lines(), cpu_sums.lines(), kernels.accuracy_lines(),
                kernels.batch_lines(), service.client_lines(), plot_lines()]
    return "\n\n".join("\n".join(lines) for lines in sections if lines).splitlines()


# The parts that each page has, by name.
PAGES = {"README.md": {"pays": pays.readme_lines, "exact": exact_readme_lines},
         "docs/measurements.md": {"all": measurements_lines},
         "docs/threat-model.md": {"attacks": attacks.server_lines,
                                  "attacks_edge": attacks.edge_lines}}


def rewritten(page, text):
    """The page with its parts anew. Ends the process where a part is missing or not known."""
    parts = PAGES[page]
    names = [name for _, name, _, _ in PART.findall(text)]
    if sorted(names) != sorted(parts):
        sys.exit(f"{page}: has the measured parts {names}, and should have {list(parts)}")
    return PART.sub(lambda part: part[1] + "\n".join(parts[part[2]]()) + "\n" + part[4], text)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        wanted = rewritten(page, text)
        if wanted == text:
            continue
        if arguments.check:
            sys.exit(f"{page}: a measured part is not what bench/results say; run "
                     "bench/summary.py")
        (ROOT / page).write_text(wanted, encoding="utf-8")


if __name__ == "__main__":
    main()
