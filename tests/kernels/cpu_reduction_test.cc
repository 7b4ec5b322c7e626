// Reductions by the library alone: the answers of the tests' own reduction, and clear refusals.
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cpu/reduction.h"
#include "kernels/targets.h"
#include "tests/kernels/cpu_reduce.h"
#include "tests/kernels/effort.h"
#include "tests/kernels/exact/adversarial.h"
#include "tests/kernels/exact/random_spec.h"

namespace warpfold {
namespace {

std::vector<std::span<std::byte>> SpansOf(std::vector<std::string>& arrays) {
  std::vector<std::span<std::byte>> spans;
  for (std::string& array : arrays) spans.push_back(std::as_writable_bytes(std::span(array)));
  return spans;
}

class CpuReductionTest : public ::testing::TestWithParam<DType> {};

TEST_P(CpuReductionTest, HasTheBitsOfFoldedElements) {
  constexpr std::uint64_t kSeed = 20261128;
  std::cout << "seed " << kSeed << '\n';
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < testing::Rounds(100) && !HasFailure(); ++i) {
    const ReduceSpec spec = testing::RandomSpec(GetParam(), 400, random);
    SCOPED_TRACE(testing::ToString(spec));
    const cpu::Reduction reduction = *cpu::Reduction::Make(spec);
    const std::vector<char> elements = testing::HardTensor(spec, random);
    const testing::Results expected =
        testing::Reduce(reduction.plan(), elements.data(), cpu::Serial);
    std::vector<std::string> results = expected.bytes;
    for (std::string& array : results) std::fill(array.begin(), array.end(), '\xab');
    const absl::Status status = reduction.Run(std::as_bytes(std::span(elements)), SpansOf(results),
                                              testing::Shuffled(random()));
    ASSERT_EQ(status, OverflowStatus(expected.overflow, reduction.plan()));
    if (!status.ok()) continue;
    ASSERT_EQ(results, expected.bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(All, CpuReductionTest, ::testing::ValuesIn(kAllDTypes),
                         [](const auto& info) { return std::string(Name(info.param)); });

TEST(CpuReduction, OfNoElementsHasTheirResults) {
  const cpu::Reduction reduction = *cpu::Reduction::Make(
      {.dtype = DType::kI32, .shape = {0, 2}, .ops = {Op::kSum, Op::kProd}, .axes = {0}});
  std::int64_t sums[2] = {7, 7};
  std::int64_t products[2] = {7, 7};
  ASSERT_TRUE(reduction
                  .Run({}, {std::as_writable_bytes(std::span(sums)),
                            std::as_writable_bytes(std::span(products))})
                  .ok());
  EXPECT_EQ(sums[0] + sums[1], 0);
  EXPECT_EQ(products[0] + products[1], 2);
  const cpu::Reduction nothing =
      *cpu::Reduction::Make({.shape = {3, 0}, .ops = {Op::kSum}, .axes = {0}});
  EXPECT_TRUE(nothing.Run({}, {std::span<std::byte>()}).ok());
}

TEST(CpuReduction, SaysWhatIsWrong) {
  EXPECT_EQ(cpu::Reduction::Make({.shape = {2}, .ops = {Op::kSum}, .axes = {1}}).status().code(),
            absl::StatusCode::kInvalidArgument);
  const cpu::Reduction sum = *cpu::Reduction::Make({.shape = {2}, .ops = {Op::kSum}});
  const float elements[2] = {1, 2};
  float result[1];
  const auto tensor = std::as_bytes(std::span(elements));
  const auto array = std::as_writable_bytes(std::span(result));
  EXPECT_EQ(sum.Run(tensor.first(4), {array}).message(), "data: has 4 bytes, the tensor has 8");
  EXPECT_EQ(sum.Run(tensor, {}).message(), "results: 0 arrays for 1 ops");
  EXPECT_EQ(sum.Run(tensor, {array.first(2)}).message(),
            "results[0]: has 2 bytes, those of sum have 4");
  alignas(8) std::byte apart[16] = {};
  const std::span bytes(apart);
  EXPECT_EQ(sum.Run(bytes.subspan(2, 8), {array}).message(),
            "data: is not on a multiple of 4 bytes");
  EXPECT_EQ(sum.Run(tensor, {bytes.subspan(1, 4)}).message(),
            "results[0]: are not on a multiple of 4 bytes");
  const cpu::Reduction past =
      *cpu::Reduction::Make({.dtype = DType::kI64, .shape = {2}, .ops = {Op::kSum}});
  const std::int64_t large[2] = {std::int64_t{1} << 62, std::int64_t{1} << 62};
  std::int64_t wide[1];
  EXPECT_EQ(
      past.Run(std::as_bytes(std::span(large)), {std::as_writable_bytes(std::span(wide))}).code(),
      absl::StatusCode::kOutOfRange);
}

}  // namespace
}  // namespace warpfold
