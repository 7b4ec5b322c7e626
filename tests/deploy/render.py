#!/usr/bin/env python3
"""Draws the dashboards for docs/dashboards.md.

Asks a Prometheus what each panel asks, and writes one PNG a dashboard. Prometheus has scraped a
server here, on the CPU backend, while record.py's phases loaded it; or it holds what record.py
recorded elsewhere, on a GPU host without Prometheus. The drawing is matplotlib's (PyPI or
python3-matplotlib), Grafana's differs in looks; the numbers are the server's.

Usage: render.py SERVER CLI DEPLOY_FOLDER OUTPUT_FOLDER
       render.py RECORDING.xz DEPLOY_FOLDER OUTPUT_FOLDER
"""

import contextlib
import lzma
import math
import re
import sys
import tempfile
import time
from pathlib import Path

import dashboard
import matplotlib
import record
import units
from stack import Prometheus, played_back, scraping

matplotlib.use("Agg")
from matplotlib import colors, dates, pyplot, ticker  # noqa: E402  after the backend is chosen

STEP_SECONDS, RATE_INTERVAL = 1, "10s"
CELL_INCHES = (0.66, 0.33)  # of the dashboard's grid, 24 columns wide


def text(value, panel) -> str:
    return units.text(value, panel["fieldConfig"]["defaults"]["unit"])


def formatter(panel):
    return ticker.FuncFormatter(lambda value, _: text(value, panel))


def legend(pattern: str, labels) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda match: labels.get(match[1], ""), pattern)


def ranges(prometheus, panel, start, end):
    """(legend, series, times, values) of every series of the panel that has a number."""
    for target in panel["targets"]:
        found = prometheus.ask(
            "query_range",
            query=dashboard.filled(target["expr"], RATE_INTERVAL, f"{round(end - start)}s"),
            start=start,
            end=end,
            step=STEP_SECONDS,
        )
        for series in found["result"]:
            times, values = zip(*((t, float(v)) for t, v in series["values"]))
            if not any(map(math.isfinite, values)):  # nothing came to divide or to rank
                continue
            yield legend(target.get("legendFormat", ""), series["metric"]), series, times, values


def draw_stat(axes, panel, found):
    axes.axis("off")
    mode = panel["options"]["textMode"]
    for i, (name, _, _, values) in enumerate(found):
        value = text(next(v for v in reversed(values) if math.isfinite(v)), panel)
        shown = {"name": name, "value_and_name": f"{value} {name}"}.get(mode, value)
        at = 1 - (i + 0.5) / len(found)
        axes.text(0.5, at, shown, ha="center", va="center", fontsize=12, color="tab:blue")


def draw_bargauge(axes, panel, found):
    axes.barh([name for name, *_ in found], [values[-1] for *_, values in found])
    axes.xaxis.set_major_formatter(formatter(panel))


def draw_heatmap(axes, _, found):
    rows = sorted((float(series["metric"]["le"]), times, v) for _, series, times, v in found)
    times = rows[0][1]
    below = [0.0] * len(times)
    counts, bounds = [], []
    for bound, _, cumulative in rows:
        counts.append([max(c - b, 0) or math.nan for c, b in zip(cumulative, below)])
        below = cumulative
        bounds.append(bound)
    used = [i for i, row in enumerate(counts) if not all(map(math.isnan, row))]
    first, last = used[0], used[-1] + 1
    axes.pcolormesh(
        [d(t) for t in times],
        range(last - first),
        counts[first:last],
        cmap="Oranges",
        norm=colors.PowerNorm(0.5),
        shading="nearest",
    )
    axes.set_yticks(range(last - first), [f"≤ {units.text(b, 's')}" for b in bounds[first:last]])
    axes.xaxis_date()


