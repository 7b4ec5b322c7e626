#include "server/core/open_calls.h"

#include <chrono>
#include <optional>
#include <variant>

#include "gtest/gtest.h"
#include "server/core/admission.h"
#include "server/core/refusal.h"

namespace warpfold {
namespace {

TEST(OpenCallsTest, AsManyAsFillTheBytesInFlightAndNoMore) {
  OpenCalls calls(3000 * kOpenCallBytes);
  EXPECT_EQ(calls.max(), 3000);
  for (int i = 0; i < 3000; ++i) ASSERT_TRUE(calls.Enter().ok());
  const absl::Status refused = calls.Enter();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(refused.message(),
            "the limit of 3000 calls that wait for their clients is reached "
            "(--max-bytes-in-flight)");
  const std::optional<Refusal> refusal = RefusalOf(refused);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(std::get<RetryLater>(*refusal).delay, std::chrono::seconds(1));
  EXPECT_EQ(calls.refused(), 1U);
  EXPECT_EQ(calls.count(), 3001) << "the refused one is there until it leaves";
}

TEST(OpenCallsTest, OneThatLeavesMakesRoomAndOneThatEndsIsNotRefused) {
  OpenCalls calls(0);
  EXPECT_EQ(calls.max(), OpenCalls::kCallsMaxMin);
  for (int i = 0; i < calls.max(); ++i) calls.EnterEnding();
  EXPECT_EQ(calls.refused(), 0U);
  EXPECT_FALSE(calls.Enter().ok());
  calls.Leave();
  calls.Leave();
  EXPECT_TRUE(calls.Enter().ok());
  EXPECT_EQ(calls.count(), calls.max());
}

TEST(OpenCallsTest, ANewLimitIsForTheNext) {
  OpenCalls calls(0);
  for (int i = 0; i < calls.max(); ++i) ASSERT_TRUE(calls.Enter().ok());
  EXPECT_FALSE(calls.Enter().ok());
  calls.SetBytesMax(2048 * kOpenCallBytes);
  EXPECT_TRUE(calls.Enter().ok());
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
