// How tensors are cut into stripes, and the threads that send them.
#include "client/cpp/stripes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "client/cpp/client.h"
#include "client/cpp/fan_out.h"
#include "kernels/values.h"
#include "tests/client/fake_service.h"

namespace warpfold::client {
namespace {

using testing::ElementsAre;
using Join = StripePlan::Join;

// The plan for zeros of `shape`, with 2 connections and stripes of `bytes_min`.
std::optional<StripePlan> Plan(const std::vector<std::int64_t>& shape,
                               const std::vector<std::int64_t>& axes, std::int64_t bytes_min,
                               bool keepdims = false, StripeLimits limits = {}) {
  const std::vector<std::byte> zeros(static_cast<std::size_t>(*TensorBytes(v1::DTYPE_F32, shape)));
  limits.connections = 2;
  limits.stripe_bytes_min = bytes_min;
  const Op ops[] = {v1::OP_SUM};
  return PlanStripes({v1::DTYPE_F32, shape, zeros}, axes, ops, keepdims, limits);
}

// Stripes are what they say: one behind the other, all of the tensor.
void ExpectWhole(const StripePlan& plan, const std::vector<std::int64_t>& shape) {
  std::size_t next_byte = 0;
  for (const Stripe& stripe : plan.stripes) {
    EXPECT_EQ(stripe.first_byte, next_byte);
    EXPECT_EQ(*TensorBytes(v1::DTYPE_F32, stripe.shape), static_cast<std::int64_t>(stripe.bytes));
    next_byte += stripe.bytes;
  }
  EXPECT_EQ(static_cast<std::int64_t>(next_byte), *TensorBytes(v1::DTYPE_F32, shape));
}

TEST(StripesTest, AFlatTensorIsCutAnywhere) {
  const std::vector<std::int64_t> shape = {100'000};
  const auto plan = Plan(shape, {}, 100'002);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->join, Join::kMerge);
  ExpectWhole(*plan, shape);
  ASSERT_EQ(plan->stripes.size(), 4U);
  EXPECT_THAT(plan->stripes[1].shape, ElementsAre(25'000));
  EXPECT_EQ(plan->stripes[1].offset, 25'000);
}

TEST(StripesTest, MergedRunsAreCutAsOne) {
  const std::vector<std::int64_t> shape = {1, 30, 1, 4000};
  const auto plan = Plan(shape, {1, -1}, 200'004);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->join, Join::kMerge);
  ExpectWhole(*plan, shape);
  EXPECT_THAT(plan->whole_shape, ElementsAre(1, 120'000, 1, 1));
  const PartOfWhole part = PartOf(*plan, plan->stripes[1]);
  EXPECT_EQ(part.whole_shape, plan->whole_shape);
  EXPECT_THAT(part.offset, ElementsAre(0, plan->stripes[1].offset, 0, 0));
  EXPECT_THAT(plan->stripes[1].shape, ElementsAre(1, 50'001, 1, 1));
  EXPECT_EQ(plan->stripes[1].offset, 50'001);
}

TEST(StripesTest, ColumnsAreCutAtAnyRow) {
  const auto columns = Plan({10'001, 50}, {0}, 1);
  ASSERT_TRUE(columns.has_value());
  ExpectWhole(*columns, {10'001, 50});
  EXPECT_THAT(columns->stripes[0].shape, ElementsAre(1250, 50));
  EXPECT_EQ(columns->join, Join::kMerge);

  const auto inside = Plan({1001, 5, 10}, {0, 2}, 1);
  ASSERT_TRUE(inside.has_value());
  ExpectWhole(*inside, {1001, 5, 10});
  EXPECT_THAT(inside->stripes[0].shape, ElementsAre(125, 5, 10));
}

TEST(StripesTest, WhereTheOutermostDimensionIsKeptResultsAreConcatenated) {
  const auto plan = Plan({1, 100, 1000}, {-1}, 70'000);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->join, Join::kConcatenate);
  ExpectWhole(*plan, {1, 100, 1000});
  EXPECT_THAT(plan->stripes[0].shape, ElementsAre(1, 17, 1000));
  EXPECT_EQ(plan->result_dimension, 1U);
  EXPECT_EQ(plan->index_results, 1);
  EXPECT_EQ(Plan({100, 1000, 5}, {1}, 70'000)->index_results, 5);
  EXPECT_EQ(Plan({1, 100, 1000}, {0, -1}, 70'000)->result_dimension, 0U);
  EXPECT_EQ(Plan({1, 100, 1000}, {0, -1}, 70'000, /*keepdims=*/true)->result_dimension, 1U);
}

TEST(StripesTest, LargeTensorsHaveAsManyStripesAsKeepConnectionsBusy) {
  const auto plan = Plan({1 << 20}, {}, 1);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->stripes.size(), 8U);  // 4 for each of 2 connections
}

TEST(StripesTest, WhatIsNotWorthItIsNotCut) {
  EXPECT_FALSE(Plan({1000}, {}, 4000));      // one stripe
  EXPECT_FALSE(Plan({}, {}, 1));             // a scalar
  EXPECT_FALSE(Plan({0, 5}, {}, 1));         // nothing
  EXPECT_FALSE(Plan({1000, 1000}, {2}, 1));  // no server takes these axes
  EXPECT_FALSE(Plan({1000, 1000}, {0, -2}, 1));
  EXPECT_FALSE(Plan({64, 100'000}, {0}, 1));  // states as large as the tensor
  EXPECT_TRUE(Plan({64, 100'000}, {1}, 1));
  StripeLimits small_messages;
  small_messages.message_bytes_max = 1000;
  EXPECT_FALSE(Plan({10'000, 100}, {0}, 1, false, small_messages));
  EXPECT_TRUE(Plan({10'000, 100}, {0}, 1));
  // A sum of f32 has 48 bytes at most, and a count of NaNs 8.
  StripeLimits small_results;
  small_results.result_bytes_max = 5600 - 1;
  EXPECT_FALSE(Plan({10'000, 100}, {0}, 1, false, small_results));
  small_results.result_bytes_max = 5600;
  EXPECT_TRUE(Plan({10'000, 100}, {0}, 1, false, small_results));
}

TEST(StripesTest, TheServersStatesHaveNoMoreThanThatForAnOp) {
  const std::pair<warpfold::DType, DType> dtypes[] = {
      {warpfold::DType::kBool, v1::DTYPE_BOOL}, {warpfold::DType::kI8, v1::DTYPE_I8},
      {warpfold::DType::kU16, v1::DTYPE_U16},   {warpfold::DType::kI32, v1::DTYPE_I32},
      {warpfold::DType::kU64, v1::DTYPE_U64},   {warpfold::DType::kF16, v1::DTYPE_F16},
      {warpfold::DType::kBF16, v1::DTYPE_BF16}, {warpfold::DType::kF32, v1::DTYPE_F32},
      {warpfold::DType::kF64, v1::DTYPE_F64}};
  const std::pair<warpfold::Op, Op> ops[] = {
      {warpfold::Op::kSum, v1::OP_SUM},           {warpfold::Op::kMin, v1::OP_MIN},
      {warpfold::Op::kMean, v1::OP_MEAN},         {warpfold::Op::kProd, v1::OP_PROD},
      {warpfold::Op::kVar, v1::OP_VAR},           {warpfold::Op::kL1Norm, v1::OP_L1_NORM},
      {warpfold::Op::kL2Norm, v1::OP_L2_NORM},    {warpfold::Op::kArgMin, v1::OP_ARGMIN},
      {warpfold::Op::kNanCount, v1::OP_NAN_COUNT}};
  for (const auto& [dtype_of_server, dtype] : dtypes) {
    for (const auto& [op_of_server, op] : ops) {
      std::int64_t bytes = 0;
      for (const ValueKind kind :
           ValueKindsOf(dtype_of_server, {op_of_server}, NanPolicy::kPropagate)) {
        bytes += static_cast<std::int64_t>(ValueBytesMax(kind, dtype_of_server));
      }
      EXPECT_GT(bytes, 0);
      EXPECT_GE(StateBytesMax(op, dtype), bytes) << Name(op) << " of " << Name(dtype);
      EXPECT_LE(StateBytesMax(op, dtype), bytes + 12) << Name(op) << " of " << Name(dtype);
    }
  }
}

TEST(FanOutTest, EveryPieceIsDoneOnce) {
  for (const int workers : {1, 3, 20}) {
    std::vector<std::atomic<int>> done(10);
    const absl::Status status =
        FanOut(workers, done.size(), {}, [&](int worker, std::size_t piece, const auto&) {
          EXPECT_LT(worker, workers);
          ++done[piece];
          return absl::OkStatus();
        });
    EXPECT_TRUE(status.ok()) << status;
    for (const auto& count : done) EXPECT_EQ(count, 1);
  }
}

TEST(FanOutTest, TheFirstFailureStopsTheOthers) {
  std::atomic<int> begun = 0;
  const absl::Status status =
      FanOut(2, 1000, {}, [&](int, std::size_t piece, const std::stop_token& stop) -> absl::Status {
        ++begun;
        if (piece == 1) return absl::DataLossError("planned");
        if (piece == 0) {
          while (!stop.stop_requested()) std::this_thread::yield();
          return absl::CancelledError("stopped");
        }
        return absl::OkStatus();
      });
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(begun, 2);
}

TEST(FanOutTest, AStopRequestIsCancelledUnlessAllIsDone) {
  std::stop_source stop;
  const auto stop_at = [&](std::size_t last) {
    return [&stop, last](int, std::size_t piece, const std::stop_token&) {
      if (piece == last) stop.request_stop();
      return absl::OkStatus();
    };
  };
  EXPECT_TRUE(FanOut(1, 5, stop.get_token(), stop_at(4)).ok());
  stop = {};
  EXPECT_EQ(FanOut(1, 5, stop.get_token(), stop_at(2)).code(), absl::StatusCode::kCancelled);
}

TEST(FanOutTest, ProgressOfAllIsOneNumber) {
  std::vector<std::int64_t> seen;
  const ProgressCallback callback = [&](std::int64_t sent) { seen.push_back(sent); };
  SharedProgress progress(callback, 2);
  const ProgressCallback first = progress.Of(0);
  const ProgressCallback second = progress.Of(1);
  first(10);
  second(5);
  first(2);  // tried again
  second(6);
  EXPECT_THAT(seen, ElementsAre(10, 15, 7, 8));
  EXPECT_FALSE(SharedProgress(ProgressCallback(), 1).Of(0));
}

// Retries and failures of single stripes; the bits are tests/e2e/stripes_test.cc's.
class StripedClientTest : public testing::Test {
 protected:
  StripedClientTest() {
    ClientOptions options;
    options.retry.backoff_first = std::chrono::milliseconds(1);
    options.stripe_threshold_bytes = 1000;
    options.stripe_bytes_min = 400;
    options.connections = 3;
    client_ = *Client::Connect(server_.address(), options);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const std::size_t row = i / 100;
      values_[i] = static_cast<float>(row);
    }
  }
  absl::StatusOr<ReduceAnswer> RowSums() {
    return client_->Reduce({v1::DTYPE_F32, {20, 100}, std::as_bytes(std::span(values_))},
                           {.ops = {v1::OP_SUM}, .axes = {1}});
  }

  FakeServer server_;
  std::vector<float> values_ = std::vector<float>(2000);
  std::unique_ptr<Client> client_;
};

TEST_F(StripedClientTest, AStripeIsTriedAgainByItself) {
  server_.service().FailNext(2, {grpc::StatusCode::UNAVAILABLE, "planned", {}, {}}, 3);
  const auto answer = RowSums();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(server_.service().unary_calls(), 20 + 2);
  EXPECT_GT(answer->attempts, 1);
  EXPECT_THAT(answer->results[0].tensor.shape, ElementsAre(20));
  std::vector<float> sums(20);
  std::memcpy(sums.data(), answer->results[0].tensor.data.data(), 80);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(sums[i], 100.0F * static_cast<float>(i));
}

TEST_F(StripedClientTest, AFailureThatIsFinalEndsTheCall) {
  server_.service().FailNext(1, {grpc::StatusCode::INVALID_ARGUMENT, "planned", {}, {}}, 3);
  const auto answer = RowSums();
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kInvalidArgument) << answer.status();
}

}  // namespace
}  // namespace warpfold::client
