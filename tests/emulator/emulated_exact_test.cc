// The engines of floats on the emulated GPU: what bounded sums tell, and the outputs that they
// leave undecided summed again, are together what the CPU answers.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/cuda/output_sums.h"
#include "tests/emulator/emulated_test.h"
#include "tests/kernels/cpu_reduce.h"
#include "tests/kernels/effort.h"
#include "tests/kernels/exact/adversarial.h"
#include "tests/kernels/exact/random_spec.h"
#include "tests/kernels/op_lists.h"

namespace warpfold {
namespace {

class EmulatedExactTest : public EmulatedTest {
 protected:
  // `data`: bytes.
  void ExpectTheCpusBits(const ReduceSpec& spec, std::span<const char> data) {
    SCOPED_TRACE(testing::ToString(spec));
    const Plan plan = *MakePlan(spec);
    const cuda::DeviceShape device = AnyDevice();
    const emulator::GuardedMemory input(data.size(), AnyOffset());
    std::memcpy(input.data(), data.data(), data.size());
    const GuardedResults results(plan);
    Output output = results.output();
    UndecidedCounts undecided;
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(plan.output_count));
    output.undecided = {&undecided, numbers.data(), plan.output_count};
    std::vector<Op> ops = spec.ops;
    const bool has_product = std::erase(ops, Op::kProd) > 0;
    if (!ops.empty()) {
      const FusedOpSet fused_op_set = FusedOpSetFor(spec.dtype, ops, spec.nan_policy);
      Fold(cuda::EngineFor<T>(fused_op_set), plan, input.data(), output, device);
    }
    if (has_product)
      Fold(cuda::ProductEngineFor<T>(spec.nan_policy), plan, input.data(), output, device);
    undecided_ += undecided.all;
    sums_alone_ += undecided.beyond_sums == 0 ? undecided.all : 0;
    outputs_ += plan.output_count;
    if (undecided.all > 0) SumAgain(plan, input.data(), output, undecided, device);
    const testing::Results expected = testing::Reduce(plan, data.data(), cpu::Serial);
    const std::vector<std::string> actual = results.Arrays();
    for (std::size_t op = 0; op < spec.ops.size(); ++op) {
      // A product that may round either way is whatever it is.
      if (spec.ops[op] == Op::kProd &&
          (expected.overflow.op == Op::kProd || results.overflow().op == Op::kProd)) {
        continue;
      }
      ASSERT_TRUE(actual[op] == expected.bytes[op]) << Name(spec.ops[op]) << ", " << undecided.all
                                                    << " undecided, " << device.sm_count << " SMs";
    }
  }

  std::int64_t undecided_ = 0;
  std::int64_t sums_alone_ = 0;
  std::int64_t outputs_ = 0;

 private:
  static void Fold(const cuda::Engine& engine, const Plan& plan, const char* data,
                   const Output& output, const cuda::DeviceShape& device) {
    const emulator::GuardedMemory scratch(engine.ElementsScratchBytes(ExtentOf(plan), device));
    ASSERT_EQ(engine.FoldElements(data, ExtentOf(plan), output, scratch.data(), device, nullptr),
              cudaSuccess);
  }

