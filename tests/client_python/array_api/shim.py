"""NumPy's namespace with the client's functions in it, for the array API's test suite.

Where the standard asks more than the client does, the shim prepares the array or finishes the
result: a dtype that does not hold the client's result is the elements' dtype first, as in NumPy,
and a correction that is no whole number follows from the variance without one.
"""

import atexit
import contextlib

import numpy as np
from running_server import running_server

import warpfold

__array_api_version__ = "2023.12"

_stack = contextlib.ExitStack()
atexit.register(_stack.close)
_client = _stack.enter_context(warpfold.connect(_stack.enter_context(running_server())))


def __getattr__(name):
    return getattr(np, name)


def all(x, /, *, axis=None, keepdims=False):
    return _client.all(x, axis=axis, keepdims=keepdims)


def any(x, /, *, axis=None, keepdims=False):
    return _client.any(x, axis=axis, keepdims=keepdims)


def argmax(x, /, *, axis=None, keepdims=False):
    return _client.argmax(x, axis=axis, keepdims=keepdims)


def argmin(x, /, *, axis=None, keepdims=False):
    return _client.argmin(x, axis=axis, keepdims=keepdims)


def count_nonzero(x, /, *, axis=None, keepdims=False):
    return _client.count_nonzero(x, axis=axis, keepdims=keepdims)


def max(x, /, *, axis=None, keepdims=False):
    return _client.max(x, axis=axis, keepdims=keepdims)


def mean(x, /, *, axis=None, keepdims=False):
    return _client.mean(x, axis=axis, keepdims=keepdims)


def min(x, /, *, axis=None, keepdims=False):
    return _client.min(x, axis=axis, keepdims=keepdims)


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    return _in_dtype(_client.prod, x, axis, dtype, keepdims)


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    if float(correction).is_integer():
        return _client.std(x, axis=axis, correction=correction, keepdims=keepdims)
    return np.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    return _in_dtype(_client.sum, x, axis, dtype, keepdims)


def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    if float(correction).is_integer():
        return _client.var(x, axis=axis, correction=correction, keepdims=keepdims)
    without = _client.var(x, axis=axis, keepdims=keepdims)
    count = x.size // np.maximum(without.size, 1)
    factor = count / np.maximum(count - correction, 0) if count > correction else np.inf
    return (without * factor).astype(x.dtype)


def _in_dtype(function, x, axis, dtype, keepdims):
    if dtype is None:
        return function(x, axis=axis, keepdims=keepdims)
    return function(x.astype(dtype), axis=axis, keepdims=keepdims).astype(dtype)
