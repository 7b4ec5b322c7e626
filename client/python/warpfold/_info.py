"""What a server says of itself."""

from __future__ import annotations

from typing import NamedTuple, cast

from google.protobuf.message import DecodeError

from . import _contract
from ._contract import Op
from ._errors import WrongServerError

__all__ = ["Device", "Limits", "ServerInfo", "parse_info"]


class Device(NamedTuple):
    name: str  # "cuda:0" or "cpu"
    model: str
    memory_bytes: int


class Limits(NamedTuple):
    """The contract's Limits; 0 where the server does not say."""

    max_tensor_bytes: int
    max_message_bytes: int
    max_result_bytes: int
    max_rank: int
    max_ops: int
    max_requests_in_flight: int
    max_bytes_in_flight: int
    stream_idle_timeout_ms: int
    max_resident_bytes: int
    max_resident_tensor_bytes: int
    max_resident_tensors: int
    max_tensor_pieces: int
    resident_ttl_ms: int
    max_resident_ttl_ms: int
    max_memory_regions: int
    max_shared_memory_bytes: int
    max_cuda_memory_bytes: int
    max_batch_requests: int
    max_batch_bytes: int


class ServerInfo(NamedTuple):
    version: str
    backend: str  # "cuda" or "cpu"
    devices: tuple[Device, ...]
    limits: Limits
    ops: tuple[Op, ...]  # names that Client.reduce takes
    dtypes: tuple[str, ...]  # NumPy's names
    shared_memory_prefix: str  # of segments that it takes; empty: none
    # Of its rules for numbers: another one wherever the bits of any answer may be others. 0: the
    # server is older than these.
    numerics_version: int
    # Of each kind of values in partial states, such as "SUM_VALUES": the oldest and the newest
    # revision that it merges.
    state_revisions: dict[str, tuple[int, int]]
    # What its operator should know of who may call; empty: nothing.
    security_warnings: tuple[str, ...] = ()


def parse_info(data: bytes, target: str) -> ServerInfo:
    try:
        message = _contract.GetServerInfoResponse.FromString(data)
    except DecodeError as error:
        raise WrongServerError(f"{target} is not a warpfold server: {error}") from error
    return ServerInfo(
        version=message.version,
        backend=message.backend,
        devices=tuple(Device(d.name, d.model, d.memory_bytes) for d in message.devices),
        limits=Limits(*(getattr(message.limits, name) for name in Limits._fields)),
        # A newer server may list what this client has no name for.
        ops=cast(
            "tuple[Op, ...]",
            tuple(_contract.OP_NAMES.get(op, f"op {op}") for op in message.ops),
        ),
        dtypes=tuple(_contract.DTYPE_NAMES.get(d, f"dtype {d}") for d in message.dtypes),
        shared_memory_prefix=message.shared_memory_prefix,
        numerics_version=message.numerics_version,
        state_revisions={
            _contract.KIND_NAMES.get(of.kind, f"kind {of.kind}"): (of.oldest, of.newest)
            for of in message.state_revisions
        },
        security_warnings=tuple(message.security_warnings),
    )
