"""What a call raises when the server, or the way there, refused it.

Every class carries gRPC's code and the server's message. Where Python has an exception for the
same thing, the class is one of those too, so that code written for NumPy catches it.
"""

from __future__ import annotations

import re

import grpc

__all__ = [
    "DataLossError",
    "DeadlineExceededError",
    "FailedPreconditionError",
    "InternalError",
    "InvalidArgumentError",
    "NotFoundError",
    "OutOfRangeError",
    "PermissionDeniedError",
    "ResourceExhaustedError",
    "UnauthenticatedError",
    "UnavailableError",
    "UnimplementedError",
    "WarpfoldError",
    "WrongServerError",
    "error_of",
    "is_other_version",
    "moved",
    "was_refused",
    "wrong_server",
]


class WarpfoldError(Exception):
    """A call that failed. `code` is gRPC's, `attempts` how often the call was sent."""

    code: grpc.StatusCode = grpc.StatusCode.UNKNOWN

    def __init__(
        self, message: str, *, code: grpc.StatusCode | None = None, attempts: int = 1
    ) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code
        self.attempts = attempts


class InvalidArgumentError(WarpfoldError, ValueError):
    """The request is wrong. The message starts with the field's name."""

    code = grpc.StatusCode.INVALID_ARGUMENT


class OutOfRangeError(WarpfoldError, OverflowError):
    """An integer sum or product does not fit its dtype. The message has a sum's exact value."""

    code = grpc.StatusCode.OUT_OF_RANGE


class DataLossError(WarpfoldError, ArithmeticError):
    """A product of floats lies too close to the middle of two numbers to tell which is nearer."""

    code = grpc.StatusCode.DATA_LOSS


class FailedPreconditionError(WarpfoldError):
    """`required_numerics_version` is not the server's, or a tensor is not completely written."""

    code = grpc.StatusCode.FAILED_PRECONDITION


class UnimplementedError(WarpfoldError, NotImplementedError):
    """The contract has it, this server does not. `Client.info` lists what it has."""

    code = grpc.StatusCode.UNIMPLEMENTED


class NotFoundError(WarpfoldError, LookupError):
    """The tensor is not, or no longer, on the server."""

    code = grpc.StatusCode.NOT_FOUND


class ResourceExhaustedError(WarpfoldError):
    """The server stayed full through every attempt, or the request is over one of its limits."""

    code = grpc.StatusCode.RESOURCE_EXHAUSTED


class UnauthenticatedError(WarpfoldError, PermissionError):
    """The server asks who calls, and knows no caller of this token or certificate."""

    code = grpc.StatusCode.UNAUTHENTICATED


class PermissionDeniedError(WarpfoldError, PermissionError):
    """The caller may not do that. The message names the scope that it lacks, or the field."""

    code = grpc.StatusCode.PERMISSION_DENIED


class UnavailableError(WarpfoldError, ConnectionError):
    """Nothing answered through every attempt, or the server is shutting down."""

    code = grpc.StatusCode.UNAVAILABLE


class DeadlineExceededError(WarpfoldError, TimeoutError):
    """The call's timeout passed: without progress, where it moves many bytes."""

    code = grpc.StatusCode.DEADLINE_EXCEEDED


class InternalError(WarpfoldError):
    """A bug in the server, or an answer that is not one to the request."""

    code = grpc.StatusCode.INTERNAL


class WrongServerError(WarpfoldError):
    """What answers at the target is not a warpfold server."""

    code = grpc.StatusCode.UNIMPLEMENTED


# gRPC's words and ours for a limit of the client's; a server's limits have others.
_OUR_LIMIT = "Deadline Exceeded"

# The system's words for an address at which nobody listens, which gRPC passes on.
_REFUSED = "Connection refused"
_NO_TLS = "handshake failed"  # of what every version of gRPC says

# How a message begins that is about the version of the rules for numbers.
_VERSION_FIELDS = ("required_numerics_version: ", "numerics_version: ")

_CLASSES: dict[grpc.StatusCode, type[WarpfoldError]] = {
    error.code: error
    for error in (
        InvalidArgumentError,
        OutOfRangeError,
        DataLossError,
        FailedPreconditionError,
        UnimplementedError,
        NotFoundError,
        ResourceExhaustedError,
        UnauthenticatedError,
        PermissionDeniedError,
        UnavailableError,
        DeadlineExceededError,
        InternalError,
    )
}


def was_refused(failure: grpc.RpcError) -> bool:
    """Whether nobody listens at any of the target's addresses."""
    return failure.code() is grpc.StatusCode.UNAVAILABLE and _REFUSED in (failure.details() or "")


def error_of(
    failure: grpc.RpcError,
    target: str = "",
    attempts: int = 1,
    before: grpc.RpcError | None = None,
) -> WarpfoldError:
    """The exception for a failed RPC, with the words of the C++ client.

    `before`: how the attempt before failed, which says why there was another one where the
    deadline passed during this one.
    """
    code = failure.code()
    message = failure.details() or code.name
    if code is grpc.StatusCode.UNAVAILABLE:
        message = f"{target}: {message}"
    elif code is grpc.StatusCode.DEADLINE_EXCEEDED and before is not None:
        message = f"{message}, before that {before.details()}"
        if before.code() is grpc.StatusCode.UNAVAILABLE:
            message = f"{target} does not answer: {message}"
    if attempts > 1:
        message += f" (after {attempts} attempts)"
    if was_refused(failure):
        message += f"; is warpfold-server running at {target}?"
    if target.startswith("unix:") and _NO_TLS in message.lower():
        message += "; a server has no TLS at its UNIX sockets: leave credentials= out"
    if code is grpc.StatusCode.UNAUTHENTICATED:
        message += "; connect(token_file=) or WARPFOLD_TOKEN_FILE names the file of a token"
    if code is grpc.StatusCode.DEADLINE_EXCEEDED and _OUR_LIMIT in message:
        message += "; timeout= sets another limit"
    return _CLASSES.get(code, WarpfoldError)(message, code=code, attempts=attempts)


def is_other_version(error: WarpfoldError) -> bool:
    """Whether the server goes by another numerics_version than the client, or another server."""
    return isinstance(error, FailedPreconditionError) and str(error).startswith(_VERSION_FIELDS)


def moved(error: WarpfoldError, elements: int) -> WarpfoldError:
    """The same where the results begin so many elements later than the server knew."""
    message = re.sub(
        r"(?<=output element )\d+", lambda found: str(int(found[0]) + elements), str(error)
    )
    return type(error)(message, code=error.code, attempts=error.attempts)


def wrong_server(target: str, error: WarpfoldError) -> WrongServerError:
    """For a GetServerInfo that was answered UNIMPLEMENTED: every warpfold server has it."""
    return WrongServerError(f"{target} is not a warpfold server: {error}", code=error.code)
