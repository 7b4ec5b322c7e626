"""Which server `connect` means: its argument, the environment, and the port that they leave out."""

import re

import pytest

import warpfold
from warpfold._target import chosen_target, with_default_port


@pytest.mark.parametrize(
    "target, whole",
    [
        ("localhost", "localhost:50051"),
        ("10.0.0.1", "10.0.0.1:50051"),
        ("[::1]", "[::1]:50051"),
        ("::1", "[::1]:50051"),
        ("dns:a", "dns:a:50051"),
        ("dns:///a.b", "dns:///a.b:50051"),
        ("dns://8.8.8.8/a", "dns://8.8.8.8/a:50051"),
        ("dns://8.8.8.8:53/a", "dns://8.8.8.8:53/a:50051"),
        ("ipv4:10.0.0.1", "ipv4:10.0.0.1:50051"),
        ("ipv4:10.0.0.1:7,10.0.0.2", "ipv4:10.0.0.1:7,10.0.0.2:50051"),
        ("ipv4:///10.0.0.1", "ipv4:///10.0.0.1:50051"),
        ("ipv6:[::1],[::2]:7", "ipv6:[::1]:50051,[::2]:7"),
    ],
)
def test_an_address_without_a_port_gets_it(target, whole):
    assert with_default_port(target) == with_default_port(whole) == whole


@pytest.mark.parametrize(
    "target",
    ["", ":", "a:", ":7", "a:https", "[::1", "[::1]7", "ipv4:", "dns:", "dns:///", "dns://a"]
    + ["unix:/run/a", "unix:a", "unix:///run/a", "unix-abstract:a", "vsock:2", "xds:///a", "a/b"],
)
def test_what_has_no_port_or_is_no_target_stays(target):
    assert with_default_port(target) == target


def test_a_connection_goes_there():
    # An address of the loopback on which nobody listens; the error names what was tried.
    with pytest.raises(warpfold.UnavailableError, match=r"^127\.77\.0\.1:50051: "):
        warpfold.connect("127.77.0.1", retry=warpfold.RetryPolicy(attempts_max=1))


def test_the_environment_names_the_server(fake, either_client, monkeypatch):
    monkeypatch.setenv("WARPFOLD_TARGET", fake.target)
    assert either_client(None).sum([1.0, 2.0]) == 3.0
    monkeypatch.setenv("WARPFOLD_TARGET", "127.0.0.1:1")
    assert either_client(fake.target).sum([1.0]) == 1.0


def test_connect_without_arguments(fake, monkeypatch):
    monkeypatch.setenv("WARPFOLD_TARGET", fake.target)
    with warpfold.connect() as client:
        assert client.target == fake.target


@pytest.mark.parametrize("target", [None, ""])
@pytest.mark.parametrize("value", [None, ""])
def test_nothing_said_is_this_host(monkeypatch, target, value):
    monkeypatch.delenv("WARPFOLD_TARGET", raising=False)
    if value is not None:
        monkeypatch.setenv("WARPFOLD_TARGET", value)
    assert chosen_target(target) == "localhost:50051"
    monkeypatch.setenv("WARPFOLD_TARGET", "elsewhere")
    assert chosen_target(target) == "elsewhere:50051"


@pytest.mark.parametrize(
    "target, scheme, instead",
    [
        ("http://host:7", "http", "host:7"),
        ("https://host/", "https", "host:50051"),
        ("grpc://[::1]:7/path", "grpc", "[::1]:7"),
        ("tcp://host", "tcp", "host:50051"),
    ],
)
def test_a_url_names_the_scheme_to_drop(either_client, monkeypatch, target, scheme, instead):
    words = f"^target is '{target}', a URL; pass it without {scheme}://, as '{instead}'"
    with pytest.raises(ValueError, match=re.escape(words).replace(r"\^", "^")):
        either_client(target)
    monkeypatch.setenv("WARPFOLD_TARGET", target)
    with pytest.raises(ValueError, match=f"without {scheme}://"):
        chosen_target(None)


@pytest.mark.parametrize("target", ["/run/a.sock", "./a", "../a:7"])
def test_a_path_names_the_target_of_a_socket_there(either_client, target):
    words = f"target is '{target}', a path; a UNIX socket there is 'unix:{target}'"
    with pytest.raises(ValueError, match=f"^{re.escape(words)}$"):
        either_client(target)


@pytest.mark.parametrize("port", [0, 65536, 99999, 10**30])
@pytest.mark.parametrize("form", ["a:{}", "[::1]:{}", "dns:///a:{}", "ipv4:10.0.0.1:7,10.0.0.2:{}"])
def test_a_port_that_no_address_has_is_not_taken_for_another(either_client, form, port):
    with pytest.raises(ValueError, match=f"a port is from 1 to 65535, not {port}$"):
        either_client(form.format(port))


@pytest.mark.parametrize("form", ["a:{}", "[::1]:{}", "dns:///a:{}", "ipv4:10.0.0.1:7,10.0.0.2:{}"])
@pytest.mark.parametrize("port", ["7abc", "7 0", "-1", "+1", " 7", "", "1.5", "\u0667", "7/path"])
def test_what_is_no_port_names_the_target(either_client, form, port):
    target = form.format(port)
    words = f"^target is {target!r}, but a port is from 1 to 65535, not {port or 'nothing'}$"
    with pytest.raises(ValueError, match=re.escape(words).replace(r"\^", "^").replace(r"\$", "$")):
        either_client(target)


@pytest.mark.parametrize("target", ["unix:1/a", "vsock:2:7", "xds:///a:b", "dns:a", "a:http-alt"])
def test_what_is_no_address_with_a_port_is_none(target):
    assert chosen_target(target) == with_default_port(target)


@pytest.mark.parametrize("target", ["a:1", "a:65535", "::99999", "a:https", "unix:/a:99999"])
def test_other_targets_are_left_to_grpc(target):
    assert chosen_target(target) == with_default_port(target)


@pytest.mark.parametrize("target", [50051, b"localhost:50051", ["a:1", "b:1"]])
def test_what_is_no_text_is_no_target(either_client, target):
    with pytest.raises(TypeError, match="^target is .*, but must be a str"):
        either_client(target)
