#include "server/core/admission/admission.h"

#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/core/base/refusal.h"

namespace warpfold {
namespace {

AdmissionOptions Options(std::int64_t requests, std::int64_t bytes) {
  return {.max_requests_in_flight = requests,
          .max_bytes_in_flight = bytes,
          .retry_delay = std::chrono::milliseconds(7)};
}

bool MayRetry(const absl::Status& status) {
  const std::optional<Refusal> refusal = RefusalOf(status);
  return refusal.has_value() && std::holds_alternative<RetryLater>(*refusal);
}

TEST(AdmissionTest, ShortOfMemoryItRefusesLargePayloadsThenAll) {
  AdmissionController admission(Options(10, std::int64_t{1} << 30));
  const auto admits = [&](std::int64_t bytes) {
    const absl::Status status = admission.Admit({.payload = bytes}).status();
    EXPECT_TRUE(status.ok() || MayRetry(status)) << status;
    return status.ok();
  };
  const absl::StatusOr<AdmissionTicket> before = admission.Admit({.payload = 2 << 20});
  admission.SetPressure(Pressure::kHigh);
  EXPECT_TRUE(admits(0));
  EXPECT_TRUE(admits(1 << 20));
  EXPECT_FALSE(admits((1 << 20) + 1));
  admission.SetPressure(Pressure::kCritical);
  EXPECT_FALSE(admits(0));
  EXPECT_EQ(admission.state().refused_pressure, 2U);
  EXPECT_EQ(admission.state().requests_in_flight, 1) << "what is admitted stays";
  admission.SetPressure(Pressure::kNone);
  EXPECT_TRUE(admits(2 << 20));
}

TEST(AdmissionTest, RequestsAboveTheLimitAreRefusedAtOnceAndMayRetry) {
  AdmissionController admission(Options(2, 100));
  absl::StatusOr<AdmissionTicket> first = admission.Admit({.payload = 1});
  absl::StatusOr<AdmissionTicket> second = admission.Admit({.payload = 1});
  ASSERT_TRUE(first.ok() && second.ok());
  const absl::Status third = admission.Admit({.payload = 1}).status();
  EXPECT_EQ(third.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(MayRetry(third));
  EXPECT_EQ(admission.state().refused_requests, 1U);
  first->Release();
  EXPECT_TRUE(admission.Admit({.payload = 1}).ok());
}

TEST(AdmissionTest, RequestsThatNeedAWorkerLeaveAQuarterOfThePlaces) {
  for (const auto& [requests_max, worker_requests_max] :
       {std::pair(1, 1), {2, 2}, {3, 3}, {4, 3}, {1024, 768}}) {
    AdmissionController admission(Options(requests_max, 100));
    std::vector<AdmissionTicket> tickets;
    for (int i = 0; i < requests_max; ++i) {
      tickets.push_back(*admission.Admit({}));
      const absl::Status worker = tickets.back().TakeWorker();
      ASSERT_EQ(worker.ok(), i < worker_requests_max) << requests_max << ": " << i;
      if (worker.ok()) continue;
      EXPECT_TRUE(MayRetry(worker));
      EXPECT_EQ(worker.message(),
                absl::StrCat("the limit of ", worker_requests_max,
                             " requests in flight that need a worker is reached (three quarters of "
                             "--max-requests-in-flight)"));
    }
    EXPECT_EQ(admission.state().worker_requests, worker_requests_max);
    EXPECT_FALSE(admission.CheckWorkers().ok());
    EXPECT_EQ(admission.state().refused_workers,
              static_cast<std::uint64_t>(requests_max - worker_requests_max) + 1);
    // It comes back with the place: with the answer, or without one.
    tickets.front().Answered(1, 1);
    EXPECT_TRUE(admission.CheckWorkers().ok());
    tickets.clear();
    EXPECT_EQ(admission.state().worker_requests, 0);
  }
}

TEST(AdmissionTest, BytesAboveTheBudgetMayRetryUntilTheyFit) {
  AdmissionController admission(Options(10, 100));
  absl::StatusOr<AdmissionTicket> first = admission.Admit({.payload = 60});
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(MayRetry(admission.Admit({.payload = 41}).status()));
  EXPECT_TRUE(admission.Admit({.payload = 40}).ok());
  EXPECT_EQ(admission.state().refused_bytes, 1U);
}

TEST(AdmissionTest, OneRequestAboveTheWholeBudgetNeverFits) {
  AdmissionController admission(Options(10, 100));
  const absl::Status status = admission.Admit({.payload = 101}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(MayRetry(status));
  EXPECT_EQ(admission.state().refused_too_large, 1U);
}

TEST(AdmissionTest, TicketsGiveBackOnceHoweverTheyMove) {
  AdmissionController admission(Options(10, 100));
  {
    AdmissionTicket ticket = *admission.Admit({.payload = 10});
    AdmissionTicket moved = std::move(ticket);
    ASSERT_TRUE(moved.TryHold(25).ok());
    EXPECT_EQ(admission.state().bytes_in_flight, 35);
    moved.Drop(5);
    ticket.Drop(1000);  // NOLINT(bugprone-use-after-move): holds nothing any more, and says so
    EXPECT_EQ(admission.state().bytes_in_flight, 30);
    AdmissionTicket other = *admission.Admit({.payload = 1});
    other = std::move(moved);
    EXPECT_EQ(admission.state().requests_in_flight, 1);
    EXPECT_EQ(admission.state().bytes_in_flight, 30);
  }
  EXPECT_EQ(admission.state().requests_in_flight, 0);
  EXPECT_EQ(admission.state().bytes_in_flight, 0);
}

TEST(AdmissionTest, AClosedControllerSendsEverybodyElsewhere) {
  AdmissionController admission(Options(10, 100));
  admission.Close();
  EXPECT_EQ(admission.Admit({.payload = 0}).status().code(), absl::StatusCode::kUnavailable);
}

TEST(AdmissionTest, ManyThreadsNeverExceedTheLimits) {
  AdmissionController admission(Options(3, 1000));
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&admission] {
      for (int i = 0; i < 2000; ++i) {
        absl::StatusOr<AdmissionTicket> ticket = admission.Admit({.payload = 10});
        EXPECT_LE(admission.state().requests_in_flight, 3);
        if (ticket.ok() && i % 2 == 0) ticket->Answered(/*answer_bytes=*/1, /*call_bytes=*/1);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(admission.state().requests_in_flight, 0);
  EXPECT_EQ(admission.state().bytes_in_flight, 0);
}

// A client that has sent nothing takes nobody's place.
TEST(AdmissionTest, WhatIsExpectedHoldsBytesAndNoRequestsPlace) {
  AdmissionController admission({.max_requests_in_flight = 1, .max_bytes_in_flight = 100});
  AdmissionTicket first = *admission.Expect({.results = 10});
  AdmissionTicket second = *admission.Expect({.results = 10});
  EXPECT_EQ(admission.state().requests_expected, 2);
  EXPECT_EQ(admission.state().requests_in_flight, 0);
  EXPECT_EQ(admission.state().bytes_in_flight, 0);
  EXPECT_TRUE(first.TryHold(60).ok());
  EXPECT_EQ(second.TryHold(60).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(admission.Admit({.results = 10}, &first).ok());
  EXPECT_EQ(admission.state().bytes_in_flight, 70);
  EXPECT_EQ(admission.state().requests_in_flight, 1);
  EXPECT_EQ(admission.Admit({.results = 10}, &second).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(admission.Expect({}).status().code(), absl::StatusCode::kResourceExhausted)
      << "it would be refused now";
  first.Drop(50);
  EXPECT_EQ(admission.state().bytes_in_flight, 20);
  first.Release();
  admission.Close();
  EXPECT_FALSE(admission.Expect({}).ok());
  EXPECT_TRUE(admission.Admit({.results = 10}, &second).ok()) << "it was here before the drain";
  second.Release();
  EXPECT_EQ(admission.state().requests_in_flight, 0);
  EXPECT_EQ(admission.state().requests_expected, 0);
  EXPECT_EQ(admission.state().bytes_in_flight, 0);
}

// A client that does not read its answer takes nobody's place.
TEST(AdmissionTest, AnAnsweredRequestHoldsItsAnswerAndNoPlace) {
  AdmissionController admission(Options(1, 1000));
  AdmissionTicket first = *admission.Admit({.payload = 500, .results = 100});
  EXPECT_FALSE(admission.Admit({}).ok());
  first.Answered(/*answer_bytes=*/40, /*call_bytes=*/7);
  EXPECT_EQ(admission.state().requests_in_flight, 0);
  EXPECT_EQ(admission.state().answers_unwritten, 1);
  EXPECT_EQ(admission.state().bytes_in_flight, 47);
  EXPECT_FALSE(first.is_expected());
  AdmissionTicket second = *admission.Admit({.payload = 953});
  second.Answered(/*answer_bytes=*/1000, /*call_bytes=*/7);
  EXPECT_EQ(admission.state().bytes_in_flight, 1054) << "it is there, whatever the limit is";
  EXPECT_TRUE(MayRetry(admission.Admit({}).status()));
  AdmissionTicket moved = std::move(second);
  moved.Release();
  EXPECT_EQ(admission.state().answers_unwritten, 1);
  first.Release();
  EXPECT_EQ(admission.state().answers_unwritten, 0);
  EXPECT_EQ(admission.state().bytes_in_flight, 0);
}

TEST(AdmissionTest, AnExpectedRequestMayBeAnsweredWithoutBeingAdmitted) {
  AdmissionController admission(Options(1, 1000));
  AdmissionTicket refused = *admission.Expect({});
  refused.Answered(/*answer_bytes=*/0, /*call_bytes=*/7);
  EXPECT_EQ(admission.state().requests_expected, 0);
  EXPECT_EQ(admission.state().requests_in_flight, 0);
  refused.Release();
  AdmissionTicket none;
  none.Answered(/*answer_bytes=*/1, /*call_bytes=*/1);
  EXPECT_TRUE(none.is_empty());
  EXPECT_EQ(admission.state().answers_unwritten, 0);
  EXPECT_EQ(admission.state().bytes_in_flight, 0);
}

constexpr std::int64_t kLarge = kSmallAnswerBytes + 1;

TEST(AdmissionTest, LargeAnswersHoldHalfOfTheBytes) {
  AdmissionController admission(Options(100, 8 * kLarge));
  std::vector<AdmissionTicket> answers;
  for (int i = 0; i < 4; ++i) answers.push_back(*admission.Admit({.results = kLarge}));
  answers[0].Answered(kLarge, /*call_bytes=*/0);
  const absl::Status fifth = admission.Admit({.results = kLarge}).status();
  EXPECT_EQ(fifth.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(MayRetry(fifth));
  EXPECT_EQ(fifth.message(), "the limit of 262148 bytes of answers in flight is reached");
  EXPECT_FALSE(admission.Expect({.results = kLarge}).ok()) << "it would be refused now";
  EXPECT_EQ(admission.state().refused_answers, 2U);
  EXPECT_EQ(admission.state().refused_bytes, 0U);
  EXPECT_TRUE(admission.Admit({.payload = 4 * kLarge}).ok()) << "the other half is payload's";
  EXPECT_TRUE(admission.Admit({.results = kSmallAnswerBytes}).ok());
  AdmissionTicket merging = *admission.Admit({.payload = 1});
  EXPECT_FALSE(merging.TryHold({.results = kLarge}).ok());
  answers[1].Answered(/*answer_bytes=*/4, /*call_bytes=*/0);
  EXPECT_TRUE(merging.TryHold({.results = kLarge}).ok()) << "an answer became a small one";
  answers.clear();
  EXPECT_EQ(admission.state().large_answer_bytes, kLarge);
  merging.Release();
  EXPECT_EQ(admission.state().large_answer_bytes, 0);
}

TEST(AdmissionTest, OneLargeAnswerMayHoldMoreThanHalf) {
  AdmissionController admission(Options(100, 8 * kLarge));
  AdmissionTicket small = *admission.Admit({.results = 1});
  AdmissionTicket alone = *admission.Admit({.results = 7 * kLarge});
  EXPECT_FALSE(admission.Admit({.results = kLarge}).ok());
  EXPECT_TRUE(admission.Admit({.payload = kLarge - 1}).ok());
  alone.Release();
  EXPECT_TRUE(admission.Admit({.results = kLarge}).ok());
}

TEST(AdmissionTest, WhoIsRefusedForWantOfBytesMissesThem) {
  AdmissionController admission(Options(2, 8 * kLarge));
  EXPECT_EQ(admission.TakeMissingBytes(), 0);
  AdmissionTicket first = *admission.Admit({.payload = kLarge, .results = 3 * kLarge});
  EXPECT_FALSE(admission.Admit({.results = 2 * kLarge}).ok());
  EXPECT_FALSE(admission.Admit({.payload = 7 * kLarge}).ok());
  EXPECT_FALSE(admission.Admit({.payload = 5 * kLarge}).ok());
  EXPECT_EQ(admission.TakeMissingBytes(), 3 * kLarge) << "the most that one of them missed";
  EXPECT_EQ(admission.TakeMissingBytes(), 0);
  EXPECT_FALSE(admission.Admit({.results = 2 * kLarge}).ok());
  EXPECT_EQ(admission.TakeMissingBytes(), kLarge) << "of the answers' half";
  AdmissionTicket second = *admission.Admit({});
  EXPECT_FALSE(admission.Admit({}).ok());
  EXPECT_FALSE(admission.Admit({.payload = 9 * kLarge}).ok());
  EXPECT_EQ(admission.TakeMissingBytes(), 0) << "no bytes help whom places, or limits, refuse";
}

constexpr std::int64_t kSmall = kTinyAnswerBytes + 1;

TEST(AdmissionTest, AllAnswersHoldThreeQuartersOfTheBytesBeforeOneThatIsNotTiny) {
  AdmissionController admission(Options(100, 8 * kSmall));
  AdmissionTicket alone = *admission.Admit({.results = 7 * kSmall});
  EXPECT_FALSE(admission.Admit({.results = kSmall}).ok());
  alone.Answered(kTinyAnswerBytes, /*call_bytes=*/1 + 4 * kSmall);
  AdmissionTicket sixth = *admission.Admit({.results = kSmall});
  const absl::Status seventh = admission.Admit({.results = kSmall}).status();
  EXPECT_TRUE(MayRetry(seventh));
  EXPECT_EQ(seventh.message(),
            "the limit of 24582 bytes of all answers in flight is reached (--max-bytes-in-flight)");
  EXPECT_EQ(admission.state().refused_answers, 2U);
  EXPECT_EQ(admission.TakeMissingBytes(), 2 * kSmall) << "the first of them missed most";
  EXPECT_TRUE(admission.Admit({.payload = 2 * kSmall}).ok()) << "a quarter is payload's";
  EXPECT_TRUE(admission.Admit({.payload = kSmall, .results = kTinyAnswerBytes}).ok());
  sixth.Release();
  EXPECT_TRUE(admission.Admit({.results = kSmall}).ok());
  alone.Release();
  EXPECT_EQ(admission.state().answer_bytes, 0);
}

TEST(AdmissionTest, SmallAnswersCountAgainstLargeOnesButForOneAlone) {
  AdmissionController admission(Options(100, 8 * kLarge));
  AdmissionTicket small = *admission.Admit({});
  small.Answered(/*answer_bytes=*/4, /*call_bytes=*/5 * kLarge);
  AdmissionTicket first = *admission.Admit({.results = 2 * kLarge});
  EXPECT_FALSE(admission.Admit({.results = kLarge}).ok()) << "8 of 8 would be answers";
  small.Release();
  EXPECT_TRUE(admission.Admit({.results = kLarge}).ok());
}

TEST(AdmissionTest, BeyondThreeQuartersAnswersAreMissedThoughNobodyIsRefused) {
  AdmissionController admission(Options(100, 8 * kLarge));
  AdmissionTicket alone = *admission.Admit({.results = 7 * kLarge});
  EXPECT_LE(admission.TakeMissingBytes(), 0) << "one large answer may hold more";
  AdmissionTicket tiny = *admission.Admit({.results = 1});
  tiny.Answered(/*answer_bytes=*/1, /*call_bytes=*/2 * kLarge + 4);
  EXPECT_EQ(admission.TakeMissingBytes(), 5) << "beside its half";
  alone.Release();
  EXPECT_LE(admission.TakeMissingBytes(), 0);
}

// A call without a tensor, such as GetServerInfo.
TEST(AdmissionTest, ACallWithoutATensorHoldsItsAnswerAndNoPlace) {
  AdmissionController admission(Options(1, 8 * kSmall));
  AdmissionTicket request = *admission.Admit({});
  AdmissionTicket call = *admission.AdmitCall(/*call_bytes=*/7);
  EXPECT_EQ(admission.state().requests_in_flight, 1);
  EXPECT_EQ(admission.state().answers_unwritten, 1);
  EXPECT_EQ(admission.state().bytes_in_flight, 7);
  EXPECT_TRUE(call.TryHoldAnswer(kSmall).ok());
  EXPECT_EQ(admission.state().bytes_in_flight, 7 + kSmall);
  call.Answered(kSmall, /*call_bytes=*/7);
  EXPECT_EQ(admission.state().answer_bytes, 7 + kSmall);
  AdmissionTicket second = *admission.AdmitCall(/*call_bytes=*/7);
  const absl::Status full = second.TryHoldAnswer(5 * kSmall);
  EXPECT_TRUE(MayRetry(full));
  EXPECT_EQ(full.message(), "the answer has no room now (--max-bytes-in-flight)");
  const absl::Status never = second.TryHoldAnswer(6 * kSmall);
  EXPECT_EQ(never.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(MayRetry(never));
  EXPECT_EQ(never.message(),
            "the answer is above the 24582 bytes that answers hold at a time "
            "(--max-bytes-in-flight)");
  EXPECT_EQ(admission.state().refused_answers, 1U);
  EXPECT_EQ(admission.state().refused_too_large, 1U);
  EXPECT_EQ(admission.state().bytes_in_flight, 14 + kSmall) << "what is refused holds nothing";
  call.Release();
  second.Release();
  EXPECT_EQ(admission.state().answers_unwritten, 0);
  EXPECT_EQ(admission.state().bytes_in_flight, 0);
}

TEST(AdmissionTest, SomeCallsWithoutATensorComeInThoughAllIsFull) {
  AdmissionController admission(Options(1, 1000));
  AdmissionTicket request = *admission.Admit({.payload = 1000});
  std::vector<AdmissionTicket> calls;
  for (int i = 0; i < kCallsWithoutRoomMax; ++i) calls.push_back(*admission.AdmitCall(1));
  EXPECT_TRUE(calls[0].TryHoldAnswer(kTinyAnswerBytes).ok());
  const absl::Status refused = admission.AdmitCall(1).status();
  EXPECT_TRUE(MayRetry(refused));
  EXPECT_EQ(refused.message(), "the answer has no room now (--max-bytes-in-flight)");
  EXPECT_EQ(admission.TakeMissingBytes(), kCallsWithoutRoomMax + 1);
  calls[0].Answered(/*answer_bytes=*/1, /*call_bytes=*/1);
  EXPECT_FALSE(admission.AdmitCall(1).ok()) << "it is not written yet";
  calls[0].Release();
  EXPECT_TRUE(admission.AdmitCall(1).ok());
}

TEST(AdmissionTest, WhileThereIsRoomAnyNumberOfCallsWithoutATensorComesIn) {
  AdmissionController admission(Options(1, 4 * kCallsWithoutRoomMax));
  std::vector<AdmissionTicket> calls;
  for (int i = 0; i < 3 * kCallsWithoutRoomMax; ++i) calls.push_back(*admission.AdmitCall(1));
  EXPECT_FALSE(admission.AdmitCall(1).ok()) << "a quarter is payload's";
}

TEST(AdmissionTest, ShortOfMemoryItRefusesAnswersThatAreNotTiny) {
  AdmissionController admission({});
  admission.SetPressure(Pressure::kCritical);
  AdmissionTicket call = *admission.AdmitCall(1);
  EXPECT_TRUE(call.TryHoldAnswer(kTinyAnswerBytes).ok());
  EXPECT_TRUE(MayRetry(call.TryHoldAnswer(kSmall)));
  EXPECT_EQ(admission.state().refused_pressure, 1U);
}

TEST(AdmissionTest, WhoWaitedTooLongIsRefusedForNow) {
  AdmissionController admission({});
  const absl::Status refused = admission.RefuseQueued(std::chrono::milliseconds(5));
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(refused.message(),
            "the request waited its turn for longer than 5 ms (--queue-timeout-ms)");
  EXPECT_EQ(admission.state().refused_queue_timeout, 1U);
}

TEST(AdmissionTest, WhoHoldsTooMuchWhileItWaitsForItsClientIsRefusedForNow) {
  AdmissionController admission({});
  AdmissionTicket ticket = *admission.Expect({});
  const absl::Status refused = ticket.RefuseBeyond(7);
  EXPECT_TRUE(std::holds_alternative<RetryLater>(*RefusalOf(refused))) << refused;
  EXPECT_EQ(refused.message(),
            "the limit of 7 bytes of streams that wait for their clients is reached");
  EXPECT_EQ(admission.state().refused_bytes, 1U);
  ticket.Release();
  EXPECT_TRUE(ticket.RefuseBeyond(7).ok()) << "it is refused already";
}

}  // namespace
}  // namespace warpfold