def draw_timeseries(axes, panel, found):
    custom = panel["fieldConfig"]["defaults"]["custom"]
    if "stacking" in custom:
        base = {}
        for name, _, times, values in found:
            low = [base.get(t, 0.0) for t in times]
            high = [b + (v if math.isfinite(v) else 0) for b, v in zip(low, values)]
            axes.fill_between([d(t) for t in times], low, high, label=name, alpha=0.6)
            base.update(zip(times, high))
    else:
        for name, _, times, values in found:
            axes.plot([d(t) for t in times], values, label=name, linewidth=1)
    # A panel of zeros is drawn on a scale of 1.
    top = max((v for *_, values in found for v in values if math.isfinite(v)), default=0)
    axes.set_ylim(0, 1.4 * axes.get_ylim()[1] if top else 1)
    axes.yaxis.set_major_formatter(formatter(panel))
    axes.legend(fontsize=6, loc="upper left", ncols=2, framealpha=0.6)


def d(seconds: float):
    return dates.num2date(seconds / 86400)


DRAW = {
    "stat": draw_stat,
    "bargauge": draw_bargauge,
    "heatmap": draw_heatmap,
    "timeseries": draw_timeseries,
}


def draw_board(content, prometheus, start, end, file: Path):
    height = max(p["gridPos"]["y"] + p["gridPos"]["h"] for p in content["panels"])
    width_in, height_in = 24 * CELL_INCHES[0], (height + 1) * CELL_INCHES[1]
    figure = pyplot.figure(figsize=(width_in, height_in))
    figure.text(0.01, 1 - 0.6 / (height + 1), content["title"], fontsize=13, weight="bold")
    for panel in content["panels"]:
        grid = panel["gridPos"]
        top = 1 - (grid["y"] + 1) / (height + 1)
        if panel["type"] == "row":
            figure.text(0.01, top - 0.7 / (height + 1), panel["title"], fontsize=10, color="gray")
            continue
        axes = figure.add_axes(
            (
                (grid["x"] + 1.6) / 24,
                top - (grid["h"] - 0.8) / (height + 1),
                (grid["w"] - 2) / 24,
                (grid["h"] - 2) / (height + 1),
            )
        )
        axes.set_title(panel["title"], fontsize=8)
        axes.tick_params(labelsize=6)
        found = list(ranges(prometheus, panel, start, end))
        if found:
            DRAW[panel["type"]](axes, panel, found)
        else:
            axes.text(0.5, 0.5, "No data", ha="center", color="gray", transform=axes.transAxes)
            axes.set_xticks([])
            axes.set_yticks([])
        if found and panel["type"] in ("timeseries", "heatmap"):
            axes.set_xlim(d(start), d(end))
            axes.xaxis.set_major_formatter(dates.DateFormatter("%H:%M:%S"))
            axes.xaxis.set_major_locator(ticker.MaxNLocator(4))
    figure.savefig(file, dpi=80)
    pyplot.close(figure)


@contextlib.contextmanager
def scraped_live(binary, cli, deploy: Path):
    """(a Prometheus that scraped a server under load, the first second of that, the last)."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = record.start(binary, folder, "cpu")
        stack.callback(server.close)
        configuration = scraping(deploy, server.metrics_port, f"{STEP_SECONDS}s")
        prometheus = stack.enter_context(contextlib.closing(Prometheus(folder, configuration)))
        start = time.time()
        record.load_in_phases(cli, server, folder, "cpu")
        yield prometheus, start, time.time()


def main():
    *source, deploy, output = sys.argv[1:]
    deploy, output = Path(deploy), Path(output)
    if len(source) == 2:
        answering = scraped_live(*source, deploy)
    elif len(source) == 1:
        answering = played_back(lzma.decompress(Path(source[0]).read_bytes()).decode())
    else:
        sys.exit(__doc__)
    output.mkdir(exist_ok=True)
    with answering as (prometheus, start, end):
        for file in sorted((deploy / "grafana/dashboards").glob("*.json")):
            draw_board(dashboard.load(file), prometheus, start, end, output / f"{file.stem}.png")


if __name__ == "__main__":
    main()
