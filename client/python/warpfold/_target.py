"""Which server a client connects to, and the port that a target may leave out."""

from __future__ import annotations

import os

__all__ = ["DEFAULT_PORT", "TARGET_VARIABLE", "chosen_target", "with_default_port"]

TARGET_VARIABLE = "WARPFOLD_TARGET"
DEFAULT_PORT = 50051  # gRPC's own is 443


def chosen_target(target: str | None) -> str:
    """`target`, else that of the variable, else this host's; with a port."""
    if target is None:
        target = os.environ.get(TARGET_VARIABLE) or "localhost"
    if not isinstance(target, str):
        raise TypeError(f"target is {target!r}, but must be a str such as 'localhost:50051'")
    return with_default_port(target)


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
    if "/" in target or target.startswith(("unix:", "unix-abstract:", "vsock:")):
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
