"""SIGHUP while the files that it reads again are none."""

import contextlib
import os
import signal
import subprocess

import pytest
from findings import Findings
from honest import beside
from waiting import until

FILE_BYTES_MAX = 1 << 20  # more than any that makes sense
BOUND_MEMORY = ["prlimit", f"--as={3 << 30}"]  # of a server that reads on and on
REFUSED = 'warpfold_config_reloads_total{result="refused"}'


def make_folder(path):
    path.mkdir()


def make_fifo(path):
    os.mkfifo(path)


def make_loop(path):
    """No user may read it, root neither."""
    path.symlink_to(path)


def make_endless(path):
    """A file without an end."""
    path.symlink_to("/dev/zero")


def make_large(path):
    """1 TiB that takes no room."""
    path.touch()
    os.truncate(path, 1 << 40)


BAD_FILES = [make_folder, make_fifo, make_loop, make_endless, make_large]


def replace(path, make):
    path.unlink()
    make(path)


def expect_refused(server, findings, named):
    """SIGHUP is counted as refused, the log names the file, and nothing else happens."""

    def is_over():
        with contextlib.suppress(AssertionError):  # no page: perhaps the process is ending
            return server.sample(REFUSED) > 0
        return server.process.poll() is not None

    server.signal(signal.SIGHUP)
    try:
        until(is_over, "the reload")
    except AssertionError:
        findings.expect(False, "SIGHUP hangs")
    code = server.process.poll()
    findings.expect(code is None, f"the server ended with code {code}")
    if code is None:
        try:
            server.await_log_line(named)  # a thread of its own writes it
        except AssertionError:
            findings.expect(False, f"the log does not name {named.decode()}")
        findings.expect_memory(file=FILE_BYTES_MAX)


@pytest.mark.parametrize("make", BAD_FILES)
def test_a_configuration_that_is_no_file_changes_nothing(attack, tmp_path, make):
    config = tmp_path / "config.toml"
    config.write_text("max-requests-in-flight = 100\n")
    with attack(f"--config={config}", run_by=BOUND_MEMORY) as server:
        findings = Findings(server)
        replace(config, make)
        expect_refused(server, findings, b"config.toml")
        findings.expect_recovered()
        findings.report()


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
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


@pytest.mark.parametrize(
    ("which", "make"),
    [("certificate", make) for make in BAD_FILES] + [("key", make_folder), ("key", make_fifo)],
)
def test_a_certificate_that_is_no_file_changes_nothing(attack, tmp_path, pair, which, make):
    files = {"key": tmp_path / "key.pem", "certificate": tmp_path / "certificate.pem"}
    for path, text in zip(files.values(), pair):
        path.write_bytes(text)
    flags = (f"--tls-key={files['key']}", f"--tls-cert={files['certificate']}")
    with attack(*flags, run_by=BOUND_MEMORY) as server:
        server.pems = (pair[1],)
        findings = Findings(server)
        replace(files[which], make)
        with beside(server) as honest:
            expect_refused(server, findings, files[which].name.encode())
        findings.expect_honest(honest)
        findings.expect_recovered()
        findings.report()
