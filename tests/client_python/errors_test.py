"""What the errors of calls are beside the client's own."""

import pytest
import warpfold


@pytest.mark.parametrize(
    "error, standard",
    [
        (warpfold.InvalidArgumentError, ValueError),
        (warpfold.OutOfRangeError, OverflowError),
        (warpfold.UnimplementedError, NotImplementedError),
        (warpfold.NotFoundError, LookupError),
        (warpfold.DataLossError, ArithmeticError),
        (warpfold.UnauthenticatedError, PermissionError),
        (warpfold.PermissionDeniedError, PermissionError),
        (warpfold.UnavailableError, ConnectionError),
        (warpfold.DeadlineExceededError, TimeoutError),
    ],
)
def test_errors_are_pythons_own_too(error, standard):
    assert issubclass(error, warpfold.WarpfoldError)
    assert issubclass(error, standard)
