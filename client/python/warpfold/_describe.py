"""What `describe` asks: every statistic of a tensor that the server has, in one pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._arrays import Axis, as_operand
from ._catalogue import DESCRIBE, REFUSE_EMPTY
from ._info import ServerInfo
from ._request import ReduceCall, plan
from ._shaped import Named

__all__ = ["check_each", "describe_calls"]

_WITHOUT_ELEMENTS = tuple(op for op in DESCRIBE if op not in REFUSE_EMPTY)


def describe_calls(x: Any, axis: Axis, info: ServerInfo) -> tuple[ReduceCall, ReduceCall | None]:
    """The call, and the one to make when the sum does not fit its dtype."""
    tensor = x if isinstance(x, Named) else as_operand(x)
    candidates = DESCRIBE if tensor.size else _WITHOUT_ELEMENTS
    ops = [op for op in candidates if op in info.ops]
    without_sum = [op for op in ops if op != "sum"]
    return (
        plan(tensor, ops, axis, keepdims=False),
        plan(tensor, without_sum, axis, keepdims=False) if without_sum else None,
    )


def check_each(
    tensors: Mapping[Any, Any], axis: Axis, info: ServerInfo, instead: str = ""
) -> None:
    """TypeError and ValueError name the tensor that cannot be described, before one is sent.

    `instead`: what to pass to describe the others.

    Nothing is kept, so that copies of the tensors never lie beside each other.
    """
    for name, x in tensors.items():
        try:
            describe_calls(x, axis, info)
        except TypeError as error:
            words = f"{name}: {error}"
            if str(error).startswith("cannot reduce"):
                words += "; or leave it out" + (f": {instead}" if instead else "")
            raise TypeError(words) from None
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
