#!/usr/bin/env python3
"""Opens connections to a port of this host and holds them until stdin ends.

usage: open_connections.py PORT COUNT ADDRESS HEX

From ADDRESS, one of 127/8. Each sends the bytes HEX and nothing more. Prints how many it opened:
fewer where descriptors or ports end, or the other side takes no more.
"""

import contextlib
import resource
import socket
import subprocess
import sys

BIND_ADDRESS_NO_PORT = 24  # IP_BIND_ADDRESS_NO_PORT, which Python 3.12 names
OTHER_DESCRIPTORS = 16
WAIT_S = 20


def open_many(stack, port, count, address, first=""):
    """A process that holds them until the stack ends; its first line is how many there are."""
    command = [sys.executable, "-B", __file__, str(port), str(count), address, first]
    return stack.enter_context(
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    )


def main():
    if len(sys.argv) != 5 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    port, count, address, first = sys.argv[1:]
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    held = []
    with contextlib.suppress(OSError):
        for _ in range(min(int(count), most - OTHER_DESCRIPTORS)):
            connection = socket.socket()
            connection.settimeout(WAIT_S)
            connection.setsockopt(socket.IPPROTO_IP, BIND_ADDRESS_NO_PORT, 1)
            connection.bind((address, 0))
            connection.connect(("127.0.0.1", int(port)))
            with contextlib.suppress(OSError):  # the other side may have closed it already
                connection.sendall(bytes.fromhex(first))
            held.append(connection)
    print(len(held), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
