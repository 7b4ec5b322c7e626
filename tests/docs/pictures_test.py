"""The diagrams of docs/ are drawn from the text beside them, and name folders that are there."""

import hashlib
import html
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "docs" / "pictures").glob("*.dot"))


def test_there_are_diagrams():
    assert SOURCES


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_a_diagram_is_drawn_from_its_source(source):
    picture = source.with_suffix(".svg").read_text(encoding="utf-8")
    (name, digest), = re.findall(r"<!-- drawn from (\S+), sha256 (\w+) -->", picture)  # fmt: skip
    wanted = hashlib.sha256(source.read_bytes()).hexdigest()
    assert (name, digest) == (source.name, wanted), "run docs/pictures/draw.sh"
    drawn = "\n".join(html.unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)<", picture))
    for label in re.findall(r'label="([^"]+)"', source.read_text(encoding="utf-8")):
        for line in label.split(r"\n"):
            assert line.strip() in drawn, "run docs/pictures/draw.sh"


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_the_folders_that_a_diagram_names_are_there(source):
    named = re.findall(r"\b(?:server|kernels|client|proto)(?:/\w+)+", source.read_text("utf-8"))
    assert named
    for folder in named:
        assert (ROOT / folder).is_dir(), folder