  static void SumAgain(const Plan& plan, const char* data, const Output& output,
                       const UndecidedCounts& undecided, const cuda::DeviceShape& device) {
    const bool beyond_sums = undecided.beyond_sums != 0;
    const cuda::SumsJob job{.dtype = plan.dtype,
                            .sums = beyond_sums ? exact::Sums::kStatistics : exact::Sums::kSum,
                            .omits_nan = plan.nan_policy == NanPolicy::kOmit,
                            .device = device};
    // Of more than the list holds all are summed again.
    cuda::Outputs outputs{.count = undecided.all, .d_numbers = output.undecided.numbers};
    if (undecided.all > plan.output_count) outputs = {.count = plan.output_count};
    const std::size_t bytes = static_cast<std::size_t>(outputs.count) * cuda::OutputSumsBytes(job);
    const emulator::GuardedMemory sums(bytes);
    std::memset(sums.data(), 0, bytes);
    ASSERT_EQ(cuda::AddOutputs(job, {data, ExtentOf(plan)}, {}, outputs, sums.data(), nullptr),
              cudaSuccess);
    ASSERT_EQ(cuda::FinishSums(job, sums.data(), outputs, output.targets, nullptr), cudaSuccess);
  }
};

// [outer, count, inner], any ops and policy.
TEST_F(EmulatedExactTest, HasTheCpusBits) {
  for (int i = 0; i < testing::Rounds(250) && !HasFatalFailure(); ++i) {
    const std::int64_t elements_max = i % 10 == 0 ? 60'000 : 3000;
    const std::int64_t inner = OneIn(2) ? 1 : Length(300);
    const std::int64_t count = Length(std::max<std::int64_t>(elements_max / inner, 1));
    const std::int64_t outer = OneIn(2) ? 1 : Length(elements_max / (inner * count) + 1);
    ReduceSpec spec = AnySpec(outer, count, inner);
    // The rounded ones beside each other, and now and then as much as may be.
    if (OneIn(3)) spec.ops = {Op::kSum, Op::kMean, Op::kVar, Op::kStd, Op::kL1Norm, Op::kL2Norm};
    if (OneIn(6)) spec.ops = testing::AnyOps(kRequestOpsMax, random_);
    ExpectTheCpusBits(spec, testing::HardTensor(spec, random_));
  }
  // Both ways were taken; of narrower floats pairs of float64 hold every sum.
  EXPECT_GT(undecided_, sums_alone_);
  if constexpr (std::is_same_v<T, float>) {
    EXPECT_GT(sums_alone_, 0);
  } else {
    EXPECT_EQ(sums_alone_, 0);
  }
  EXPECT_LT(undecided_, outputs_ / 2);
}

// A sum's infinity is that of the elements, whatever the sum of the others is.
TEST_F(EmulatedExactTest, RowsWithInfinitiesHaveTheCpusBits) {
  // The long ones often enough that some begin on 16 bytes.
  for (const std::int64_t length : {5, 700, 8192, 8192, 8192, 8192}) {
    const std::vector<T> data = testing::RowsWithInfinities<T>(16, length, random_);
    const std::span<const char> bytes(reinterpret_cast<const char*>(data.data()),
                                      data.size() * sizeof(T));
    for (const ReduceSpec& spec :
         {SpecOf(16, length, 1, {Op::kSum, Op::kMaxAbs}), SpecOf(1, 16, length, {Op::kSum}),
          SpecOf(1, 16, length, {Op::kMean, Op::kPtp})}) {
      ExpectTheCpusBits(spec, bytes);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_EQ(undecided_, 0);
}

// Of numbers and their opposites nothing is left, and of float32 a small one in each tile makes
// float64 round its sum: added up again in pairs, no sum is undecided.
TEST_F(EmulatedExactTest, RowsThatCancelAreDecided) {
  constexpr std::int64_t kRows = 8;
  constexpr std::int64_t kLength = 4 * kTileElements<T>;
  constexpr auto kSign = static_cast<BitsOf<T>>(BitsOf<T>{1} << (8 * sizeof(T) - 1));
  std::vector<T> data;
  for (const std::uint64_t bits : testing::HardFloats(kDTypeOf<T>, testing::HardFloat::kNormal,
                                                      kRows * kLength / 2, random_)) {
    T x = BitCast<T>(static_cast<BitsOf<T>>(bits));
    constexpr std::uint32_t kSmall = 0x342aaaab;  // 2^-21 / 3
    if (kDTypeOf<T> == DType::kF32 && data.size() % 100 == 0) {
      x = BitCast<T>(static_cast<BitsOf<T>>(kSmall));
    }
    data.push_back(x);
    data.push_back(BitCast<T>(static_cast<BitsOf<T>>(BitCast<BitsOf<T>>(x) ^ kSign)));
  }
  for (std::int64_t row = 0; row < kRows; ++row) {
    std::shuffle(data.begin() + row * kLength, data.begin() + (row + 1) * kLength, random_);
  }
  const std::span<const char> bytes(reinterpret_cast<const char*>(data.data()),
                                    data.size() * sizeof(T));
  for (const std::vector<Op>& ops : {std::vector<Op>{Op::kSum}, std::vector<Op>{Op::kMean},
                                     std::vector<Op>{Op::kSum, Op::kMean, Op::kMin}}) {
    ExpectTheCpusBits(SpecOf(kRows, kLength, 1, ops), bytes);
  }
  EXPECT_EQ(undecided_, 0);
}

}  // namespace
}  // namespace warpfold
