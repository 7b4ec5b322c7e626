"""nginx in front of an attacked server, by the files of deploy/edge, and who attacks it.

Paths, port and user are this test's; all else is what is shipped.
"""

import contextlib
import os
import pwd
import shutil
import socket
import ssl
import struct
import subprocess
import tempfile
from pathlib import Path

import grpc
import hpack
from raw_http2 import (
    DATA,
    END_HEADERS,
    END_STREAM,
    FRAME_BYTES_MAX,
    HEADERS,
    RESET,
    RawConnection,
    Stream,
)
from waiting import GUARD_S, until

SHIPPED = Path(__file__).resolve().parents[2] / "deploy/edge"
SOCKET = "unix:/run/warpfold/edge.sock"
NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
CONTINUATION = 9
TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")  # nginx makes a folder for each


class Certificates:
    """An authority, the edge's certificate, and one for each client; `stranger` signs itself."""

    def __init__(self, folder):
        self._folder = folder
        # Python 3.13 trusts no authority that does not say what its key is for.
        self._issue("ca", "-addext", "keyUsage=critical,keyCertSign")
        for name in ("localhost", "trainer", "guest"):
            not_one = ("-addext", "basicConstraints=critical,CA:FALSE")
            self._issue(name, "-CA", "ca.pem", "-CAkey", "ca.key", *not_one)
        self._issue("stranger")

    def _issue(self, name, *others):
        curve = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1"
        names = ["-addext", f"subjectAltName=DNS:{name}"] if name == "localhost" else []
        files = ["-keyout", f"{name}.key", "-out", f"{name}.pem"]
        subprocess.run(
            ["openssl", "req", "-x509", *curve.split(), "-noenc", "-days", "1"]
            + ["-subj", f"/CN={name}", *names, *files, *others],
            cwd=self._folder,
            check=True,
            capture_output=True,
        )

    def path(self, name):
        return self._folder / name

    def pems(self, name=None):
        """What grpc.ssl_channel_credentials takes, of who shows that certificate."""
        files = ["ca.pem", *(f"{name}.{end}" for end in ("key", "pem") if name)]
        return tuple(self.path(file).read_bytes() for file in files)

    def credentials(self, name=None):
        """gRPC's, of who shows that certificate; of who shows none."""
        return grpc.ssl_channel_credentials(*self.pems(name))

    def context(self, name="guest"):
        """Python's, of HTTP/2."""
        made = ssl.create_default_context(cafile=self.path("ca.pem"))
        made.set_alpn_protocols(["h2"])
        made.load_cert_chain(self.path(f"{name}.pem"), self.path(f"{name}.key"))
        return made


class Edge:
    """A running nginx."""

    def __init__(self, port, process, certificates):
        self.port = port
        self.certificates = certificates
        self.process = process

    def workers(self):
        pid = self.process.pid
        return [int(w) for w in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def _sum(self, field):
        """KiB of all workers together, as bytes."""
        lines = [
            line
            for worker in self.workers()
            for line in Path(f"/proc/{worker}/status").read_text().splitlines()
            if line.startswith(f"{field}:")
        ]
        return sum(int(line.split()[1]) for line in lines) << 10

    def rss(self):
        return self._sum("VmRSS")

    def peak_rss(self):
        """The most that each worker has held, together: no less than the most at one time."""
        return self._sum("VmHWM")

    def forget_peak(self):
        for worker in self.workers():
            Path(f"/proc/{worker}/clear_refs").write_text("5")

    def descriptors(self):
        return sum(len(os.listdir(f"/proc/{worker}/fd")) for worker in self.workers())

    def connect(self, name="guest", **others):
        return EdgeConnection(self.port, self.certificates.context(name), **others)


def rendered(folder, port, changes):
    text = (SHIPPED / "nginx.conf").read_text()
    temporary = "".join(f"    {kind}_temp_path {folder}/{kind};\n" for kind in TEMPORARY)
    ours = {
        "user www-data;": f"user {pwd.getpwuid(os.getuid()).pw_name};",
        "pid /run/nginx.pid;": f"pid {folder}/pid;",
        f"server {SOCKET};": f"server unix:{folder}/edge.sock;",
        "/run/secrets/tls_cert;": f"{folder}/localhost.pem;",
        "/run/secrets/tls_key;": f"{folder}/localhost.key;",
        "/run/secrets/tls_ca;": f"{folder}/ca.pem;",
        "/run/secrets/certificates.map;": f"{folder}/certificates.map;",
        "listen 8443 ": f"listen 127.0.0.1:{port} ",
        "listen unix:/run/nginx-edge.sock ": f"listen unix:{folder}/tls.sock ",
        "proxy_pass unix:/run/nginx-edge.sock;": f"proxy_pass unix:{folder}/tls.sock;",
        "http {\n": f"http {{\n{temporary}",
    }
    for shipped, here in {**ours, **changes}.items():
        assert text.count(shipped) == 1, f"{shipped!r} is {text.count(shipped)} times in nginx.conf"
        text = text.replace(shipped, here)
    return text


@contextlib.contextmanager
def running_edge(folder, certificates, changes):
    """An Edge in front of folder/edge.sock; `changes` are of its configuration's text."""
    with contextlib.ExitStack() as stack:
        # Nobody else gets the port while nginx, which shares it by reuseport, starts.
        held = stack.enter_context(socket.socket())
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        path = folder / "nginx.conf"
        path.write_text(rendered(folder, port, changes))
        log = stack.enter_context(open(folder / "nginx.log", "wb"))
        command = [NGINX, "-e", "stderr", "-c", path, "-g", "daemon off;"]
        process = subprocess.Popen(command, stderr=log)
        stack.callback(process.wait)
        stack.callback(process.terminate)  # the workers end with it

        def answers():
            ended = process.poll() is not None
            assert not ended, f"nginx does not start: {(folder / 'nginx.log').read_text()}"
            with contextlib.suppress(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port), GUARD_S).close()
                return True

        until(answers, "nginx")
        held.close()
        yield Edge(port, process, certificates)


