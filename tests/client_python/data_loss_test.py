"""A product of floats that 128 bits cannot round: DATA_LOSS, wherever it is and however it goes."""

import pickle
from fractions import Fraction
from math import prod

import grpc
import numpy as np
import pytest
from fake_server import Failure

import warpfold

# Each is a float64 itself. Their product is a middle of two float64 numbers but for one part in
# 2^180, which 128 bits do not hold.
ALMOST_ONE = [2**45 - 1, 2**45 + 1, 2**30 + 1, 4033, (2**60 - 2**30 + 1) // 4033]
MIDDLE = [3, (2**53 + 1) // 3]
FACTORS = np.array(ALMOST_ONE + MIDDLE, np.float64)
WORDS = r"^ops: the product of output element {} lies too close to the middle of two numbers"


@pytest.fixture
def striping(monkeypatch):
    monkeypatch.setattr("warpfold._flows.STRIPE_THRESHOLD_BYTES", 1)
    monkeypatch.setattr("warpfold._stripes._STATES_SHARE_MAX", 1000)


def test_the_factors_are_what_they_are_for():
    assert prod(ALMOST_ONE) == 2**180 - 1 and prod(MIDDLE) == 2**53 + 1
    assert prod(map(Fraction, FACTORS)) == (2**180 - 1) * (2**53 + 1)


def test_it_is_an_error_of_its_own(server, either_client):
    client = either_client(server)
    with pytest.raises(warpfold.DataLossError, match=WORDS.format(0)) as caught:
        client.prod(FACTORS)
    assert caught.value.code is grpc.StatusCode.DATA_LOSS
    assert isinstance(caught.value, ArithmeticError) and caught.value.attempts == 1
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is warpfold.DataLossError and again.code is grpc.StatusCode.DATA_LOSS
    # Without what makes it hard it is an ordinary product.
    assert client.prod(np.array(MIDDLE, np.float64)) == 2.0**53
    assert client.prod(np.array(ALMOST_ONE, np.float64)) == 2.0**180


@pytest.mark.parametrize("row", [0, 37, 399])
def test_it_is_at_the_element_of_the_whole(server, client, striping, either_client, row):
    striped = either_client(server, connections=3, shared_memory_mode=None)
    x = np.ones((400, len(FACTORS)))
    x[row] = FACTORS
    for one in (client, striped):
        with pytest.raises(warpfold.DataLossError, match=WORDS.format(row)):
            one.prod(x, axis=1)  # its pieces are slices
    for one in (client, striped):
        with pytest.raises(warpfold.DataLossError, match=WORDS.format(row)):
            one.prod(x.T.copy(), axis=0)  # its pieces are parts


def test_it_is_not_tried_again(fake, either_client):
    client = either_client(fake.target)
    fake.failures = [Failure(grpc.StatusCode.DATA_LOSS, pushback_ms=1)]
    with pytest.raises(warpfold.DataLossError, match="^planned$"):
        client.prod([1.0, 2.0])
    assert len(fake.calls) == 1
