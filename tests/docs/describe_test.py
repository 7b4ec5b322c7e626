"""The picture of `warpfold describe` shows what the command prints of the demo's checkpoint.

The checkpoint is that of client/demo/requirements.txt, installed beside the running Python.
"""

import html
import os
import re
import sysconfig
from pathlib import Path

import describe
import pytest

ROOT = Path(__file__).resolve().parents[2]
# Times differ from run to run.
TIMING = re.compile(r"\d+(\.\d+)? ?(us|ms|s|MB/s|GB/s)\b")


@pytest.fixture(scope="module")
def printed():
    (model,) = Path(sysconfig.get_paths()["purelib"]).rglob("*.safetensors")
    return describe.described(Path(os.environ["WARPFOLD_BUILD"]), model)


def without_times(svg):
    text = re.sub(r' textLength="[^"]*"', "", svg)  # it follows the text
    text = re.sub(r'<svg[^>]*>', "<svg>", text)
    return TIMING.sub("TIME", html.unescape(text))


def test_the_picture_is_what_the_command_prints(printed):
    wanted = describe.drawn(describe.shortened(printed))
    found = describe.PICTURE.read_text(encoding="utf-8")
    assert without_times(found) == without_times(wanted), "run docs/pictures/describe.py"


def test_only_rows_are_left_out(printed):
    shown = describe.shortened(printed)
    (gap,) = (i for i, line in enumerate(shown) if line.startswith("... "))
    left_out = int(shown[gap].split()[1])
    assert len(shown) - 1 + left_out == len(printed)
    assert shown[:gap] == printed[:gap]
    assert shown[gap + 1 :] == printed[gap + left_out :]