@contextlib.contextmanager
def served_by_an_edge(attack, *flags, changes=None, callers="", map_lines="", **others):
    """(AttackedServer, Edge): the server at the edge's socket, whose honest clients come by it.

    `callers` and `map_lines` are added to the files of these names.
    """
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        certificates = Certificates(folder)
        map_text = (SHIPPED / "certificates.map").read_text()
        (folder / "certificates.map").write_text(map_text + map_lines)
        address = f"unix:{folder}/edge.sock"
        callers_text = (SHIPPED / "callers").read_text()
        assert callers_text.count(SOCKET) == 1, "callers does not name the socket"
        (folder / "callers").write_text(callers_text.replace(SOCKET, address) + callers)
        server = stack.enter_context(
            attack(
                f"--listen-address={address} mode=0600",
                f"--callers-file={folder}/callers",
                *flags,
                **others,
            )
        )
        edge = stack.enter_context(running_edge(folder, certificates, changes or {}))
        server.port, server.pems = edge.port, certificates.pems("guest")
        yield server, edge


class _Tls:
    """A TLS connection that keeps nothing which has come from who waits by select."""

    def __init__(self, context, plain):
        self._tls = context.wrap_socket(plain, server_hostname="localhost")
        self._tls.settimeout(GUARD_S)

    def recv(self, size):
        data = self._tls.recv(size)
        while pending := self._tls.pending():
            data += self._tls.recv(pending)
        return data

    def __getattr__(self, name):
        return getattr(self._tls, name)


class EdgeConnection(RawConnection):
    """A RawConnection by TLS."""

    def __init__(self, port, context, **others):
        self._context = context
        super().__init__(port, **others)

    def _connect(self, port, address):
        return _Tls(self._context, super()._connect(port, address))

    def _send_until_closed(self, data, bytes_max):
        """Sends it over and over; how many bytes went."""
        sent = 0
        while sent < bytes_max and not self.closed:
            self._send(data)
            self.read(0)
            sent += len(data)
        return sent

    def send_endless_header(self, bytes_max):
        """One header whose value does not end, in HEADERS and CONTINUATION frames."""
        # A literal, not indexed, of the name "x" and a value of 2^28 bytes.
        block = b"\x00\x01x\x7f" + hpack.hpack.encode_integer((1 << 28) - 127, 7)[1:] + b"a" * 64
        self._send(self._frame(HEADERS, 0, 1, block))
        frame = self._frame(CONTINUATION, 0, 1, b"a" * FRAME_BYTES_MAX)
        return self._send_until_closed(frame, bytes_max)

    def send_endless_headers(self, bytes_max):
        """Whole small headers, in CONTINUATION frames without an end."""
        self._send(self._frame(HEADERS, 0, 1, self._request("/endless")))
        frame = self._frame(CONTINUATION, 0, 1, b"\x00\x01x\x01a" * 200)
        return self._send_until_closed(frame, bytes_max)

    def open_with(self, method, data):
        """A whole request within the windows of a new stream, without a look at what has come."""
        number = 2 * len(self.streams) + 1
        self.streams[number] = Stream(0)
        headers = self._frame(HEADERS, END_HEADERS, number, self._request(method))
        self._send(headers + self._frame(DATA, END_STREAM, number, data))

    def begin_and_reset(self, method, count, batch=500):
        """So many calls, each reset by the next frame; how many went before the connection did."""
        sent = 0
        cancel = struct.pack(">I", 8)
        while sent < count and not self.closed and not self.is_going_away:
            frames = []
            for _ in range(min(batch, count - sent)):
                number = 2 * len(self.streams) + 1
                self.streams[number] = Stream(0, code=-1)
                frames.append(self._frame(HEADERS, END_HEADERS, number, self._request(method)))
                frames.append(self._frame(RESET, 0, number, cancel))
            self._send(b"".join(frames))
            sent += len(frames) // 2
            self.read(0)
        return sent
