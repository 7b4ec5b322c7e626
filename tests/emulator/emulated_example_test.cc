// Every step of examples/reduce/reduce.cu in every block size, against a sum in 64 bits.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/emulator/device.h"
#include "tests/emulator/guarded_memory.h"

#define REDUCE_WITHOUT_MAIN
#include "reduce_example.inc"

namespace warpfold {
namespace {

class EmulatedExampleTest : public ::testing::TestWithParam<reduction::Step> {};

// In memory that ends where it may be read and written. A second time, since reduce10 leaves a
// count behind.
void ExpectSum(const reduction::Step& step, int size, std::size_t n, unsigned resident) {
  const std::vector<int> ints = reduction::Ints(n);
  const emulator::GuardedMemory in(n * sizeof(int));
  std::memcpy(in.data(), ints.data(), n * sizeof(int));
  const reduction::Reduction sum(step, size, n, resident);
  const emulator::GuardedMemory scratch(sum.scratch_ints() * sizeof(int));
  auto* const d_scratch = reinterpret_cast<int*>(scratch.data());
  ASSERT_EQ(sum.Prepare(d_scratch), cudaSuccess);
  const std::int64_t expected = std::accumulate(ints.begin(), ints.end(), std::int64_t{0});
  for (int time = 0; time < 2; ++time) {
    ASSERT_EQ(sum.Enqueue(reinterpret_cast<const int*>(in.data()), d_scratch, nullptr),
              cudaSuccess);
    // Or a run that writes nothing would leave the right answer of the one before.
    ASSERT_EQ(std::exchange(*sum.Answer(d_scratch), -1), expected)
        << "blocks of " << reduction::kBlockSizes[size] << ", " << resident
        << " resident, n = " << n << ", time " << time;
  }
}

TEST_P(EmulatedExampleTest, AddsUpEverySizeInEveryBlockSize) {
  constexpr std::uint64_t kSeed = 20261124;
  std::cout << "seed " << kSeed << '\n';
  emulator::SetSeed(kSeed);
  const reduction::Step& step = GetParam();
  for (int size = 0; size < 3; ++size) {
    const std::size_t threads = reduction::kBlockSizes[size];
    const std::size_t block_ints = threads * step.loads;
    for (const std::size_t n :
         {std::size_t{1}, std::size_t{3}, std::size_t{31}, std::size_t{64}, threads - 1, threads,
          threads + 1, block_ints - 4, block_ints, block_ints + 7, std::size_t{20'003}}) {
      ExpectSum(step, size, n, 1);
      // A grid that the data decides does not ask how many blocks fit.
      if (step.grid != reduction::kNeeded) ExpectSum(step, size, n, 5);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Steps, EmulatedExampleTest, ::testing::ValuesIn(reduction::kSteps),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace warpfold
