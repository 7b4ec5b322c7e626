"""One HTTP/2 connection of which the test decides every byte. Not for several threads.

gRPC's own clients are too polite for an attack: they open windows, acknowledge, and send messages
whole. Frames are RFC 9113's; headers come from hpack.
"""

import select
import socket
import struct
import threading
import time
from dataclasses import dataclass

import hpack
from waiting import GUARD_S

DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
ACK = END_STREAM = 0x1
END_HEADERS = 0x4
INITIAL_WINDOW_SIZE = 4  # a setting
FRAME_BYTES_MAX = 16384  # what every peer takes

OK, CANCELLED, INVALID_ARGUMENT, DEADLINE_EXCEEDED = 0, 1, 3, 4
RESOURCE_EXHAUSTED, UNAVAILABLE = 8, 14


def message(payload, announced=None):
    """A gRPC message; `announced` bytes, when it claims to be longer than it is."""
    return struct.pack(">BI", 0, len(payload) if announced is None else announced) + payload


class Sent:
    """What the attackers of this process have sent: connections, and bytes (before TLS)."""

    def __init__(self):
        self._lock = threading.Lock()
        self.connections = 0
        self.bytes = 0

    def add(self, connections=0, size=0):
        with self._lock:
            self.connections += connections
            self.bytes += size


SENT = Sent()


@dataclass
class Stream:
    """A call. `code` is its gRPC status; -1 if it was reset, or its connection ended, without."""

    window: int
    code: int | None = None
    text: str = ""
    received: int = 0  # bytes of its answers
    is_answered: bool = False  # by a message, or by its end


