// Reductions by the library alone, on a stream of the caller's: the CPU's bits, of any dtype and
// shape; enqueued without an allocation or a wait, and replayed from a graph.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "kernels/cuda/reduction.h"
#include "kernels/ops/catalogue.h"
#include "tests/gpu/cuda_calls.h"
#include "tests/gpu/gpu_fixture.h"
#include "tests/gpu/gpu_shape.h"
#include "tests/kernels/cpu_reduce.h"
#include "tests/kernels/effort.h"
#include "tests/kernels/exact/adversarial.h"
#include "tests/kernels/exact/random_spec.h"

namespace warpfold {
namespace {

class GpuReductionTest : public GpuFixture, public ::testing::WithParamInterface<DType> {
 protected:
  void SetUp() override {
    GpuFixture::SetUp();
    if (IsSkipped()) return;
    std::cout << "seed " << kSeed << '\n';
    // A launch that loads its kernel would allocate.
    ASSERT_EQ(cuda::LoadKernels(GetParam()), cudaSuccess);
  }

  static constexpr std::uint64_t kSeed = 20261128;
  std::mt19937_64 random_{kSeed};
};

// One reduction and what it needs, every byte of it in the way at first.
class OnDevice {
 public:
  OnDevice(const ReduceSpec& spec, const cuda::DeviceShape& device, cudaStream_t stream)
      : reduction_(*cuda::Reduction::Make(spec, device)),
        stream_(stream),
        d_tensor_(Filled(static_cast<std::size_t>(plan().input_bytes))),
        d_workspace_(Filled(reduction_.workspace_bytes())),
        d_overflow_(Filled(sizeof(Overflow))) {
    for (const Op op : plan().ops) {
      bytes_.push_back(static_cast<std::size_t>(plan().output_count) *
                       ElementBytes(ResultDType(op, plan().dtype)));
      d_results_.push_back(Filled(bytes_.back()));
      results_.push_back(d_results_.back().get());
    }
    // Streams do not wait for the legacy stream, which filled the memory.
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(reduction_.Prepare(d_workspace_.get(), stream_), cudaSuccess);
  }

  const Plan& plan() const { return reduction_.plan(); }

  // Of elements that lie there already.
  void Enqueue() const {
    EXPECT_EQ(reduction_.Enqueue(d_tensor_.get(), results_,
                                 reinterpret_cast<Overflow*>(d_overflow_.get()), d_workspace_.get(),
                                 stream_),
              cudaSuccess);
  }
  void Put(const std::vector<char>& elements) const {
    const Overflow none;
    EXPECT_EQ(cudaMemcpyAsync(d_tensor_.get(), elements.data(), elements.size(),
                              cudaMemcpyHostToDevice, stream_),
              cudaSuccess);
    EXPECT_EQ(
        cudaMemcpyAsync(d_overflow_.get(), &none, sizeof(none), cudaMemcpyHostToDevice, stream_),
        cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  }
  // The CPU's bits, or that a result does not fit.
  void ExpectResultsOf(const std::vector<char>& elements) const {
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    Overflow overflow;
    EXPECT_EQ(cudaMemcpy(&overflow, d_overflow_.get(), sizeof(overflow), cudaMemcpyDeviceToHost),
              cudaSuccess);
    const testing::Results expected = testing::Reduce(plan(), elements.data(), cpu::Serial);
    const bool is_float = IsFloat(plan().dtype);
    // Which products of floats are refused is each backend's own, and of two ops of an output which
    // one is named.
    if (!is_float) {
      ASSERT_EQ(OverflowStatus(overflow, plan()).code(),
                OverflowStatus(expected.overflow, plan()).code());
      ASSERT_EQ(overflow.output_index, expected.overflow.output_index);
    }
    if (overflow.output_index != Overflow::kNone) return;
    if (expected.overflow.output_index != Overflow::kNone) return;
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      std::string got(bytes_[i], '\0');
      EXPECT_EQ(cudaMemcpy(got.data(), results_[i], got.size(), cudaMemcpyDeviceToHost),
                cudaSuccess);
      ASSERT_TRUE(got == expected.bytes[i]) << Name(plan().ops[i]);
    }
  }

 private:
  static cuda::UniqueDeviceMemory Filled(std::size_t bytes) {
    auto memory = *cuda::AllocateDevice(bytes + 1);
    EXPECT_EQ(cudaMemset(memory.get(), 0xab, bytes + 1), cudaSuccess);
    return memory;
  }

