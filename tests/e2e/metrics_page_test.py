#!/usr/bin/env python3
"""The metrics page by TLS, and for callers alone, as Prometheus asks for it.

usage: WARPFOLD_SERVER=... metrics_page_test.py [unittest's arguments]
"""

import hashlib
import http.client
import os
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "client_python"))

from running_server import server_process  # noqa: E402

TOKEN = "token-of-the-monitor"
OTHER = "token-of-the-trainer"
TIMEOUT_S = 30


def openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def issue(folder, name, *subject):
    """NAME.pem and NAME.key, which sign themselves."""
    openssl(
        folder, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj",
        f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem", *subject,
    )  # fmt: skip


def line(name, token, scopes):
    return f"caller={name} token-sha256={hashlib.sha256(token.encode()).hexdigest()} {scopes}\n"


class MetricsPageTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        issue(self.folder, "localhost", "-addext", "subjectAltName=DNS:localhost")
        self.callers = self.folder / "callers"
        self.callers.write_text(
            line("monitor", TOKEN, "scopes=metrics") + line("trainer", OTHER, "scopes=reduce")
        )

    def tls_flags(self):
        return [f"--tls-cert={self.folder}/localhost.pem", f"--tls-key={self.folder}/localhost.key"]

    def serve(self, *flags, stderr=None):
        if not any(flag.startswith("--log-level=") for flag in flags):
            flags = ("--log-level=error", *flags)
        process, _, port = self.enterContext(server_process(*flags, stderr=stderr))
        self.process = process
        return port

    def enterContext(self, manager):  # noqa: N802, of Python 3.11's unittest
        entered = manager.__enter__()
        self.addCleanup(manager.__exit__, None, None, None)
        return entered

    def trusting(self):
        return ssl.create_default_context(cafile=self.folder / "localhost.pem")

    def ask(self, port, *, tls=None, authorization=None):
        """The answer's status and body."""
        if tls is None:
            connection = http.client.HTTPConnection("localhost", port, timeout=TIMEOUT_S)
        else:
            connection = http.client.HTTPSConnection(
                "localhost", port, context=tls, timeout=TIMEOUT_S
            )
        headers = {} if authorization is None else {"Authorization": authorization}
        connection.request("GET", "/metrics", headers=headers)
        answer = connection.getresponse()
        body = answer.read().decode()
        connection.close()
        self.challenge = answer.getheader("WWW-Authenticate")
        return answer.status, body

    def test_is_read_by_tls_and_not_in_the_clear(self):
        port = self.serve("--metrics-tls=on", *self.tls_flags())
        for _ in range(3):
            status, body = self.ask(port, tls=self.trusting())
            self.assertEqual(status, 200)
            self.assertIn("warpfold_ready 1", body)
        with self.assertRaises((http.client.HTTPException, OSError)):
            self.ask(port)
        with self.assertRaises(ssl.SSLError):
            self.ask(port, tls=ssl.create_default_context())

    def test_a_client_that_says_nothing_holds_nobody_up(self):
        port = self.serve("--metrics-tls=on", *self.tls_flags())
        silent = [socket.create_connection(("localhost", port)) for _ in range(70)]
        self.assertEqual(self.ask(port, tls=self.trusting())[0], 200)
        for connection in silent:
            connection.close()

    def test_a_certificate_that_was_renewed_serves_the_next(self):
        port = self.serve("--metrics-tls=on", *self.tls_flags())
        before = self.trusting()
        self.assertEqual(self.ask(port, tls=before)[0], 200)
        issue(self.folder, "localhost", "-addext", "subjectAltName=DNS:localhost")
        after = self.trusting()
        with self.assertRaises(ssl.SSLError):
            self.ask(port, tls=after)
        self.process.send_signal(signal.SIGHUP)
        while True:  # until the server has read it
            try:
                self.assertEqual(self.ask(port, tls=after)[0], 200)
                break
            except ssl.SSLError:
                continue
        with self.assertRaises(ssl.SSLError):
            self.ask(port, tls=before)

    def test_is_for_callers_with_the_scope(self):
        port = self.serve("--metrics-auth=on", f"--callers-file={self.callers}")
        self.assertEqual(self.ask(port, authorization=f"Bearer {TOKEN}")[0], 200)
        status, body = self.ask(port, authorization=f"Bearer {OTHER}")
        self.assertEqual((status, body), (403, "the caller lacks the scope metrics\n"))
        for shown in (None, "Bearer token-of-a-stranger", f"Basic {TOKEN}", TOKEN, ""):
            status, body = self.ask(port, authorization=shown)
            self.assertEqual(status, 401, shown)
            self.assertNotIn("warpfold_", body)
            self.assertEqual(self.challenge, "Bearer")
        # Who may call is read again.
        self.callers.write_text("caller=anonymous scopes=metrics\n")
        self.process.send_signal(signal.SIGHUP)
        while self.ask(port)[0] != 200:
            continue
        self.assertEqual(self.ask(port, authorization=f"Bearer {TOKEN}")[0], 401)

    def test_who_is_refused_is_in_the_log(self):
        log = self.folder / "log"
        with log.open("w") as stderr:
            port = self.serve(
                "--log-level=warning", "--metrics-auth=on", f"--callers-file={self.callers}",
                stderr=stderr,
            )  # fmt: skip
        self.assertEqual(self.ask(port, authorization=f"Bearer {OTHER}")[0], 403)
        self.process.terminate()  # which writes what waits
        self.process.wait(TIMEOUT_S)
        lines = log.read_text()
        self.assertRegex(lines, r'metrics page refused peer="127\.0\.0\.1:\d+" caller="trainer"')
        self.assertNotIn(OTHER, lines)

    def test_two_tokens_are_none(self):
        port = self.serve("--metrics-auth=on", f"--callers-file={self.callers}")
        with socket.create_connection(("localhost", port), timeout=TIMEOUT_S) as client:
            header = f"authorization: Bearer {TOKEN}\r\n"
            client.sendall(f"GET /metrics HTTP/1.1\r\n{header}{header}\r\n".encode())
            self.assertTrue(client.makefile("rb").readline().startswith(b"HTTP/1.1 401"))

    def test_a_certificate_is_a_caller(self):
        issue(self.folder, "monitor")
        issue(self.folder, "stranger")
        both = (self.folder / "monitor.pem").read_text() + (
            self.folder / "stranger.pem"
        ).read_text()
        (self.folder / "ca.pem").write_text(both)
        self.callers.write_text("caller=monitor certificate=monitor scopes=metrics\n")
        port = self.serve(
            "--metrics-tls=on", "--metrics-auth=on", f"--callers-file={self.callers}",
            f"--tls-client-ca={self.folder}/ca.pem", *self.tls_flags(),
        )  # fmt: skip

        def showing(name):
            tls = self.trusting()
            tls.load_cert_chain(self.folder / f"{name}.pem", self.folder / f"{name}.key")
            return tls

        self.assertEqual(self.ask(port, tls=showing("monitor"))[0], 200)
        self.assertEqual(self.ask(port, tls=showing("stranger"))[0], 401)
        with self.assertRaises((ssl.SSLError, http.client.HTTPException, OSError)):
            self.ask(port, tls=self.trusting())

    def test_what_it_needs_is_said_at_the_start(self):
        for flag, needs in (
            ("--metrics-tls=on", b"metrics-tls: needs tls-cert and tls-key"),
            ("--metrics-auth=on", b"metrics-auth: needs callers-file"),
        ):
            ended = subprocess.run(
                [os.environ["WARPFOLD_SERVER"], flag], stderr=subprocess.PIPE, timeout=TIMEOUT_S
            )
            self.assertNotEqual(ended.returncode, 0)
            self.assertIn(needs, ended.stderr)


if __name__ == "__main__":
    unittest.main()
