"""An honest client: calls whose answers are known to the bit, beside an attack and after it."""

import contextlib
import threading
import time

import grpc
import numpy as np
from waiting import GUARD_S, until

from warpfold import _contract
from warpfold._retry import pushback_s

SEED = 20261125
SUM, MAX = _contract.OPS["sum"], _contract.OPS["max"]
ReduceManyResponse = _contract._messages["warpfold.v1.ReduceManyResponse"]
REDUCE_MANY_METHOD = _contract.REDUCE_METHOD + "Many"
KINDS = ("reduce", "reduce_stream", "reduce_many", "info")  # calls, as Honest has them


def request(shape, dtype, ops=(SUM,), axes=(), data=None, name=""):
    made = _contract.ReduceRequest(request_id=name, ops=[{"op": op} for op in ops], axes=axes)
    tensor = made.sources.add().tensor
    tensor.dtype = _contract.DTYPES[dtype]
    tensor.shape.extend(shape)
    if data is not None:
        made.data = data
    return made


class ItemFailed(Exception):
    """An item of a stream that has a status, which is a google.rpc.Status, for an answer."""

    def __init__(self, status):
        super().__init__(f"an item failed: {status.message}")
        self._status = status

    def trailing_metadata(self):
        """The status as a call's would come."""
        return [("grpc-status-details-bin", self._status.SerializeToString())]


class Outcome:
    """What became of honest calls."""

    def __init__(self):
        self.answered = 0
        self.failures = []

    def verdict(self):
        """What failed, in a few words; empty if nothing did."""
        if not self.failures:
            return ""
        return (
            f"{len(self.failures)} of {self.answered + len(self.failures)} honest calls failed, "
            f"the first: {self.failures[0]}"
        )


class Honest(Outcome):
    """One connection of gRPC's own client. What is refused is a failure.

    `patient`: a refusal that the server says will pass is tried again, as the contract allows.
    """

    def __init__(self, server, patient=False):
        super().__init__()
        self._patient = patient
        options = [("grpc.enable_retries", 0), ("grpc.use_local_subchannel_pool", 1)]
        target = f"localhost:{server.port}"
        if server.pems:
            credentials = grpc.ssl_channel_credentials(*server.pems)
            self._channel = grpc.secure_channel(target, credentials, options)
        else:
            self._channel = grpc.insecure_channel(target, options)
        self._random = np.random.default_rng(SEED)
        unary, stream = self._channel.unary_unary, self._channel.stream_unary
        self._reduce = unary(
            _contract.REDUCE_METHOD, response_deserializer=_contract.ReduceResponse.FromString
        )
        self._info = unary(_contract.GET_SERVER_INFO_METHOD)
        self._stream = stream(
            _contract.REDUCE_STREAM_METHOD,
            response_deserializer=_contract.ReduceResponse.FromString,
        )
        self._many = self._channel.stream_stream(
            REDUCE_MANY_METHOD, response_deserializer=ReduceManyResponse.FromString
        )
        self._stop = threading.Event()
        self.tried_again = 0

    def close(self):
        self._channel.close()

    def _matrix(self, rows, columns):
        """Whole numbers whose sums float32 holds exactly, so that every order has the same bits."""
        return self._random.integers(-1000, 1000, (rows, columns)).astype(np.float32)

    @staticmethod
    def _check(response, x):
        sums, tops = (bytes(result.data) for result in response.results)
        assert sums == x.astype(np.int64).sum(axis=1).astype(np.float32).tobytes(), "a wrong sum"
        assert tops == x.max(axis=1).tobytes(), "a wrong maximum"

    def reduce(self):
        x = self._matrix(32, 32)
        asked = request(x.shape, "float32", (SUM, MAX), (1,), x.tobytes())
        self._check(self._reduce(asked.SerializeToString(), timeout=GUARD_S), x)

    def reduce_stream(self, rows=16):
        x = self._matrix(rows, 4096)
        header = request(x.shape, "float32", (SUM, MAX), (1,))
        messages = [_contract.ReduceStreamRequest(header=header)]
        data = x.tobytes()
        messages += [
            _contract.ReduceStreamRequest(chunk=data[i : i + 65536])
            for i in range(0, len(data), 65536)
        ]
        answer = self._stream((m.SerializeToString() for m in messages), timeout=GUARD_S)
        self._check(answer, x)

    def reduce_many(self):
        xs = [self._matrix(8, 16) for _ in range(8)]
        asked = [
            request(x.shape, "float32", (SUM, MAX), (1,), x.tobytes(), str(i)).SerializeToString()
            for i, x in enumerate(xs)
        ]
        seen = set()
        for answer in self._many(iter(asked), timeout=GUARD_S):
            if answer.HasField("status"):
                raise ItemFailed(answer.status)
            self._check(answer.response, xs[int(answer.request_id)])
            seen.add(answer.request_id)
        assert len(seen) == len(xs), f"{len(seen)} of {len(xs)} items were answered"

    def info(self):
        answer = self._info(b"", timeout=GUARD_S)
        assert _contract.GetServerInfoResponse.FromString(answer).backend == "cpu"

    def _try(self, call):
        """The call, and again as long as a patient client may."""
        give_up_at = time.monotonic() + GUARD_S
        while True:
            try:
                return call()
            except (grpc.RpcError, ItemFailed) as error:
                wait_s = pushback_s(error.trailing_metadata() or ())
                if not self._patient or wait_s is None or time.monotonic() > give_up_at:
                    raise
                self.tried_again += 1
                self._stop.wait(wait_s)

    def round(self, *calls):
        """Each of its `calls`, of every kind where none is named, once; failures are kept."""
        for call in calls or [getattr(self, kind) for kind in KINDS]:
            try:
                self._try(call)
                self.answered += 1
            except grpc.RpcError as error:
                self.failures.append(f"{call.__name__}: {error.code().name} {error.details()}")
            except (AssertionError, ItemFailed) as error:
                self.failures.append(f"{call.__name__}: {error}")


@contextlib.contextmanager
def beside(server, patient=False):
    """An Honest client that calls over and over on a thread until the block ends.

    At least one whole round of its calls begins after the block's last statement.
    """
    honest = Honest(server, patient)
    stop = threading.Event()
    rounds = 0

    def run():
        nonlocal rounds
        while not stop.is_set():
            honest.round()
            rounds += 1

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield honest
        reached = rounds + 2
        until(lambda: rounds >= reached, "honest calls end", 20 * GUARD_S)
    finally:
        stop.set()
        thread.join()
        honest.close()
