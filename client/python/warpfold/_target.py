"""Which server a client connects to, and the port that a target may leave out."""

from __future__ import annotations

import os
import re

__all__ = ["DEFAULT_PORT", "TARGET_VARIABLE", "chosen_target", "with_default_port"]

TARGET_VARIABLE = "WARPFOLD_TARGET"
DEFAULT_PORT = 50051  # gRPC's own is 443
_PORT_MAX = 65535  # gRPC takes the rest of a division by one more
_URL = re.compile(r"(https?|grpcs?|tcp)://([^/]*)", re.IGNORECASE)
# Behind a host's name, its IPv4 address or an IPv6 address in brackets. An IPv6 address without
# brackets has more colons, and no port.
_PORT = re.compile(r"(?:[^:\[]+|\[.*\]):([^:]*)")
_PATH = re.compile(r"(?:[^/:]+|\[[^/]*\]):(\d[^/]*/.*)")
_PATHS = ("unix:", "unix-abstract:", "vsock:")
_SERVICE = re.compile(r"[a-z][a-z0-9-]*", re.IGNORECASE)  # such as "https", as the system has it


def chosen_target(target: str | None) -> str:
    """`target`, else that of the variable, else this host's; with a port.

    An empty one is none. ValueError for a URL, a bare path, and a port that no address has.
    """
    if target is None or target == "":
        target = os.environ.get(TARGET_VARIABLE) or "localhost"
    if not isinstance(target, str):
        raise TypeError(f"target is {target!r}, but must be a str such as 'localhost:50051'")
    url = _URL.match(target)
    if url:
        raise ValueError(
            f"target is {target!r}, a URL; pass it without {url[1]}://, as "
            f"{with_default_port(url[2])!r}; for TLS add credentials=grpc.ssl_channel_credentials()"
        )
    if target.startswith(("/", "./", "../")):
        raise ValueError(f"target is {target!r}, a path; a UNIX socket there is 'unix:{target}'")
    for port in _ports(target):
        number = port.isascii() and port.isdigit() and 0 < int(port) <= _PORT_MAX
        if not number and not _SERVICE.fullmatch(port):
            named = port or "nothing"
            raise ValueError(
                f"target is {target!r}, but a port is from 1 to {_PORT_MAX}, not {named}"
            )
    return with_default_port(target)


def _ports(target: str) -> list[str]:
    """Those that the target names, or what stands in the place of one."""
    begin = _addresses_begin(target)
    if begin is None:
        path = None if target.startswith(_PATHS) else _PATH.fullmatch(target)
        return [] if path is None else [path[1]]
    found = (_PORT.fullmatch(address) for address in target[begin:].split(","))
    return [match[1] for match in found if match]


def with_default_port(target: str) -> str:
    """`target` with the port behind each address that has none: "a", "dns:///a", "[::1]", "::1",
    "ipv4:10.0.0.1,10.0.0.2:1".

    What names no port at all ("unix:", "xds:", ...) and what is no target are as they were.
    """
    begin = _addresses_begin(target)
    if begin is None:
        return target
    addresses = target[begin:].split(",")
    return target[:begin] + ",".join(_address_with_port(address) for address in addresses)


def _addresses_begin(target: str) -> int | None:
    """How much of the target stands before its addresses; None: it has none with a port."""
    for scheme in ("dns:", "ipv4:", "ipv6:"):
        if not target.startswith(scheme):
            continue
        if not target.startswith("//", len(scheme)):
            return len(scheme)
        authority_end = target.find("/", len(scheme) + 2)  # "dns://8.8.8.8/a"
        return None if authority_end < 0 else authority_end + 1
    if "/" in target or target.startswith(_PATHS):
        return None
    return 0


def _address_with_port(address: str) -> str:
    if not address:
        return address
    if address.startswith("["):
        return f"{address}:{DEFAULT_PORT}" if address.endswith("]") else address
    colons = address.count(":")
    if colons == 0:
        return f"{address}:{DEFAULT_PORT}"
    return address if colons == 1 else f"[{address}]:{DEFAULT_PORT}"  # an IPv6 address
