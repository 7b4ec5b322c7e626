"""The page of the package, as an index would show it, has no link into the source tree."""

import email
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="PyPI's hatchling builds the package")

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "client" / "python"
LINK = re.compile(r"\[[^\]]*\]\(([^)]*)\)")
SOURCE_URL = "https://example.org/warpfold/blob/main"


def built(kind, source, folder, **variables):
    """The wheel or sdist of `source`, made in `folder`."""
    environment = {k: v for k, v in os.environ.items() if k != "WARPFOLD_SOURCE_URL"}
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", kind, "--directory", folder],
        cwd=source,
        env={**environment, **variables},
        check=True,
        stdout=subprocess.DEVNULL,
        timeout=60,
    )
    (made,) = folder.iterdir()
    return made


def page(wheel):
    with zipfile.ZipFile(wheel) as files:
        (name,) = [name for name in files.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = email.message_from_bytes(files.read(name))
    assert metadata["Description-Content-Type"] == "text/markdown"
    return metadata.get_payload()


def test_links_lead_to_where_the_source_is_read(tmp_path):
    shown = page(built("wheel", PACKAGE, tmp_path, WARPFOLD_SOURCE_URL=SOURCE_URL))
    links = LINK.findall(shown)
    assert f"{SOURCE_URL}/client/python/NUMPY.md" in links
    assert f"{SOURCE_URL}/docs/clients.md#a-server-that-hangs" in links
    assert [link for link in links if not link.startswith("https://")] == []
    for link in links:
        assert (ROOT / link.removeprefix(f"{SOURCE_URL}/").partition("#")[0]).is_file()


def test_without_an_address_there_are_names_and_no_links(tmp_path):
    shown = page(built("wheel", PACKAGE, tmp_path))
    assert LINK.findall(shown) == []
    assert "shared_memory.md" in shown


def test_a_wheel_of_an_sdist_has_its_page(tmp_path):
    sdist = built("sdist", PACKAGE, tmp_path / "sdist", WARPFOLD_SOURCE_URL=SOURCE_URL)
    unpacked = tmp_path / "source"
    unpacked.mkdir()
    subprocess.run(["tar", "-xf", sdist, "-C", unpacked], check=True, timeout=60)
    (source,) = unpacked.iterdir()
    again = built("wheel", source, tmp_path / "again")
    direct = built("wheel", PACKAGE, tmp_path / "direct", WARPFOLD_SOURCE_URL=SOURCE_URL)
    assert page(again) == page(direct)
