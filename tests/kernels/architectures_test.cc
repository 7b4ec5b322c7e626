#include "kernels/cuda/architectures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace warpfold::cuda {
namespace {

// A distribution build's.
const std::vector<ComputeCapability> kCode = {{7, 5}, {8, 0}, {9, 0}, {10, 0}, {12, 0}};
const std::vector<ComputeCapability> kPtx = {{12, 0}};
const CompiledFor kDistribution = {kCode, kPtx};

TEST(CodeFor, RunsMachineCodeOnLaterMinorsOfItsMajor) {
  for (const ComputeCapability gpu : std::vector<ComputeCapability>{
           {7, 5}, {8, 0}, {8, 6}, {8, 9}, {9, 0}, {10, 0}, {10, 3}, {12, 0}, {12, 1}}) {
    EXPECT_EQ(CodeFor(gpu, kDistribution).match, CodeMatch::kMachineCode) << ToString(gpu);
  }
}

TEST(CodeFor, LeavesLaterGpusToTheirDriver) {
  for (const ComputeCapability gpu : std::vector<ComputeCapability>{{13, 0}, {20, 1}}) {
    EXPECT_EQ(CodeFor(gpu, kDistribution).match, CodeMatch::kPtx) << ToString(gpu);
  }
}

TEST(CodeFor, HasNothingForOlderGpusAndThoseInBetween) {
  // 11.0 is no later minor of 10.0, and older than the PTX.
  for (const ComputeCapability gpu :
       std::vector<ComputeCapability>{{5, 2}, {7, 0}, {7, 2}, {11, 0}}) {
    EXPECT_EQ(CodeFor(gpu, kDistribution).match, CodeMatch::kNone) << ToString(gpu);
  }
  EXPECT_EQ(CodeFor({9, 0}, {}).match, CodeMatch::kNone);
}

TEST(CodeFor, DoesNotRunMachineCodeOfALaterMinor) {
  const std::vector<ComputeCapability> code = {{8, 9}};
  EXPECT_EQ(CodeFor({8, 6}, {code, {}}).match, CodeMatch::kNone);
  EXPECT_EQ(CodeFor({8, 9}, {code, {}}).match, CodeMatch::kMachineCode);
}

TEST(CodeFor, TakesTheBestThatFits) {
  const std::vector<ComputeCapability> code = {{8, 0}, {8, 6}, {10, 0}};
  const std::vector<ComputeCapability> ptx = {{7, 5}, {8, 0}, {12, 0}};
  const CompiledFor compiled = {code, ptx};
  const auto compiled_for = [&](const ComputeCapability& gpu) {
    return CodeFor(gpu, compiled).compiled_for;
  };
  EXPECT_EQ(compiled_for({8, 9}), (ComputeCapability{8, 6}));
  EXPECT_EQ(compiled_for({7, 5}), (ComputeCapability{7, 5}));
  // Hopper runs code here that does not wait for the pass before, though 10.0 has some that does.
  EXPECT_EQ(compiled_for({9, 0}), (ComputeCapability{8, 0}));
  EXPECT_EQ(CodeFor({9, 0}, compiled).match, CodeMatch::kPtx);
  EXPECT_EQ(compiled_for({10, 3}), (ComputeCapability{10, 0}));
}

TEST(CompiledFor, SaysWhatItHolds) {
  EXPECT_EQ(ToString(kDistribution), "sm_75, sm_80, sm_90, sm_100, sm_120 and PTX of sm_120");
  EXPECT_EQ(ToString(CompiledFor{kCode, {}}), "sm_75, sm_80, sm_90, sm_100, sm_120");
  EXPECT_EQ(ToString(CompiledFor{{}, kPtx}), "PTX of sm_120");
  EXPECT_EQ(ToString(CompiledFor{}), "no GPU");
}

TEST(CompiledFor, ListsThisBuildsInOrder) {
  const CompiledFor compiled = CompiledArchitectures();
  EXPECT_TRUE(std::ranges::is_sorted(compiled.machine_code));
  EXPECT_TRUE(std::ranges::is_sorted(compiled.ptx));
#ifdef WARPFOLD_HAS_CUDA
  EXPECT_FALSE(compiled.machine_code.empty() && compiled.ptx.empty());
#else
  EXPECT_TRUE(compiled.machine_code.empty() && compiled.ptx.empty());
#endif
}

}  // namespace
}  // namespace warpfold::cuda
