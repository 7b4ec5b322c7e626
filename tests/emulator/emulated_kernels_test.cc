// The CUDA kernels' own text, run by an emulated GPU, against the CPU backend, bit for bit: random
// shapes, alignments and numbers of SMs.
#include "tests/emulator/emulated_test.h"

namespace warpfold {
namespace {

class EmulatedKernelsTest : public EmulatedTest {
 protected:
  static void ExpectTheCpusBits(const ReduceSpec& spec, const std::vector<T>& data,
                                std::size_t offset, const cuda::DeviceShape& device) {
    const Plan plan = *MakePlan(spec);
    const emulator::GuardedMemory input(data.size() * sizeof(T), offset);
    std::memcpy(input.data(), data.data(), data.size() * sizeof(T));
    const cuda::Engine& engine = cuda::EngineFor<T>(plan.fused_op_set());
    const emulator::GuardedMemory scratch(engine.ElementsScratchBytes(ExtentOf(plan), device));
    const GuardedResults results(plan);
    ASSERT_EQ(engine.FoldElements(input.data(), ExtentOf(plan), results.output(), scratch.data(),
                                  device, nullptr),
              cudaSuccess);
    const std::vector<std::string> expected = testing::ResultsOnCpu(plan, data.data());
    const std::vector<std::string> actual = results.Arrays();
    for (std::size_t op = 0; op < expected.size(); ++op) {
      ASSERT_TRUE(actual[op] == expected[op])
          << Name(spec.ops[op]) << " of [" << spec.shape[0] << ", " << spec.shape[1] << ", "
          << spec.shape[2] << "], " << spec.ops.size() << " ops, offset " << offset << ", "
          << device.sm_count << " SMs, "
          << (spec.nan_policy == NanPolicy::kOmit ? "without NaN" : "with NaN");
    }
  }

  // Any ops, alignment and GPU.
  void ExpectTheCpusBitsOfAny(std::int64_t outer, std::int64_t count, std::int64_t inner) {
    const ReduceSpec spec = AnySpec(outer, count, inner);
    const std::vector<T> data = AnyData(*MakePlan(spec));
    ExpectTheCpusBits(spec, data, AnyOffset(), AnyDevice());
  }

  static constexpr std::int64_t kElementsMax = 60'000;
};

TEST_F(EmulatedKernelsTest, RowsHaveTheCpusBits) {
  for (int i = 0; i < 150; ++i) {
    std::int64_t count = Length(kElementsMax);
    if (OneIn(2)) count = (count + 15) / 16 * 16;  // rows that vectors can load
    const std::int64_t rows =
        OneIn(4) ? 1 : Length(std::max<std::int64_t>(kElementsMax / count, 1));
    ExpectTheCpusBitsOfAny(rows, count, 1);
    if (HasFatalFailure()) return;
  }
}

TEST_F(EmulatedKernelsTest, ColumnsHaveTheCpusBits) {
  for (int i = 0; i < 150; ++i) {
    std::int64_t inner = 1 + Length(4000);
    if (!OneIn(4)) inner = (inner + 15) / 16 * 16;
    const std::int64_t count = Length(std::max<std::int64_t>(kElementsMax / inner, 1));
    const std::int64_t outer = OneIn(3) ? 1 + static_cast<std::int64_t>(random_() % 3) : 1;
    ExpectTheCpusBitsOfAny(outer, count, inner);
    if (HasFatalFailure()) return;
  }
}

// Long columns on a small GPU, with ragged ends: sums and minima of four bytes and more go through
// shared memory.
TEST_F(EmulatedKernelsTest, PipelinedColumnsHaveTheCpusBits) {
  const cuda::DeviceShape device{.sm_count = 1, .overlaps_passes = true};
  const int before = emulator::LaunchesWithSharedMemory();
  for (int i = 0; i < 40; ++i) {
    const auto any = [&](int below) { return static_cast<std::int64_t>(random_() % below); };
    const bool is_wide = sizeof(T) == 8;
    const std::int64_t inner = 4 * (is_wide ? 8 + any(8) : 60 + any(50));
    const std::int64_t count = is_wide ? 200 + any(300) : 300 + any(1500);
    const std::int64_t outer = 1 + static_cast<std::int64_t>(random_() % 2);
    const std::vector<T> data =
        testing::RandomElements<T>(static_cast<std::size_t>(outer * count * inner), random_);
    for (const Op op : {Op::kSum, Op::kMin}) {
      if (!testing::IsOfOnePass(op, DTypeOfElement())) continue;
      ExpectTheCpusBits(SpecOf(outer, count, inner, {op}), data, 0, device);
      if (HasFatalFailure()) return;
    }
  }
  const int pipelined = emulator::LaunchesWithSharedMemory() - before;
  if (sizeof(T) >= 4) {
    EXPECT_GT(pipelined, 20);
  } else {
    EXPECT_EQ(pipelined, 0);
  }
}

// Of rows of which a warp has several tiles: in the last one too, which is not whole, and of equal
// extrema in several tiles the first.
TEST_F(EmulatedKernelsTest, FindsTheExtremaOfLongRows) {
  const cuda::DeviceShape device{.sm_count = 1, .overlaps_passes = true};
  for (const auto& [rows, tiles] : {std::pair{65, 17}, {129, 9}, {1, 1100}}) {
    const std::int64_t row_elements = tiles * kTileElements<T> - 3 * kVectorElements<T>;
    std::vector<T> data =
        testing::RandomElements<T>(static_cast<std::size_t>(rows * row_elements), random_);
    for (std::int64_t row = 0; row < rows; ++row) {
      T* const elements = data.data() + row * row_elements;
      const T any = elements[random_() % static_cast<std::size_t>(row_elements)];
      for (int i = 0; i < 3; ++i) {
        const std::size_t at = random_() % static_cast<std::size_t>(row_elements);
        elements[at] = row % 3 == 0 ? testing::ElementOf<T>(kIsFloat<T> ? std::nan("") : 0) : any;
      }
    }
    for (const std::vector<Op>& ops :
         {std::vector<Op>{Op::kArgMax}, {Op::kArgMin, Op::kArgMax, Op::kMax, Op::kNanCount}}) {
      ExpectTheCpusBits(SpecOf(rows, row_elements, 1, ops), data, 0, device);
      if (HasFatalFailure()) return;
    }
  }
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
