"""The memory of messages, kept from one call to the next.

A call takes its message and gRPC's copy of it from the heap and frees both. glibc returns what is
free at the heap's end to the system as soon as it is more than twice the largest block, of up to
32 MiB, that it has mapped by itself and seen freed, and 128 KiB before there was one. Then every
page of every message is a page fault: 480 a call, and 1.1 of its 2.0 ms, for an array of 1 MiB on
2 cores (2026-11-21). A program that makes and drops arrays of some MiB has had its large block.
"""

from __future__ import annotations

__all__ = ["keep_freed_memory"]

_BLOCK_BYTES = 16 << 20  # keeps 32 MiB: a message of 16 MiB and its copy


def keep_freed_memory() -> None:
    """Shows the C library a large block, of which no page is touched; others take no notice."""
    bytes(_BLOCK_BYTES)
