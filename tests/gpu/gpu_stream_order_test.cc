// Reductions launch before what precedes them in their stream has ended, and must not read before
// it has: a copy in that stream, a copy in another one behind an event, another reduction.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "kernels/plan.h"
#include "server/device/cuda/memory/cuda_resources.h"
#include "tests/gpu/device_reduction.h"
#include "tests/gpu/gpu_fixture.h"
#include "tests/gpu/gpu_shape.h"
#include "tests/kernels/effort.h"

namespace warpfold {
namespace {

const int kRounds = testing::Rounds(40);
// One launch, two with few and with many partials, three.
std::vector<std::int64_t> Counts() {
  return testing::IsBrief() ? std::vector<std::int64_t>{1000, 1 << 15}
                            : std::vector<std::int64_t>{1000, 1 << 16, 1 << 20, 1 << 25};
}

// A fold with few accumulators, one with indices, one with many.
std::vector<std::vector<Op>> OpSets() {
  return {{Op::kSum},
          {Op::kArgMax, Op::kArgMin},
          {Op::kSum, Op::kMean, Op::kVar, Op::kMin, Op::kMax, Op::kL1Norm}};
}

class GpuStreamOrderTest : public GpuFixture {
 protected:
  void SetUp() override {
    GpuFixture::SetUp();
    if (IsSkipped()) return;
    copies_ = *cuda::MakeStream();
    copied_ = *cuda::MakeTimingEvent();
    folded_ = *cuda::MakeTimingEvent();
  }

  // One reduction for each round, so that every round's results last.
  static std::vector<std::unique_ptr<DeviceReduction>> ReductionOfEachRound(const Plan& plan) {
    std::vector<std::unique_ptr<DeviceReduction>> reductions;
    for (int round = 0; round < kRounds; ++round) {
      reductions.push_back(std::make_unique<DeviceReduction>(plan, TestedShape()));
    }
    return reductions;
  }

  cuda::UniqueStream copies_;
  cuda::UniqueEvent copied_, folded_;
};

// Two tensors that differ in every result, both on the device.
struct TwoTensors {
  explicit TwoTensors(std::int64_t count)
      : bytes(static_cast<std::size_t>(count) * sizeof(std::int32_t)) {
    for (int i = 0; i < 2; ++i) {
      std::vector<std::int32_t> host(static_cast<std::size_t>(count), i == 0 ? 3 : -5);
      host[static_cast<std::size_t>(i == 0 ? count - 1 : count / 3)] = 1000;
      host[static_cast<std::size_t>(i == 0 ? count / 2 : 1)] = -1000 - i;
      d_data[i] = *cuda::AllocateDevice(bytes);
      EXPECT_EQ(cudaMemcpy(d_data[i].get(), host.data(), bytes, cudaMemcpyHostToDevice),
                cudaSuccess);
    }
  }
  std::size_t bytes;
  cuda::UniqueDeviceMemory d_data[2];
};

// The results by passes that overlap with nothing.
std::vector<std::string> Alone(const Plan& plan, const void* d_data, cudaStream_t stream) {
  cuda::DeviceShape shape = TestedShape();
  shape.overlaps_passes = false;
  const DeviceReduction alone(plan, shape);
  alone.Enqueue(d_data, stream);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  return alone.Results();
}

TEST_F(GpuStreamOrderTest, ReadsWhatCopiesBeforeItHaveWritten) {
  for (const std::int64_t count : Counts()) {
    const TwoTensors tensors(count);
    auto d_input = *cuda::AllocateDevice(tensors.bytes);
    for (const std::vector<Op>& ops : OpSets()) {
      const Plan plan = *MakePlan({.dtype = DType::kI32, .shape = {count}, .ops = ops});
      const std::vector<std::string> expected[] = {
          Alone(plan, tensors.d_data[0].get(), stream_.get()),
          Alone(plan, tensors.d_data[1].get(), stream_.get())};
      ASSERT_NE(expected[0], expected[1]);
      const auto reductions = ReductionOfEachRound(plan);
      for (int round = 0; round < kRounds; ++round) {
        // In the stream itself, or in another one, as the server's workers do.
        const bool is_elsewhere = round % 4 >= 2;
        cudaStream_t copies = is_elsewhere ? copies_.get() : stream_.get();
        if (is_elsewhere) {
          ASSERT_EQ(cudaEventRecord(folded_.get(), stream_.get()), cudaSuccess);
          ASSERT_EQ(cudaStreamWaitEvent(copies, folded_.get(), 0), cudaSuccess);
        }
        ASSERT_EQ(cudaMemcpyAsync(d_input.get(), tensors.d_data[round % 2].get(), tensors.bytes,
                                  cudaMemcpyDeviceToDevice, copies),
                  cudaSuccess);
        if (is_elsewhere) {
          ASSERT_EQ(cudaEventRecord(copied_.get(), copies), cudaSuccess);
          ASSERT_EQ(cudaStreamWaitEvent(stream_.get(), copied_.get(), 0), cudaSuccess);
        }
        reductions[static_cast<std::size_t>(round)]->Enqueue(d_input.get(), stream_.get());
      }
      ASSERT_EQ(cudaStreamSynchronize(stream_.get()), cudaSuccess);
      for (int round = 0; round < kRounds; ++round) {
        ASSERT_EQ(reductions[static_cast<std::size_t>(round)]->Results(), expected[round % 2])
            << count << " elements, " << ops.size() << " ops, round " << round;
      }
    }
  }
}

// The maxima of rows, which are the next reduction's elements; all rounds share the memory between.
TEST_F(GpuStreamOrderTest, ReadsWhatReductionsBeforeItHaveWritten) {
  for (const std::int64_t rows : {100, testing::IsBrief() ? 200 : 1 << 14}) {
    for (const std::int64_t columns : {4, 1000, 5000}) {
      const Plan of_rows = *MakePlan(
          {.dtype = DType::kI32, .shape = {rows, columns}, .ops = {Op::kMax}, .axes = {1}});
      const DeviceReduction shared(of_rows, TestedShape());
      const TwoTensors tensors(rows * columns);
      const auto reductions = ReductionOfEachRound(*MakePlan(
          {.dtype = DType::kI32, .shape = {rows}, .ops = {Op::kArgMax, Op::kMax, Op::kSum}}));
      for (int round = 0; round < kRounds; ++round) {
        shared.Enqueue(tensors.d_data[round % 2].get(), stream_.get());
        reductions[static_cast<std::size_t>(round)]->Enqueue(shared.d_results(0), stream_.get());
      }
      ASSERT_EQ(cudaStreamSynchronize(stream_.get()), cudaSuccess);
      const std::vector<std::string> even = reductions[0]->Results();
      const std::vector<std::string> odd = reductions[1]->Results();
      ASSERT_NE(even, odd);
      // The first tensor's largest element is its last, in the last row; of the second, in another.
      std::int64_t arg_max = 0;
      std::memcpy(&arg_max, even[0].data(), sizeof(arg_max));
      EXPECT_EQ(arg_max, rows - 1);
      std::memcpy(&arg_max, odd[0].data(), sizeof(arg_max));
      EXPECT_EQ(arg_max, rows * columns / 3 / columns);
      for (int round = 2; round < kRounds; ++round) {
        ASSERT_EQ(reductions[static_cast<std::size_t>(round)]->Results(),
                  round % 2 == 0 ? even : odd)
            << rows << " rows of " << columns << ", round " << round;
      }
    }
  }
}

}  // namespace
}  // namespace warpfold
