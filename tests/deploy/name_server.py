"""A DNS server for one name, as far as Prometheus and gRPC ask: A records over UDP (RFC 1035)."""

import socket
import struct
import threading

TYPE_A, CLASS_IN = 1, 1
TTL_SECONDS = 1
ANSWERED, NO_SUCH_NAME = 0x8580, 0x8583  # a response of the authority, recursion offered
POINTER_TO_QUESTION = 0xC00C


def question(packet: bytes):
    """(the name asked for, its type, where the question ends)."""
    labels, at = [], 12
    while length := packet[at]:
        labels.append(packet[at + 1 : at + 1 + length].decode("ascii"))
        at += 1 + length
    (kind,) = struct.unpack_from("!H", packet, at + 1)
    return ".".join(labels), kind, at + 5


def response(packet: bytes, name: str, addresses) -> bytes:
    """The answer to the query: `addresses` for the type A of `name`; no other name exists."""
    asked, kind, end = question(packet)
    is_known = asked.lower() == name
    records = [
        struct.pack("!HHHIH", POINTER_TO_QUESTION, TYPE_A, CLASS_IN, TTL_SECONDS, 4)
        + socket.inet_aton(address)
        for address in (addresses if is_known and kind == TYPE_A else ())
    ]
    flags = ANSWERED if is_known else NO_SUCH_NAME
    header = packet[:2] + struct.pack("!5H", flags, 1, len(records), 0, 0)
    return header + packet[12:end] + b"".join(records)


class NameServer(threading.Thread):
    """Answers at `address`, port 53, until closed. `addresses` may be replaced at any time."""

    def __init__(self, address: str, name: str, addresses):
        super().__init__()
        self.addresses = tuple(addresses)
        self._name = name
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((address, 53))
        self.start()

    def run(self):
        while True:
            packet, client = self._socket.recvfrom(4096)
            if not packet:  # close() sends nothing
                return
            self._socket.sendto(response(packet, self._name, self.addresses), client)

    def close(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as waker:
            waker.sendto(b"", self._socket.getsockname())
        self.join()
        self._socket.close()
