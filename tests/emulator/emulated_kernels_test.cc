// The CUDA kernels' own text, run by an emulated GPU, against the CPU backend, bit for bit: random
// shapes, alignments and numbers of SMs. One program an element type, WARPFOLD_ELEMENT.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cuda/engine.cuh"
#include "tests/emulator/device.h"
#include "tests/emulator/guarded_memory.h"
#include "tests/kernels/cpu_results.h"
#include "tests/kernels/tensors.h"

namespace warpfold {
namespace {

using T = WARPFOLD_ELEMENT;

DType DTypeOfElement() {
  for (const DType dtype : kAllDTypes) {
    const bool is_it =
        VisitDType(dtype, [](auto tag) { return std::is_same_v<typename decltype(tag)::type, T>; });
    if (is_it) return dtype;
  }
  std::abort();
}
const DType kDType = DTypeOfElement();

// [outer, count, inner], reduced over the count.
ReduceSpec SpecOf(std::int64_t outer, std::int64_t count, std::int64_t inner, std::vector<Op> ops,
                  NanPolicy nan_policy = NanPolicy::kPropagate) {
  return {.dtype = kDType,
          .shape = {outer, count, inner},
          .ops = std::move(ops),
          .axes = {1},
          .nan_policy = nan_policy,
          .correction = 1};
}

std::vector<std::string> ResultsOnEmulator(const Plan& plan, const std::vector<T>& data,
                                           std::size_t offset, const cuda::DeviceShape& device) {
  const emulator::GuardedMemory input(data.size() * sizeof(T), offset);
  std::memcpy(input.data(), data.data(), data.size() * sizeof(T));
  const ResultLayout layout(plan);
  const emulator::GuardedMemory results(layout.total_bytes());
  Overflow overflow;
  Output output;
  output.targets = layout.Targets(plan, results.data());
  output.overflow = &overflow;
  const Extent extent{plan.geometry.outer, plan.geometry.reduce, plan.geometry.inner};
  const cuda::Engine& engine = cuda::EngineFor<T>(plan.bundle());
  const emulator::GuardedMemory scratch(engine.ElementsScratchBytes(extent, device));
  EXPECT_EQ(engine.FoldElements(input.data(), extent, output, scratch.data(), device, nullptr),
            cudaSuccess);
  return layout.Extract(results.data());
}

void ExpectTheCpusBits(const ReduceSpec& spec, const std::vector<T>& data, std::size_t offset,
                       const cuda::DeviceShape& device) {
  const Plan plan = *MakePlan(spec);
  const std::vector<std::string> expected = testing::ResultsOnCpu(plan, data.data());
  const std::vector<std::string> actual = ResultsOnEmulator(plan, data, offset, device);
  for (std::size_t op = 0; op < expected.size(); ++op) {
    ASSERT_TRUE(actual[op] == expected[op])
        << Name(spec.ops[op]) << " of [" << spec.shape[0] << ", " << spec.shape[1] << ", "
        << spec.shape[2] << "], " << spec.ops.size() << " ops, offset " << offset << ", "
        << device.sm_count << " SMs, "
        << (spec.nan_policy == NanPolicy::kOmit ? "without NaN" : "with NaN");
  }
}

constexpr std::uint64_t kSeed = 20261123;

class EmulatedKernelsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    emulator::SetSeed(kSeed);
    std::cout << "seed " << kSeed << '\n';
  }

  // From 1 to `most`, as many small ones as large ones.
  std::int64_t Length(std::int64_t most) {
    std::uniform_real_distribution<double> exponents(0, std::log2(static_cast<double>(most + 1)));
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::exp2(exponents(random_))), 1,
                                    most);
  }
  bool OneIn(unsigned n) { return random_() % n == 0; }

  // Any ops, policy, alignment and GPU.
  void ExpectTheCpusBitsOfAnyOps(std::int64_t outer, std::int64_t count, std::int64_t inner) {
    const std::vector<std::vector<Op>> of_bundles = testing::OpsOfEachBundle();
    const bool omits = kIsFloat<T> && OneIn(4);
    const ReduceSpec spec = SpecOf(outer, count, inner, of_bundles[random_() % of_bundles.size()],
                                   omits ? NanPolicy::kOmit : NanPolicy::kPropagate);
    std::vector<T> data =
        testing::RandomElements<T>(static_cast<std::size_t>(outer * count * inner), random_);
    if (omits) testing::StrewNan(data, random_);
    constexpr int kSmCounts[] = {1, 2, 7, 20, 132};
    const cuda::DeviceShape device{.sm_count = kSmCounts[random_() % std::size(kSmCounts)],
                                   .overlaps_passes = true};
    const std::size_t offset = OneIn(3) ? sizeof(T) * (random_() % (16 / sizeof(T))) : 0;
    ExpectTheCpusBits(spec, data, offset, device);
  }

  std::mt19937_64 random_{kSeed};
};

