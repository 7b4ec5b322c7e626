"""How a dashboard's values are written, by Grafana's names of units."""

import math

SYMBOLS = {"s": "s", "bytes": "B", "Bps": "B/s", "reqps": "req/s", "ops": "/s", "watt": "W"}
LARGE = ["", "k", "M", "G", "T", "P"]
SMALL = ["m", "µ", "n"]
# As Grafana does: a twentieth of a request a second is 0.05 req/s, nobody reads 50 mreq/s.
SCALED_DOWN = {"s", "watt"}


def text(value: float, unit: str) -> str:
    """The value with its unit: 12.5 MB/s, 3 ms, 0.05 req/s, 5%."""
    if unit == "percentunit":
        return f"{100 * value:.4g}%"
    smallest = -len(SMALL) if unit in SCALED_DOWN else 0
    power = math.floor(math.log10(abs(value)) / 3) if value else 0
    power = min(max(power, smallest), len(LARGE) - 1)
    prefix = LARGE[power] if power >= 0 else SMALL[-power - 1]
    return f"{value / 1000**power:.4g} {prefix}{SYMBOLS.get(unit, '')}".rstrip()
