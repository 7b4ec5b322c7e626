"""NumPy's reductions on a warpfold server.

>>> import numpy as np
>>> import warpfold
>>> with warpfold.connect(server) as client:  # server: "host:port"
...     print(client.sum(np.arange(6, dtype=np.int32).reshape(2, 3), axis=0))
[3 5 7]

Start here: `connect` makes a `Client`, whose methods have NumPy's names, arguments and result
dtypes. `Client.reduce` computes several ops in one pass over the data, `Client.put` uploads an
array once to be reduced often. `warpfold.aio` is the same for asyncio, and `warpfold.dask` reduces
Dask arrays. Errors are subclasses of `WarpfoldError`; input that no server could reduce raises
TypeError or ValueError before anything is sent.

The modules, in the order of a call: _functions (and _remote) -> _arrays, _cuda_array, _request ->
_flows -> _shared (_segments), _cuda_memory (_cuda_driver), both by _regions -> _stripes, _parts,
_pieces -> _rpcs, _attempts, _small -> _blocking_io or _asyncio_io, _channel -> _answer.
"""

from ._answer import Reduction, Timing
from ._client import Client, RemoteTensor, SharedTensor, connect
from ._errors import (
    DeadlineExceededError,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
    ResourceExhaustedError,
    UnavailableError,
    UnimplementedError,
    WarpfoldError,
    WrongServerError,
)
from ._info import Device, Limits, ServerInfo
from ._retry import RetryPolicy

__version__ = "0.1.0"

__all__ = [
    "Client",
    "DeadlineExceededError",
    "Device",
    "InternalError",
    "InvalidArgumentError",
    "Limits",
    "NotFoundError",
    "OutOfRangeError",
    "Reduction",
    "RemoteTensor",
    "ResourceExhaustedError",
    "RetryPolicy",
    "ServerInfo",
    "SharedTensor",
    "Timing",
    "UnavailableError",
    "UnimplementedError",
    "WarpfoldError",
    "WrongServerError",
    "connect",
]