constexpr std::int64_t kElementsMax = 60'000;

TEST_F(EmulatedKernelsTest, RowsHaveTheCpusBits) {
  for (int i = 0; i < 150; ++i) {
    std::int64_t count = Length(kElementsMax);
    if (OneIn(2)) count = (count + 15) / 16 * 16;  // rows that vectors can load
    const std::int64_t rows =
        OneIn(4) ? 1 : Length(std::max<std::int64_t>(kElementsMax / count, 1));
    ExpectTheCpusBitsOfAnyOps(rows, count, 1);
    if (HasFatalFailure()) return;
  }
}

TEST_F(EmulatedKernelsTest, ColumnsHaveTheCpusBits) {
  for (int i = 0; i < 150; ++i) {
    std::int64_t inner = 1 + Length(4000);
    if (!OneIn(4)) inner = (inner + 15) / 16 * 16;
    const std::int64_t count = Length(std::max<std::int64_t>(kElementsMax / inner, 1));
    const std::int64_t outer = OneIn(3) ? 1 + static_cast<std::int64_t>(random_() % 3) : 1;
    ExpectTheCpusBitsOfAnyOps(outer, count, inner);
    if (HasFatalFailure()) return;
  }
}

// Long columns on a small GPU, with ragged ends.
TEST_F(EmulatedKernelsTest, PipelinedColumnsHaveTheCpusBits) {
  if (!cuda::kPipelinesColumns<PlainFold<T, Sum<T>>>) GTEST_SKIP() << "columns of this type are straight code";
  const cuda::DeviceShape device{.sm_count = 1, .overlaps_passes = true};
  const int before = emulator::LaunchesSoFar().with_shared_memory;
  for (int i = 0; i < 30; ++i) {
    const std::int64_t inner = 4 * (8 + static_cast<std::int64_t>(random_() % 100));
    const std::int64_t count = 300 + static_cast<std::int64_t>(random_() % 2000);
    const std::int64_t outer = 1 + static_cast<std::int64_t>(random_() % 2);
    const std::vector<T> data =
        testing::RandomElements<T>(static_cast<std::size_t>(outer * count * inner), random_);
    for (const Op op : {Op::kSum, Op::kMin}) {
      ExpectTheCpusBits(SpecOf(outer, count, inner, {op}), data, 0, device);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(emulator::LaunchesSoFar().with_shared_memory - before, 20);
}

// A tile of nothing but NaN has no best element, which no other's has to be better than.
TEST_F(EmulatedKernelsTest, FindsTheExtremaBesideTilesOfNan) {
  if constexpr (kIsFloat<T>) {
    const cuda::DeviceShape device{.sm_count = 132, .overlaps_passes = true};
    for (const auto& [rows, tiles] : {std::pair{257, 8}, {40, 5}, {3, 100}}) {
      const std::int64_t row_elements = tiles * kTileElements<T>;
      const std::vector<T> data = testing::RowsWithTilesOfNan<T>(rows, row_elements, random_);
      for (const std::vector<Op>& ops :
           {std::vector<Op>{Op::kArgMin}, std::vector<Op>{Op::kArgMin, Op::kArgMax, Op::kMin}}) {
        ExpectTheCpusBits(SpecOf(rows, row_elements, 1, ops, NanPolicy::kOmit), data, 0, device);
        if (HasFatalFailure()) return;
      }
    }
  } else {
    GTEST_SKIP() << "integers have no NaN";
  }
}

}  // namespace
}  // namespace warpfold
