#include "server/core/admission/open_calls.h"

#include <chrono>
#include <deque>
#include <optional>
#include <variant>
#include <vector>

#include "gtest/gtest.h"
#include "server/core/admission/admission.h"
#include "server/core/base/refusal.h"

namespace warpfold {
namespace {

// One connection each, unless a test says otherwise.
class OpenCallsTest : public ::testing::Test {
 protected:
  static absl::Status Enter(OpenCalls& calls, OpenCalls::Place& place) {
    static std::deque<OpenCalls::Share> shares;
    return calls.Enter(place, shares.emplace_back());
  }
};

TEST_F(OpenCallsTest, AsManyAsFillTheBytesInFlightAndNoMore) {
  OpenCalls calls(3000 * kOpenCallBytes);
  EXPECT_EQ(calls.max(), 3000);
  std::vector<OpenCalls::Place> places(3751);
  for (int i = 0; i < 3750; ++i) ASSERT_TRUE(Enter(calls, places[i]).ok());
  const absl::Status refused = Enter(calls, places[3750]);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(refused.message(),
            "the limit of 3750 calls that wait for their clients is reached "
            "(--max-bytes-in-flight)");
  const std::optional<Refusal> refusal = RefusalOf(refused);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(std::get<RetryLater>(*refusal).delay, std::chrono::seconds(1));
  EXPECT_EQ(calls.refused(), 1U);
  EXPECT_EQ(calls.count(), 3751) << "the refused one is there until it leaves";
  for (OpenCalls::Place& place : places) calls.Leave(place);
  EXPECT_EQ(calls.count(), 0);
  calls.Leave(places[0]);
  EXPECT_EQ(calls.count(), 0) << "each once";
}

TEST_F(OpenCallsTest, ThereIsAQuarterMoreForConnectionsThatHaveFew) {
  constexpr int kCallsMax = 4000;
  OpenCalls calls(kCallsMax * kOpenCallBytes);
  std::deque<OpenCalls::Place> places;
  const auto enter_all = [&](OpenCalls::Share& share) {
    int entered = 0;
    while (calls.Enter(places.emplace_back(), share).ok()) ++entered;
    return entered;
  };
  OpenCalls::Share first;
  EXPECT_EQ(enter_all(first), kCallsMax);
  EXPECT_EQ(calls.Enter(places.emplace_back(), first).message(),
            "the limit of 4000 calls that wait for their clients is reached "
            "(--max-bytes-in-flight)");
  std::deque<OpenCalls::Share> hostile(100);
  for (OpenCalls::Share& share : hostile) EXPECT_EQ(enter_all(share), kFewCalls);
  OpenCalls::Share honest;
  EXPECT_EQ(enter_all(honest), kFewCalls) << "whoever takes the rest";
  for (OpenCalls::Place& place : places) calls.Leave(place);
  EXPECT_EQ(calls.count(), 0);
  EXPECT_EQ(enter_all(first), kCallsMax) << "who has left has none";
}

// While a flood is refused its refusals wait for the server as all does.
TEST_F(OpenCallsTest, ThoseThatEndKeepNobodyOut) {
  OpenCalls calls(0);
  EXPECT_EQ(calls.max(), OpenCalls::kCallsMaxMin);
  constexpr int kCallsMax = OpenCalls::kCallsMaxMin * 5 / 4;
  std::vector<OpenCalls::Place> open(kCallsMax);
  for (OpenCalls::Place& place : open) ASSERT_TRUE(Enter(calls, place).ok());
  std::vector<OpenCalls::Place> refused(2 * kCallsMax);
  for (OpenCalls::Place& place : refused) EXPECT_FALSE(Enter(calls, place).ok());
  EXPECT_EQ(calls.count(), 3 * kCallsMax);
  calls.Leave(open[0]);
  calls.End(open[1]);
  OpenCalls::Place next;
  EXPECT_TRUE(Enter(calls, next).ok());
  OpenCalls::Place after;
  EXPECT_TRUE(Enter(calls, after).ok()) << "one is refused, and leaves its place";
  OpenCalls::Place last;
  EXPECT_FALSE(Enter(calls, last).ok());
}

TEST_F(OpenCallsTest, ANewLimitIsForTheNext) {
  OpenCalls calls(0);
  constexpr int kCallsMax = OpenCalls::kCallsMaxMin * 5 / 4;
  std::vector<OpenCalls::Place> places(kCallsMax + 2);
  for (int i = 0; i < kCallsMax; ++i) ASSERT_TRUE(Enter(calls, places[i]).ok());
  EXPECT_FALSE(Enter(calls, places[kCallsMax]).ok());
  calls.SetBytesMax(2048 * kOpenCallBytes);
  EXPECT_TRUE(Enter(calls, places[kCallsMax + 1]).ok());
}

TEST_F(OpenCallsTest, HoweverManyBytesThereAreNoMoreThanGrpcCanSearch) {
  const std::int64_t enough = OpenCalls::kCallsMax * kOpenCallBytes;
  OpenCalls calls(enough);
  EXPECT_EQ(calls.max(), OpenCalls::kCallsMax);
  EXPECT_EQ(calls.call_bytes(), kOpenCallBytes);
  calls.SetBytesMax(64 * enough);
  EXPECT_EQ(calls.max(), OpenCalls::kCallsMax);
  EXPECT_EQ(calls.call_bytes(), 64 * kOpenCallBytes) << "unread answers are as many";
  calls.SetBytesMax(1);
  EXPECT_EQ(calls.call_bytes(), kOpenCallBytes);
}

// Of an item of a stream: beside the open call that the stream is.
TEST(ChargedRefusalTest, HoldsItsBytesThoughAllAreHeld) {
  AdmissionOptions options;
  options.max_bytes_in_flight = 1000;
  AdmissionController admission(options);
  AdmissionTicket first = admission.ChargeRefusal(999);
  EXPECT_FALSE(admission.IsFull());
  AdmissionTicket second = admission.ChargeRefusal(500);
  EXPECT_TRUE(admission.IsFull());
  EXPECT_EQ(admission.state().requests_in_flight, 0);
  EXPECT_EQ(admission.state().answers_unwritten, 2);
  EXPECT_EQ(admission.state().answer_bytes, 1499);
  EXPECT_EQ(admission.TakeMissingBytes(), 1499 - 750) << "beyond the answers' three quarters";
  EXPECT_FALSE(admission.Admit({.payload = 1}).ok());
  first.Release();
  second.Release();
  EXPECT_FALSE(admission.IsFull());
  EXPECT_EQ(admission.state().answers_unwritten, 0);
  EXPECT_EQ(admission.state().bytes_in_flight, 0);
}

}  // namespace
}  // namespace warpfold
