"""TLS, with a certificate that is made for the test."""

import subprocess
from concurrent import futures

import grpc
import pytest
from fake_server import FakeServer

import warpfold


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """(key, certificate) of localhost, signed by itself, good for a day."""
    folder = tmp_path_factory.mktemp("tls")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 1"
    subprocess.run(
        command.split()
        + ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
        + ["-keyout", key, "-out", certificate],
        check=True,
        capture_output=True,
    )
    return key.read_bytes(), certificate.read_bytes()


@pytest.fixture
def tls_server(certificate):
    with FakeServer(grpc.ssl_server_credentials([certificate])) as server:
        yield server


def test_credentials_switch_tls_on(tls_server, certificate, either_client):
    credentials = grpc.ssl_channel_credentials(certificate[1])
    client = either_client(tls_server.target, credentials=credentials)
    assert client.sum([1.0, 2.0]) == 3.0


@pytest.mark.parametrize("credentials", [None, grpc.ssl_channel_credentials()])
def test_a_connection_that_is_not_trusted_is_unavailable(tls_server, either_client, credentials):
    with pytest.raises(warpfold.UnavailableError):
        either_client(tls_server.target, credentials=credentials)


def test_a_unix_socket_has_none(either_client, tmp_path):
    server = grpc.server(futures.ThreadPoolExecutor(1))
    target = f"unix:{tmp_path}/a.sock"
    server.add_insecure_port(target)
    server.start()
    try:
        with pytest.raises(warpfold.UnavailableError, match="UNIX sockets: leave credentials= out"):
            either_client(target, credentials=grpc.ssl_channel_credentials())
    finally:
        server.stop(None)
