"""Clients that show who they are, at the real server."""

import hashlib
import pickle

import grpc
import numpy as np
import pytest
import warpfold
from running_server import running_server
from warpfold._owners import Owner, dead_owners

TOKEN = "token-of-the-trainer"
OTHER = "token-of-the-monitor"


def line(name, token, scopes):
    digest = hashlib.sha256(token.encode()).hexdigest()
    return f"caller={name} token-sha256={digest} scopes={scopes}\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("callers")
    callers = {
        "trainer": (TOKEN, "reduce,resident"),
        "monitor": (OTHER, "resident"),
        "reader": ("token-of-the-reader", "reduce"),
    }
    lines = "".join(line(name, *caller) for name, caller in callers.items())
    (folder / "callers").write_text(lines)
    for name, (token, _) in callers.items():
        (folder / name).write_text(f"{token}\n")
    return folder


@pytest.fixture(scope="module")
def asking_server(folder):
    with running_server(f"--callers-file={folder / 'callers'}") as target:
        yield target


def test_every_call_of_a_caller_is_served(asking_server, folder, either_client):
    client = either_client(
        asking_server, token_file=folder / "trainer", stream_threshold_bytes=4000
    )
    for count in (3, 5000):  # in one message, and streamed
        assert client.sum(np.ones(count, np.float32)) == count


def test_the_variable_names_the_file(asking_server, folder, monkeypatch):
    monkeypatch.setenv("WARPFOLD_TOKEN_FILE", str(folder / "trainer"))
    with warpfold.connect(asking_server) as client:
        assert client.sum([1.0, 2.0]) == 3.0
        with client.put(np.arange(4, dtype=np.int32)) as tensor:
            assert tensor.sum() == 6


def test_who_shows_no_token_is_refused(asking_server, either_client):
    with pytest.raises(warpfold.UnauthenticatedError, match="is missing.*token_file=") as refused:
        either_client(asking_server)
    assert refused.value.code is grpc.StatusCode.UNAUTHENTICATED


def test_a_missing_scope_is_named(asking_server, folder, either_client):
    client = either_client(asking_server, token_file=folder / "monitor")
    with pytest.raises(warpfold.PermissionDeniedError, match="lacks the scope reduce") as refused:
        client.sum([1.0])
    assert refused.value.code is grpc.StatusCode.PERMISSION_DENIED


def test_a_pickled_client_has_the_files_name_and_not_the_token(asking_server, folder):
    with warpfold.connect(asking_server, token_file=folder / "trainer") as client:
        pickled = pickle.dumps(client)
        assert TOKEN.encode() not in pickled
        assert TOKEN not in repr(client) + repr(client._options)
    with pickle.loads(pickled) as there:
        assert there.sum([1.0, 2.0]) == 3.0


@pytest.mark.parametrize("readers", ["reader", ("somebody", "reader"), ["any"]])
def test_a_tensor_is_its_owners_and_its_readers(asking_server, folder, readers):
    with (
        warpfold.connect(asking_server, token_file=folder / "trainer") as owner,
        warpfold.connect(asking_server, token_file=folder / "reader") as reader,
        owner.put(np.arange(4, dtype=np.int32)) as own,
        owner.put(np.arange(4, dtype=np.int32), readers=readers) as shown,
    ):

        def as_reader(tensor):
            return warpfold.RemoteTensor(reader, tensor.shape, tensor.dtype, tensor.id, tensor.ttl)

        assert as_reader(shown).sum() == 6
        with pytest.raises(warpfold.NotFoundError):
            as_reader(own).sum()
        assert own.sum() == shown.sum() == 6


def test_readers_that_are_none_are_named(asking_server, folder, either_client):
    client = either_client(asking_server, token_file=folder / "trainer")
    with pytest.raises(ValueError, match=r"readers\[1\]: a name has 1 to 64 letters"):
        client.put([1.0], readers=["monitor", "two words"])


@pytest.mark.parametrize("content", ["", "\n", "two words", "\u00e4"])
def test_what_is_no_token_is_said_and_not_shown(tmp_path, content):
    path = tmp_path / "token"
    path.write_text(content)
    with pytest.raises(ValueError, match="token_file is ") as wrong:
        warpfold.connect("localhost:1", token_file=path)
    assert not content.strip() or content not in str(wrong.value).replace(str(path), "")


def test_an_empty_name_is_no_file():
    with pytest.raises(ValueError, match="token_file is ''"):
        warpfold.connect("localhost:1", token_file="")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        warpfold.connect("localhost:1", token_file=tmp_path / "nowhere")


def test_what_another_caller_left_is_not_taken_for_ones_own():
    prefix = "/warpfold-test-"
    dead = Owner(prefix, "token-file-of-a")
    dead.leave()
    for other in ("token-file-of-b", None):
        assert dead_owners(prefix, other) == []
    found = dead_owners(prefix, "token-file-of-a")
    assert dead.name in [owner.name for owner in found]
    for owner in found:
        owner.end()
