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

The modules are layers. Each imports from those below it, and within one imports do not lead back:

* Dask: dask, _dask_functions, _dask
* clients: aio, _client, _connected, _contexts
* tensors on the server: _remote, _tensor_methods, _methods, _namespace
* NumPy's names: _functions, _numpy_functions, _words
* what a call does: _flows, _describe
* how a tensor travels: _shared, _cuda_memory, _regions, _owners, _segments, _pieces, _stripes
* RPCs and waiting: _rpcs, _small, _options, _blocking_io, _asyncio_io, _io
* messages: _answer, _request
* arrays: _arrays, _foreign, _tables, _parts
* memory and dtypes: _cuda_array, _cuda_driver, _dlpack, _shaped, _forms, _dtypes
* connections and attempts: _channel, _heap, _attempts, _retry, _target, _token
* words: _info, _errors, _progress, _contract, _catalogue
"""

from ._answer import Reduction, Timing
from ._client import Client, RemoteTensor, SharedTensor, connect
from ._contract import Op
from ._errors import (
    DataLossError,
    DeadlineExceededError,
    FailedPreconditionError,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnauthenticatedError,
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
    "DataLossError",
    "DeadlineExceededError",
    "Device",
    "FailedPreconditionError",
    "InternalError",
    "InvalidArgumentError",
    "Limits",
    "NotFoundError",
    "Op",
    "OutOfRangeError",
    "PermissionDeniedError",
    "Reduction",
    "RemoteTensor",
    "ResourceExhaustedError",
    "RetryPolicy",
    "ServerInfo",
    "SharedTensor",
    "Timing",
    "UnauthenticatedError",
    "UnavailableError",
    "UnimplementedError",
    "WarpfoldError",
    "WrongServerError",
    "connect",
]
