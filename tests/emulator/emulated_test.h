// What tests of emulated kernels share: the element type, WARPFOLD_ELEMENT, and what is drawn.
#ifndef WARPFOLD_TESTS_EMULATOR_EMULATED_TEST_H_
#define WARPFOLD_TESTS_EMULATOR_EMULATED_TEST_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cuda/engine.h"
#include "tests/emulator/device.h"
#include "tests/emulator/guarded_memory.h"
#include "tests/kernels/cpu_results.h"
#include "tests/kernels/tensors.h"

namespace warpfold {

using T = WARPFOLD_ELEMENT;

inline DType DTypeOfElement() { return kDTypeOf<T>; }

// [outer, count, inner], reduced over the count.
inline ReduceSpec SpecOf(std::int64_t outer, std::int64_t count, std::int64_t inner,
                         std::vector<Op> ops, NanPolicy nan_policy = NanPolicy::kPropagate) {
  return {.dtype = DTypeOfElement(),
          .shape = {outer, count, inner},
          .ops = std::move(ops),
          .axes = {1},
          .nan_policy = nan_policy,
          .correction = 1};
}

inline Extent ExtentOf(const Plan& plan) {
  return {plan.geometry.outer, plan.geometry.reduce, plan.geometry.inner};
}

// Result arrays that nothing may be written around. Its output's overflow report is the object's.
class GuardedResults {
 public:
  explicit GuardedResults(const Plan& plan)
      : layout_(plan),
        memory_(layout_.total_bytes()),
        output_(layout_.OutputAt(plan, memory_.data(), &overflow_)) {}
  GuardedResults(const GuardedResults&) = delete;
  GuardedResults& operator=(const GuardedResults&) = delete;

  const Output& output() const { return output_; }
  const Overflow& overflow() const { return overflow_; }
  std::vector<std::string> Arrays() const { return *layout_.Extract(memory_.data()); }

 private:
  const ResultLayout layout_;
  const emulator::GuardedMemory memory_;
  Overflow overflow_;
  const Output output_;
};

class EmulatedTest : public ::testing::Test {
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

  cuda::DeviceShape AnyDevice() {
    constexpr int kSmCounts[] = {1, 2, 7, 20, 132};
    return {.sm_count = kSmCounts[random_() % std::size(kSmCounts)], .overlaps_passes = true};
  }
  // Past a multiple of 16 bytes.
  std::size_t AnyOffset() { return OneIn(3) ? sizeof(T) * (random_() % (16 / sizeof(T))) : 0; }

  // Any ops, and policy.
  ReduceSpec AnySpec(std::int64_t outer, std::int64_t count, std::int64_t inner) {
    const std::vector<std::vector<Op>> of_fused_op_sets =
        testing::OpsOfEachFusedOpSet(DTypeOfElement());
    return SpecOf(outer, count, inner, of_fused_op_sets[random_() % of_fused_op_sets.size()],
                  kIsFloat<T> && OneIn(4) ? NanPolicy::kOmit : NanPolicy::kPropagate);
  }
  std::vector<T> AnyData(const Plan& plan) {
    std::vector<T> data =
        testing::RandomElements<T>(static_cast<std::size_t>(plan.element_count), random_);
    if (plan.nan_policy == NanPolicy::kOmit) testing::StrewNan(data, random_);
    return data;
  }

  static constexpr std::uint64_t kSeed = 20261123;
  std::mt19937_64 random_{kSeed};
};

}  // namespace warpfold

#endif  // WARPFOLD_TESTS_EMULATOR_EMULATED_TEST_H_
