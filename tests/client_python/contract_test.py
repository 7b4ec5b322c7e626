"""proto/ is the only source of truth: what the package carries of it is what protoc makes of it."""

import re
import shutil
import subprocess
import typing
from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2

import warpfold
from warpfold import _contract

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "client" / "python" / "warpfold"
MAKE = ROOT / "tools" / "catalogue" / "contract.sh"


@pytest.mark.skipif(shutil.which("protoc") is None, reason="protoc is not installed")
def test_the_descriptors_are_those_of_the_proto(tmp_path):
    made = tmp_path / "contract.binpb"
    subprocess.run([MAKE, made], check=True)
    read = descriptor_pb2.FileDescriptorSet.FromString
    carried = (PACKAGE / "contract.binpb").read_bytes()
    assert read(made.read_bytes()) == read(carried), "run: make catalogue"


def test_the_names_for_type_checkers_are_the_contracts():
    assert typing.get_args(warpfold.Op) == tuple(_contract.OPS)


def test_the_limits_are_the_contracts():
    limits = _contract.GetServerInfoResponse.DESCRIPTOR.fields_by_name["limits"].message_type
    assert warpfold.Limits._fields == tuple(field.name for field in limits.fields)


def test_the_version_is_the_projects():
    (version,) = re.findall(
        r"project\(warpfold VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text()
    )
    assert warpfold.__version__ == version


def test_the_license_is_the_projects():
    # A copy, because an sdist would carry a link that leads out of it.
    assert (PACKAGE.parent / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
