"""The table of attacks has a row for each test, and its figures are those of the results."""

import json

import pytest
from quote import attacks

NAME = "tiny_frames_test.py::test_tiny_frames_are_charged_what_they_hold"
LATENCIES = {"reduce": {"calls": 1234, "p50_ms": 0.4, "p99_ms": 2.345}}
ROW = {
    "attack": NAME,
    "sent": {"connections": 1, "bytes": 20_000_368},
    "server": {"warm_mib": 40.0, "peak_mib": 237.6, "bound_mib": 298.3},
    "without": LATENCIES,
    "with": LATENCIES,
    "failed": 0,
    "tried_again": 3,
    "recovered_s": 0.038,
    "faults": ["RSS came to 999 MiB"],
}
HEAD = {
    "processor": "P",
    "processors": {"all": 16, "server": 8, "honest": 4, "attackers": 4},
    "date": "2026-11-29",
    "commit": "c",
    "grpc": "1.51",
    "command": "tests/attacks/measure.py",
}


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Writes the named attacks into the first of the files that may be quoted."""
    monkeypatch.setattr(attacks, "RESULTS", tmp_path)
    monkeypatch.setattr(
        attacks, "load", lambda name: json.loads((tmp_path / name).read_text(encoding="utf-8"))
    )

    def write(*rows):
        text = json.dumps(HEAD | {"attacks": rows})
        (tmp_path / attacks.FILES[0]).write_text(text, encoding="utf-8")

    return write


def rows_of(lines):
    return [line for line in lines if line.startswith("| ")][1:]


def test_each_test_has_a_row_measured_or_not(results):
    results(ROW, ROW | {"attack": "edge_test.py::test_tiny_frames_are_put_together", "faults": []})
    rows = [*rows_of(attacks.server_lines()), *rows_of(attacks.edge_lines())]
    names = attacks.names_of_tests()
    assert len(names) >= 75
    for name in names:
        test = name.partition("::test_")[2]
        assert sum(f"[`{test}`]" in row for row in rows) == 1, test


def test_a_row_has_its_figures_and_what_did_not_hold(results):
    results(ROW)
    lines = attacks.server_lines()
    assert "16 processors, P: 8 for the server, 4 for the honest client" in lines[0]
    (at,) = (i for i, line in enumerate(lines) if "tiny_frames_are_charged" in line)
    cells = [cell.strip() for cell in lines[at].strip("|").split("|")]
    assert cells[1:8] == ["1, 19.1 MiB", "238 of 298", "2.35, 2.35 (1,234)", "-", "0", "3", "0.04"]
    assert lines[at + 1].startswith("| **does not hold**: RSS came to 999 MiB |")


def test_a_test_without_words_is_told(results, monkeypatch):
    results(ROW)
    names = [*attacks.names_of_tests(), "new_test.py::test_new"]
    monkeypatch.setattr(attacks, "names_of_tests", lambda: names)
    with pytest.raises(SystemExit, match="new_test.py::test_new"):
        attacks.server_lines()


def test_no_results_are_told(results):
    results(ROW)
    with pytest.raises(SystemExit, match="at the edge"):
        attacks.edge_lines()
