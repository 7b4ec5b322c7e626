"""The tables of measurements agree with themselves: a ratio is that of its row's two figures."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FIGURE = re.compile(r"^([\d,]+(?:\.(\d+))?) ?(us|ms|GB/s|requests/s)?"
                    r"(?: \((?:p50|p99|\d+ MiB)\))?$")
UNITS = {"us": 1.0, "ms": 1000.0, "GB/s": 1.0, "requests/s": 1.0}
TIMES = ("us", "ms")
# Of a table with these heads: where the two figures and the ratio are, and which way it goes.
SECOND_OVER_FIRST, SPEED_UP = "second over first", "speed-up of the first"
KINDS = {
    ("case", "null server", "warpfold", "ratio"): (1, 2, 3, SECOND_OVER_FIRST),
    ("case", "first, p50", "second, p50", "the second has"): (1, 2, 3, SECOND_OVER_FIRST),
    ("elements", "SUM on one core", "numpy.sum", "numpy.sum / ours"): (1, 2, 3, SPEED_UP),
}
# Heads of a README table whose first row is ours: a speed, and ours over it.
OURS_OVER_IT = "ours / its"
WORDS = {"times the time": SECOND_OVER_FIRST, "times the speed": "first over second"}


def interval(text):
    """(least, greatest, is a time) of what was rounded to this text, in the unit's base."""
    number, decimals, unit = FIGURE.match(text).groups()
    half = 0.5 * 10.0 ** -len(decimals or "")
    value, factor = float(number.replace(",", "")), UNITS.get(unit, 1.0)
    return (value - half) * factor, (value + half) * factor, unit in TIMES


def agrees(first, second, ratio, direction):
    """Whether the ratio may come of the two figures, by how all three were rounded."""
    a, b = interval(first), interval(second)
    words = ratio.split(" ", 1)
    if words[1:] == ["us more"]:
        low, high = b[0] - a[1], b[1] - a[0]
    else:
        direction = WORDS[words[1]] if words[1:] else direction
        if direction == "first over second" or (direction == SPEED_UP and not a[2]):
            a, b = b, a
        low, high = b[0] / a[1], b[1] / a[0]
    least, most, _ = interval(words[0])
    return low <= most and high >= least


def rows(page):
    """(heads, cells) of every row of every table."""
    heads = None
    for line in (ROOT / page).read_text(encoding="utf-8").splitlines():
        if not line.startswith("|"):
            heads = None
            continue
        cells = tuple(cell.strip() for cell in line.strip("|").split("|"))
        if heads is None:
            heads = cells
        elif set("".join(cells)) - set("- "):
            yield heads, cells


def test_a_ratio_is_that_of_its_row():
    page = "docs/measurements.md"
    found = [(KINDS[heads], cells) for heads, cells in rows(page) if heads in KINDS]
    assert len(found) >= 50
    wrong = [cells for (first, second, ratio, direction), cells in found
             if not agrees(cells[first], cells[second], cells[ratio], direction)]  # fmt: skip
    assert wrong == []


def test_a_ratio_of_the_readme_is_that_of_our_row_and_its_own():
    table = [(heads, cells) for heads, cells in rows("README.md") if OURS_OVER_IT in heads]
    ours = table[0][1]
    found = [(ours[at - 1], cells[at - 1], cells[at]) for heads, cells in table
             for at, head in enumerate(heads) if head == OURS_OVER_IT]
    assert len(found) >= 10
    assert [row for row in found if not agrees(row[1], row[0], row[2], SECOND_OVER_FIRST)] == []


@pytest.mark.parametrize(
    "first, second, ratio, direction, good",
    [
        ("79.62 us (p50)", "128.13 us (p50)", "1.61", SECOND_OVER_FIRST, True),
        ("79.62 us (p50)", "128.13 us (p50)", "1.85", SECOND_OVER_FIRST, False),
        ("2.00 GB/s", "4.44 GB/s", "2.22", SECOND_OVER_FIRST, True),
        ("4.44 GB/s", "2.00 GB/s", "2.22", SPEED_UP, True),
        ("3.981 ms (p50)", "1.155 ms (p50)", "3.45", SPEED_UP, False),
        ("937.26 us", "1.200 ms", "1.28", SPEED_UP, True),
        ("192.00 us", "484.80 us", "305 us more", SECOND_OVER_FIRST, False),
        ("192.00 us", "484.80 us", "293 us more", SECOND_OVER_FIRST, True),
        ("1.703 ms", "4.223 ms", "0.40 times the speed", SECOND_OVER_FIRST, True),
        ("1.703 ms", "4.223 ms", "0.40 times the time", SECOND_OVER_FIRST, False),
        ("0.29 (16 MiB)", "3,030", "10,400", SECOND_OVER_FIRST, True),
        ("2,370", "3,030", "1.35", SECOND_OVER_FIRST, False),
    ],
)
def test_a_ratio_of_another_row_is_found(first, second, ratio, direction, good):
    assert agrees(first, second, ratio, direction) == good
