"""The host memory that the server's limits let it take, by docs/operations.md (Memory)."""

import re
from pathlib import Path

GIB = 1 << 30
CUDA_STREAMS = 8  # the default there


def default(deploy: Path, field: str) -> int:
    """A default of server/config.h."""
    config = (deploy / "../server/config.h").read_text(encoding="utf-8")
    value = re.search(rf"\b{field} = ([^;]+);", config)[1]
    if shifted := re.fullmatch(r"std::int64_t\{(\d+)\} << (\d+)", value):
        return int(shifted[1]) << int(shifted[2])
    return int(value)


def most_on_cuda(deploy: Path) -> int:
    """Without the CUDA runtime. Scratch and resident tensors are in the GPU's memory."""
    slabs = default(deploy, "slab_bytes") * default(deploy, "slabs_per_stream")
    return 2 * default(deploy, "max_bytes_in_flight") + CUDA_STREAMS * slabs


def most_on_the_cpu(deploy: Path, streams: int) -> int:
    lane = default(deploy, "slab_bytes") * default(deploy, "slabs_per_stream")
    lane += default(deploy, "scratch_bytes")
    # As many lanes again for small requests.
    return (
        2 * default(deploy, "max_bytes_in_flight")
        + default(deploy, "max_resident_bytes")
        + 2 * streams * lane
    )
