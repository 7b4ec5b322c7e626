"""gRPC calls frame by frame over HTTP/2, so that an answer is the server's own, to the byte.

A gRPC library would answer some faults itself (deadlines, sizes, compression), and cannot send
others (half a message, a stream that stays open behind a drain). One connection and everything on
it belong to one thread; nothing runs beside it, so the order of what is sent is what the test says.
"""

import socket
import struct
import urllib.parse

import hpack

DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY, WINDOW, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
ACK = END_STREAM = 1
END_HEADERS, PADDED, PRIORITY = 4, 8, 32
INITIAL_WINDOW = 4  # the setting
FRAME_BYTES_MAX = 16384
WINDOW_BYTES = (1 << 31) - 1
# No test waits so long: it ends one that would wait for ever.
GIVE_UP_S = 60


class Ended(Exception):
    """The server has closed the connection."""


class Call:
    """One call: a stream of the connection."""

    def __init__(self, connection, number):
        self._connection = connection
        self.number = number
        self.window = connection.initial_window
        self.headers = {}  # and trailers
        self.received = bytearray()
        self.ended = False
        self.reset_by = None  # the error code of RST_STREAM

    def send(self, message, *, flag=0, size=None):
        """A message; `size` is what its prefix says when that is not its own."""
        prefix = struct.pack(">BI", flag, len(message) if size is None else size)
        self._connection.send_data(self, prefix + message)
        return self

    def half_close(self):
        self._connection.send_frame(DATA, END_STREAM, self.number)
        return self

    def cancel(self):
        self._connection.send_frame(RESET, 0, self.number, struct.pack(">I", 8))

    def next_message(self):
        """The next message that comes; None: the call has ended."""
        while True:
            if len(self.received) >= 5:
                (size,) = struct.unpack(">I", self.received[1:5])
                if len(self.received) >= 5 + size:
                    message = bytes(self.received[5 : 5 + size])
                    del self.received[: 5 + size]
                    return message
            if self.ended:
                return None
            self._connection.read_frame()

    def await_end(self):
        while not self.ended:
            self._connection.read_frame()
        return self

    def await_headers(self):
        """Until the server has begun to answer."""
        while not self.headers and not self.ended:
            self._connection.read_frame()
        return self


class Connection:
    def __init__(self, port):
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=GIVE_UP_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._decoder = hpack.Decoder()
        self._encoder = hpack.Encoder()
        self._calls = {}
        self._next_number = 1
        self._window = self.initial_window = 65535
        self._pongs = 0
        self._block = b""  # of headers, until all of it is there
        self.goes_away = False  # the server has said that it takes no more calls
        self._socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        self.send_frame(SETTINGS, 0, 0, struct.pack(">HI", INITIAL_WINDOW, WINDOW_BYTES))
        self.send_frame(WINDOW, 0, 0, struct.pack(">I", WINDOW_BYTES - 65535))

    def close(self):
        self._socket.close()

    def call(self, path, **headers):
        """Begins a call; `headers` are more of them, '_' for '-'."""
        call = self._calls[self._next_number] = Call(self, self._next_number)
        self._next_number += 2
        fields = [
            (":method", "POST"),
            (":scheme", "http"),
            (":path", path),
            (":authority", "localhost"),
            ("content-type", "application/grpc"),
            ("te", "trailers"),
            *((name.replace("_", "-"), value) for name, value in headers.items()),
        ]
        self.send_frame(HEADERS, END_HEADERS, call.number, self._encoder.encode(fields))
        return call

    def settle(self):
        """Until the server's transport has read all that was sent."""
        wanted = self._pongs + 1
        self.send_frame(PING, 0, 0, b"settled?")
        while self._pongs < wanted:
            self.read_frame()

    def send_frame(self, kind, flags, number, payload=b""):
        head = struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, number)
        try:
            self._socket.sendall(head + payload)
        except (BrokenPipeError, ConnectionResetError) as error:
            raise Ended from error

    def send_data(self, call, data):
        """Sends as fast as the windows allow; stops when the call is answered already."""
        while data and not call.ended:
            room = min(call.window, self._window, FRAME_BYTES_MAX)
            if room <= 0:
                self.read_frame()
                continue
            part, data = data[:room], data[room:]
            self.send_frame(DATA, 0, call.number, part)
            call.window -= len(part)
            self._window -= len(part)

    def _read(self, size):
        data = b""
        while len(data) < size:
            try:
                part = self._socket.recv(size - len(data))
            except ConnectionResetError as error:
                raise Ended from error
            if not part:
                raise Ended
            data += part
        return data

    def read_frame(self):
        head = self._read(9)
        kind, flags = head[3], head[4]
        number = struct.unpack(">I", head[5:])[0] & 0x7FFFFFFF
        payload = self._read(int.from_bytes(head[:3], "big"))
        call = self._calls.get(number)
        if kind == SETTINGS and not flags & ACK:
            self._take_settings(payload)
        elif kind == PING:
            if flags & ACK:
                self._pongs += 1
            else:
                self.send_frame(PING, ACK, 0, payload)
        elif kind == GOAWAY:
            self.goes_away = True
        elif kind == WINDOW:
            room = struct.unpack(">I", payload)[0]
            if number == 0:
                self._window += room
            elif call is not None:
                call.window += room
        elif kind == RESET:
            call.reset_by = struct.unpack(">I", payload)[0]
            call.ended = True
        elif kind == DATA:
            call.received += payload[1 : len(payload) - payload[0]] if flags & PADDED else payload
            if flags & END_STREAM:
                call.ended = True
        elif kind in (HEADERS, CONTINUATION):
            assert not flags & (PADDED | PRIORITY) or kind == CONTINUATION
            self._take_headers(call, kind, flags, payload)

    def _take_headers(self, call, kind, flags, payload):
        self._block += payload
        if kind == HEADERS:
            self._ends_stream = bool(flags & END_STREAM)
        if flags & END_HEADERS:
            call.headers.update(self._decoder.decode(self._block))
            self._block = b""
            call.ended = call.ended or self._ends_stream

    def _take_settings(self, payload):
        for at in range(0, len(payload), 6):
            name, value = struct.unpack(">HI", payload[at : at + 6])
            if name == INITIAL_WINDOW:
                for call in self._calls.values():
                    call.window += value - self.initial_window
                self.initial_window = value
        self.send_frame(SETTINGS, ACK, 0)


def told(call):
    """(number of the status code or None, text) of a call that has ended."""
    code = call.headers.get("grpc-status")
    text = urllib.parse.unquote(call.headers.get("grpc-message", ""), errors="backslashreplace")
    return None if code is None else int(code), text
