"""One reduction as several calls at a time, whose answers become one."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Coroutine, Sequence
from functools import partial
from typing import Any, Callable

from ._answer import Reduction, combined, parse_answer
from ._attempts import Deadline
from ._errors import DataLossError, OutOfRangeError, moved
from ._io import Io
from ._request import ReduceCall, call_of_state, demanding, plan_merge
from ._rpcs import Rpcs
from ._stripes import Stripes, laid_together

__all__ = ["Sender", "in_pieces", "merged"]

Sender = Callable[[Io, ReduceCall], Coroutine[Any, Any, Reduction]]


async def in_pieces(
    rpcs: Rpcs, call: ReduceCall, stripes: Stripes, senders: Sequence[Sender], deadline: Deadline
) -> Reduction:
    """The answer to `call`, of which every sender takes a piece when it is done with the last."""
    answers: list[Any] = [None] * len(stripes.calls)
    waiting = deque(enumerate(stripes.calls))

    async def work(send: Sender, io: Io) -> None:
        while True:
            try:
                place, piece = waiting.popleft()
            except IndexError:
                return
            try:
                answers[place] = await send(io, piece)
                deadline.went_on()
            except (OutOfRangeError, DataLossError) as error:  # of results: parts have none
                before = sum(math.prod(piece.result_shape) for piece in stripes.calls[:place])
                raise moved(error, before) from None

    await rpcs.io.parallel([partial(work, send) for send in senders], deadline)
    if not stripes.are_parts:
        return combined(laid_together(call, answers), answers)
    states = [answer.state for answer in answers]
    whole = await merged(rpcs, states, call, call.request.request_id, deadline)
    return combined(whole, [whole, *answers])


async def merged(
    rpcs: Rpcs,
    states: Sequence[bytes],
    call: ReduceCall | None,
    request_id: str,
    deadline: Deadline,
) -> Reduction:
    """What the states come to; of a call that is not known they say themselves what it was."""
    required = rpcs.options.required_version()
    message = plan_merge(states, request_id, required, return_state=False)
    data, attempts = await rpcs.anywhere(rpcs.io, "merge", message, deadline)
    # The server has checked that there are states, and of one reduction.
    return parse_answer(demanding(call or call_of_state(states[0]), required), data, attempts)