class RawConnection:
    """`window`: how many bytes of each answer the server may send; 0: none, ever.

    `address`: whom the server sees; any that begins with 127 is this host.
    """

    def __init__(self, port, window=65535, address="127.0.0.1"):
        self._socket = self._connect(port, address)
        SENT.add(connections=1)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._encoder, self._decoder = hpack.Encoder(), hpack.Decoder()
        self._input = bytearray()
        self._headers = b""
        self._window, self._stream_window = 65535, 65535  # what the server lets us send
        self.streams = {}
        self.closed = False
        self.is_going_away = False
        self._is_ponged = False
        preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        settings = struct.pack(">HI", INITIAL_WINDOW_SIZE, window)
        self._send(preface + self._frame(SETTINGS, 0, 0, settings))

    def _connect(self, port, address):
        """What the bytes go through: a TCP connection, or TLS over one."""
        return socket.create_connection(("127.0.0.1", port), source_address=(address, 0))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()

    def fileno(self):
        return self._socket.fileno()

    @staticmethod
    def _frame(kind, flags, stream, payload=b""):
        return struct.pack(">HBBBI", len(payload) >> 8, len(payload) & 255, kind, flags, stream) + (
            payload
        )

    def _send(self, data):
        try:
            self._socket.sendall(data)
        except OSError:
            self._end_all("the connection ended")
        else:
            SENT.add(size=len(data))

    def _end_all(self, text):
        self.closed = True
        for stream in self.streams.values():
            if stream.code is None:
                stream.code, stream.text = -1, text

    def _request(self, method):
        """The headers of a call."""
        return self._encoder.encode(
            [
                (":method", "POST"),
                (":scheme", "http"),
                (":path", method),
                (":authority", "localhost"),
                ("content-type", "application/grpc"),
                ("te", "trailers"),
            ]
        )

    def open(self, method):
        """Begins a call; the number of its stream."""
        number = 2 * len(self.streams) + 1
        block = self._request(method)
        self.streams[number] = Stream(self._stream_window)
        self._send(self._frame(HEADERS, END_HEADERS, number, block))
        return number

    def send(self, number, data, end=False, frame_bytes=FRAME_BYTES_MAX):
        """Sends `data` as flow control allows; whether the call was open to the end."""
        stream = self.streams[number]
        sent = 0
        while sent < len(data):
            if stream.code is not None:
                return False
            allowed = min(stream.window, self._window, len(data) - sent)
            if allowed <= 0:
                assert self.read(), "the server neither reads nor ends the call"
                continue
            batch = min(allowed, frame_bytes * 4096)
            self._send(
                b"".join(
                    self._frame(DATA, 0, number, data[i : min(i + frame_bytes, sent + batch)])
                    for i in range(sent, sent + batch, frame_bytes)
                )
            )
            sent += batch
            stream.window -= batch
            self._window -= batch
            self.read(0)
        if end:
            self._send(self._frame(DATA, END_STREAM, number))
        return stream.code is None

    def call(self, method, payload):
        """One whole unary call: (code, text)."""
        number = self.open(method)
        self.send(number, message(payload), end=True)
        return self.await_end(number)

    def await_end(self, number, guard_s=GUARD_S):
        """(code, text) of the call; AssertionError if nothing comes from the server for so long."""
        stream = self.streams[number]
        while stream.code is None:
            assert self.read(guard_s), f"stream {number} does not end"
        return stream.code, stream.text

    def open_calls(self):
        """How many the server has not ended."""
        return sum(stream.code is None for stream in self.streams.values())

    def waiting_calls(self):
        """How many have neither a message of the server's nor an end."""
        return sum(s.code is None and not s.is_answered for s in self.streams.values())

    def open_window(self, size, number=0):
        """Lets the server send so many more bytes on the stream; 0: on the connection."""
        self._send(self._frame(WINDOW_UPDATE, 0, number, struct.pack(">I", size)))

    def ping(self):
        """Waits until the server has read all that was sent, and says so."""
        self._is_ponged = False
        self._send(self._frame(PING, 0, 0, b"attacked"))
        while not self._is_ponged:
            assert self.read(), "the server does not answer a PING"

    def await_ends(self, guard_s=GUARD_S):
        """Reads until the server has ended all calls, or the guard's time; how many it has not."""
        give_up_at = time.monotonic() + guard_s
        while self.open_calls() and time.monotonic() < give_up_at:
            self.read(0.1)
        return self.open_calls()

    def codes(self):
        """The codes of the calls that have ended."""
        return {stream.code for stream in self.streams.values() if stream.code is not None}

    def read(self, wait_s=GUARD_S):
        """Takes what has come, after waiting for it; False if nothing came."""
        if self.closed or not select.select([self._socket], [], [], wait_s)[0]:
            return False
        try:
            data = self._socket.recv(1 << 20)
        except OSError:
            data = b""
        if not data:
            self._end_all("the connection ended")
            return True
        self._input += data
        while len(self._input) >= 9:
            high, low, kind, flags, number = struct.unpack_from(">HBBBI", self._input)
            size = high << 8 | low
            if len(self._input) < 9 + size:
                break
            payload = bytes(self._input[9 : 9 + size])
            del self._input[: 9 + size]
            self._take(kind, flags, number & 0x7FFFFFFF, payload)
        return True

    def read_for(self, pause_s):
        """Takes what comes in that time, which is a pause whatever comes."""
        end_at = time.monotonic() + pause_s
        while not self.closed and (left_s := end_at - time.monotonic()) > 0:
            self.read(left_s)

    def _take(self, kind, flags, number, payload):
        stream = self.streams.get(number)
        if kind == SETTINGS and not flags & ACK:
            self._take_settings(payload)
            self._send(self._frame(SETTINGS, ACK, 0))
        elif kind == PING and not flags & ACK:
            self._send(self._frame(PING, ACK, 0, payload))
        elif kind == PING:
            self._is_ponged = True
        elif kind == WINDOW_UPDATE:
            (more,) = struct.unpack(">I", payload)
            if stream:
                stream.window += more
            elif number == 0:
                self._window += more
        elif kind == GOAWAY:
            self.is_going_away = True
        elif kind == DATA and stream:
            stream.received += len(payload)
            stream.is_answered = True
        elif kind == HEADERS:  # gRPC's fit one frame
            fields = dict(self._decoder.decode(payload))
            if stream and stream.code is None and "grpc-status" in fields:
                stream.text = fields.get("grpc-message", "")
                stream.code = int(fields["grpc-status"])
        elif kind == RESET and stream and stream.code is None:
            stream.code, stream.text = -1, f"reset {struct.unpack('>I', payload)[0]}"

    def _take_settings(self, payload):
        for key, value in struct.iter_unpack(">HI", payload):
            if key == INITIAL_WINDOW_SIZE:
                for stream in self.streams.values():
                    stream.window += value - self._stream_window
                self._stream_window = value
