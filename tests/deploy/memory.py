"""The memory limit that the server's options want, by docs/operations.md (Memory)."""

import re
from pathlib import Path

MIB = 1 << 20
GIB = 1 << 30
SHARE = 0.85  # of the limit, which the server plans with
PROCESS = 256 * MIB
BESIDE_RECEIVED = 64 * MIB
CUDA_STREAMS = 8  # the default there


def default(deploy: Path, field: str) -> int:
    """A default of server/config.h."""
    config = (deploy / "../server/config.h").read_text(encoding="utf-8")
    value = re.search(rf"\b{field} = ([^;]+);", config)[1]
    if shifted := re.fullmatch(r"std::int64_t\{(\d+)\} << (\d+)", value):
        return int(shifted[1]) << int(shifted[2])
    return int(value)


def _received(deploy: Path) -> int:
    return 2 * default(deploy, "max_bytes_in_flight") + BESIDE_RECEIVED


def _reduction_on_the_cpu(deploy: Path) -> int:
    return default(deploy, "scratch_bytes") + default(deploy, "max_result_bytes")


def set_aside_on_the_cpu(deploy: Path, workers: int) -> int:
    """Without which the server does not start."""
    staging = workers * default(deploy, "staging_buffer_bytes")
    return PROCESS + staging + _received(deploy) + _reduction_on_the_cpu(deploy)


def limit_for_the_cpu(deploy: Path, workers: int) -> float:
    """With which no reduction is refused for want of memory, though all tensors are resident."""
    requests = (workers - 1) * _reduction_on_the_cpu(deploy) + default(deploy, "max_resident_bytes")
    return (set_aside_on_the_cpu(deploy, workers) + requests) / SHARE


def limit_for_cuda(deploy: Path) -> float:
    """The same of one GPU, in whose memory scratch and resident tensors are."""
    staging = default(deploy, "staging_buffer_bytes") * default(
        deploy, "staging_buffers_per_worker"
    )
    batches = default(deploy, "batch_workers") * default(deploy, "max_batch_bytes")
    results = (CUDA_STREAMS + 1) * default(deploy, "max_result_bytes")
    return (PROCESS + CUDA_STREAMS * staging + batches + _received(deploy) + results) / SHARE
