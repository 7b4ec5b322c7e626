"""The retry rule by itself: no network, no clock."""

import random

import grpc
import pytest
from conftest import SEED
from fake_server import rpc_status

from warpfold import RetryPolicy
from warpfold._retry import Retrier, pushback_s

UNAVAILABLE = grpc.StatusCode.UNAVAILABLE
FULL = grpc.StatusCode.RESOURCE_EXHAUSTED
PASSING = (UNAVAILABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.ABORTED)
HOUR_S = 3600


def retrier(**policy):
    return Retrier(RetryPolicy(**policy), random.Random(SEED).uniform)


def test_the_backoff_grows_by_its_factor_within_the_jitter():
    tried = retrier(attempts_max=10)
    expected = 0.05
    for _ in range(1, 10):
        assert 0.8 * expected <= tried.next_delay_s(UNAVAILABLE, None, HOUR_S) <= 1.2 * expected
        expected = min(expected * 2, 2.0)
    assert tried.next_delay_s(UNAVAILABLE, None, HOUR_S) is None
    assert tried.attempts == 10


@pytest.mark.parametrize("code", PASSING)
def test_what_passes_is_tried_again_without_being_told_when(code):
    assert 0.04 <= retrier().next_delay_s(code, None, HOUR_S) <= 0.06


def test_a_retry_is_never_earlier_than_the_server_asked():
    for seed in range(100):
        tried = Retrier(RetryPolicy(), random.Random(seed).uniform)
        assert 0.040 <= tried.next_delay_s(FULL, 0.040, HOUR_S) <= 0.050


def test_a_delay_beyond_the_deadline_is_not_waited_for():
    tried = retrier()
    assert tried.next_delay_s(FULL, 0.5, 0.5) is None
    assert tried.attempts == 1


@pytest.mark.parametrize("code", [c for c in grpc.StatusCode if c not in (*PASSING, FULL)])
def test_permanent_codes_are_final(code):
    assert retrier().next_delay_s(code, 0.001, HOUR_S) is None


def test_a_full_server_that_does_not_say_when_is_final():
    assert retrier().next_delay_s(FULL, None, HOUR_S) is None


def test_a_server_that_forbids_retries_is_final():
    assert retrier().next_delay_s(UNAVAILABLE, -0.001, HOUR_S) is None


def test_attempts_without_a_limit_end_with_the_time():
    tried = retrier()
    for _ in range(100):
        assert tried.next_delay_s(UNAVAILABLE, None, HOUR_S) is not None
    assert tried.attempts == 101
    assert tried.next_delay_s(UNAVAILABLE, None, 0.001) is None


def test_a_server_that_is_not_there_may_have_a_limit_of_its_own():
    tried = retrier(unavailable_max=2)
    for _ in range(10):
        assert tried.next_delay_s(FULL, 0.1, HOUR_S) is not None
    assert tried.next_delay_s(UNAVAILABLE, None, HOUR_S) is not None
    assert tried.next_delay_s(FULL, 0.1, HOUR_S) is not None
    assert tried.next_delay_s(UNAVAILABLE, None, HOUR_S) is None


def test_connecting_has_a_limit_of_its_own():
    # Of attempts alone: whoever waits for a server to start says how many.
    for attempts_max, own in ((None, 5), (7, 7)):
        policy = RetryPolicy(attempts_max=attempts_max).to_connect()
        assert policy == RetryPolicy(attempts_max=own, refused_max_s=None)


def waits_s(tried, **options):
    return list(iter(lambda: tried.next_delay_s(UNAVAILABLE, None, HOUR_S, **options), None))


def test_a_server_that_nobody_listens_for_is_waited_for_until_it_has_had_time_to_start():
    waits = waits_s(retrier(), refused=True)
    assert 20 - 2.4 < sum(waits) <= 20
    assert sum(waits_s(retrier(refused_max_s=1), refused=True)) <= 1


def test_an_attempt_that_is_not_refused_begins_the_wait_anew():
    tried = retrier(refused_max_s=5)
    for _ in range(20):
        assert tried.next_delay_s(UNAVAILABLE, None, HOUR_S, refused=True) is not None
        assert tried.next_delay_s(UNAVAILABLE, None, HOUR_S) is not None


def test_refusals_may_have_no_limit_of_their_own():
    waits = waits_s(retrier(refused_max_s=None, attempts_max=100), refused=True)
    assert len(waits) == 99


@pytest.mark.parametrize("seconds", [-1, float("nan")])
def test_a_wait_is_not_negative(seconds):
    with pytest.raises(ValueError, match="^refused_max_s is"):
        RetryPolicy(refused_max_s=seconds)


def test_one_attempt_means_no_retry():
    assert retrier(attempts_max=1).next_delay_s(UNAVAILABLE, None, HOUR_S) is None


@pytest.mark.parametrize("name", ["attempts_max", "unavailable_max"])
def test_no_attempt_is_no_policy(name):
    with pytest.raises(ValueError, match=f"{name} is 0"):
        RetryPolicy(**{name: 0})


def test_the_trailer_wins_over_the_detail():
    detail = ("grpc-status-details-bin", rpc_status(retry_info_ms=2.5))
    assert pushback_s([detail]) == 0.0025
    assert pushback_s([detail, ("grpc-retry-pushback-ms", "7")]) == 0.007
    assert pushback_s([("grpc-retry-pushback-ms", "-1")]) == -0.001
    assert pushback_s([("other", "1")]) is None


def test_details_that_are_not_a_status_say_nothing():
    assert pushback_s([("grpc-status-details-bin", b"\xff\xff\xff")]) is None


def test_a_pushback_that_cannot_be_read_forbids_retries():
    assert pushback_s([("grpc-retry-pushback-ms", "soon")]) < 0