  const cuda::Reduction reduction_;
  const cudaStream_t stream_;
  cuda::UniqueDeviceMemory d_tensor_, d_workspace_, d_overflow_;
  std::vector<cuda::UniqueDeviceMemory> d_results_;
  std::vector<void*> results_;
  std::vector<std::size_t> bytes_;
};

TEST_P(GpuReductionTest, HasTheCpusBits) {
  for (const cuda::DeviceShape& shape : {TestedShape(), kSmallShape}) {
    for (int i = 0; i < testing::Rounds(150) && !HasFailure(); ++i) {
      const ReduceSpec spec = testing::RandomSpec(GetParam(), i % 8 == 0 ? 100'000 : 400, random_);
      SCOPED_TRACE(testing::ToString(spec));
      const OnDevice reduction(spec, shape, stream_.get());
      const std::vector<char> elements = testing::HardTensor(spec, random_);
      reduction.Put(elements);
      const CudaCalls before = CudaCallsOfThread();
      reduction.Enqueue();
      const CudaCalls after = CudaCallsOfThread();
      EXPECT_EQ(after.allocations, before.allocations);
      EXPECT_EQ(after.waits, before.waits);
      reduction.ExpectResultsOf(elements);
      // Once more, in the workspace as that has left it.
      const std::vector<char> others = testing::HardTensor(spec, random_);
      reduction.Put(others);
      reduction.Enqueue();
      reduction.ExpectResultsOf(others);
    }
  }
}

// Of other elements each time, some of which leave undecided outputs and some of which do not.
TEST_P(GpuReductionTest, RunsFromAGraph) {
  for (int i = 0; i < testing::Rounds(40) && !HasFailure(); ++i) {
    const ReduceSpec spec = testing::RandomSpec(GetParam(), i % 4 == 0 ? 100'000 : 2'000, random_);
    SCOPED_TRACE(testing::ToString(spec));
    const OnDevice reduction(spec, TestedShape(), stream_.get());
    // Calls that allocate or wait are refused meanwhile, in every thread.
    ASSERT_EQ(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeGlobal), cudaSuccess);
    reduction.Enqueue();
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(cudaStreamEndCapture(stream_.get(), &graph), cudaSuccess);
    cudaGraphExec_t replay = nullptr;
    ASSERT_EQ(cudaGraphInstantiate(&replay, graph, 0), cudaSuccess);
    for (int run = 0; run < 3; ++run) {
      const std::vector<char> elements = testing::HardTensor(spec, random_);
      reduction.Put(elements);
      ASSERT_EQ(cudaGraphLaunch(replay, stream_.get()), cudaSuccess);
      reduction.ExpectResultsOf(elements);
    }
    EXPECT_EQ(cudaGraphExecDestroy(replay), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  }
}

INSTANTIATE_TEST_SUITE_P(All, GpuReductionTest, ::testing::ValuesIn(kAllDTypes),
                         [](const auto& info) { return std::string(Name(info.param)); });

using GpuReduction = GpuFixture;

TEST_F(GpuReduction, CountsCallsThatAllocateOrWait) {
  const CudaCalls before = CudaCallsOfThread();
  void* memory = nullptr;
  ASSERT_EQ(cudaMallocAsync(&memory, 1, stream_.get()), cudaSuccess);
  ASSERT_EQ(cudaFreeAsync(memory, stream_.get()), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream_.get()), cudaSuccess);
  EXPECT_GE(CudaCallsOfThread().allocations, before.allocations + 2);
  EXPECT_EQ(CudaCallsOfThread().waits, before.waits + 1);
}

// Results where the host reads them without a copy.
TEST_F(GpuReduction, WritesToPinnedMemory) {
  const std::vector<float> elements(1 << 20, 0.1F);
  const cuda::Reduction reduction = *cuda::Reduction::Make(
      {.dtype = DType::kF32, .shape = {1 << 20}, .ops = {Op::kSum, Op::kMean}}, TestedShape());
  const auto d_tensor = *cuda::AllocateDevice(elements.size() * sizeof(float));
  const auto d_workspace = *cuda::AllocateDevice(reduction.workspace_bytes());
  float* pinned = nullptr;
  ASSERT_EQ(cudaHostAlloc(reinterpret_cast<void**>(&pinned), 2 * sizeof(float), 0), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(d_tensor.get(), elements.data(), elements.size() * sizeof(float),
                            cudaMemcpyHostToDevice, stream_.get()),
            cudaSuccess);
  ASSERT_EQ(reduction.Prepare(d_workspace.get(), stream_.get()), cudaSuccess);
  void* const results[] = {pinned, pinned + 1};
  ASSERT_EQ(reduction.Enqueue(d_tensor.get(), results, nullptr, d_workspace.get(), stream_.get()),
            cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream_.get()), cudaSuccess);
  EXPECT_EQ(pinned[0], static_cast<float>((1 << 20) * double{0.1F}));
  EXPECT_EQ(pinned[1], 0.1F);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
}

TEST(Reduction, RefusesWhatItCannotRun) {
  const auto code_of = [](const ReduceSpec& spec) {
    return cuda::Reduction::Make(spec, {}).status().code();
  };
  EXPECT_EQ(code_of({.shape = {2}, .ops = {Op::kSum}, .axes = {1}}),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of({.shape = {0}, .ops = {Op::kSum}}), absl::StatusCode::kInvalidArgument);
  const cuda::Reduction sums =
      *cuda::Reduction::Make({.dtype = DType::kI32, .shape = {4}, .ops = {Op::kSum}}, {});
  int result = 0;
  void* const results[] = {&result};
  EXPECT_EQ(sums.Enqueue(&result, {}, nullptr, nullptr, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(sums.Enqueue(&result, results, nullptr, nullptr, nullptr), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace warpfold
