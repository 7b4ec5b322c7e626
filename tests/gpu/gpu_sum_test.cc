// The exact sums on a GPU against the CPU's, bit for bit.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <random>
#include <utility>
#include <vector>

#include "kernels/cuda/exact_sum.h"
#include "server/device/cuda/memory/cuda_resources.h"
#include "tests/gpu/gpu_fixture.h"
#include "tests/gpu/gpu_shape.h"
#include "tests/kernels/effort.h"
#include "tests/kernels/exact/hard_rows.h"

namespace warpfold {
namespace {

template <typename T>
class GpuSumTest : public GpuFixture {
 protected:
  using Result = FloatOf<T>;
  using Bits = typename exact::FloatFormat<Result>::Bits;

  void SetUp() override {
    GpuFixture::SetUp();
    if (IsSkipped()) return;
    std::cout << "seed " << kSeed << '\n';
    const std::size_t bytes = cuda::ExactSumScratchBytes<T>();
    scratch_ = *cuda::AllocateDevice(bytes);
    result_ = *cuda::AllocateDevice(sizeof(Result));
    ASSERT_EQ(cudaMemset(scratch_.get(), 0, bytes), cudaSuccess);
  }

  // The same scratch for all, as each leaves it for the next.
  Result Sum(const std::vector<T>& row, const cuda::DeviceShape& device) {
    const std::size_t bytes = row.size() * sizeof(T);
    const std::size_t offset = sizeof(T) * (random_() % (16 / sizeof(T)));
    const auto data = *cuda::AllocateDevice(bytes + offset);
    T* const d_data = reinterpret_cast<T*>(data.get() + offset);
    Result* const d_result = reinterpret_cast<Result*>(result_.get());
    Result result{};
    EXPECT_EQ(cudaMemcpyAsync(d_data, row.data(), bytes, cudaMemcpyHostToDevice, stream_.get()),
              cudaSuccess);
    EXPECT_EQ(cuda::ExactSum(d_data, static_cast<std::int64_t>(row.size()), device, scratch_.get(),
                             d_result, stream_.get()),
              cudaSuccess);
    EXPECT_EQ(
        cudaMemcpyAsync(&result, d_result, sizeof(result), cudaMemcpyDeviceToHost, stream_.get()),
        cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream_.get()), cudaSuccess);
    return result;
  }
  void ExpectSum(const std::vector<T>& row) {
    for (const cuda::DeviceShape& device : {TestedShape(), kSmallShape}) {
      ASSERT_EQ(BitCast<Bits>(Sum(row, device)), BitCast<Bits>(testing::ExactCpuSum(row)))
          << row.size() << " elements, " << device.sm_count << " SMs";
    }
  }

  static constexpr std::uint64_t kSeed = 20261126;
  std::mt19937_64 random_{kSeed};
  cuda::UniqueDeviceMemory scratch_, result_;
};

using Floats = ::testing::Types<Half, BFloat16, float, double, F8E4M3, F8E5M2>;
TYPED_TEST_SUITE(GpuSumTest, Floats);

TYPED_TEST(GpuSumTest, EveryKindOfElements) {
  for (const testing::HardFloat kind : testing::kHardFloats) {
    for (const std::size_t count : {1, 17, 1000, 20'000, 300'000}) {
      for (int round = 0; round < testing::Rounds(3); ++round) {
        this->ExpectSum(testing::HardRow<TypeParam>(kind, count, this->random_));
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

TYPED_TEST(GpuSumTest, TheEdgesOfAWindow) {
  using Format = exact::FloatFormat<TypeParam>;
  for (const int field : {(1 << Format::kExponentBits) / 2, (1 << Format::kExponentBits) / 3}) {
    for (int apart = 0; apart < std::min(60, field); ++apart) {
      // The sum of whole tiles, of which no rest hides what is lost.
      for (const bool negative : {false, true}) {
        this->ExpectSum(testing::RowApart<TypeParam>(4096, field, apart, negative));
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

TYPED_TEST(GpuSumTest, RowsOfManyKinds) {
  for (int round = 0; round < testing::Rounds(20); ++round) {
    const std::size_t count = 1 + this->random_() % 3'000'000;
    this->ExpectSum(testing::MixedHardRow<TypeParam>(count, 100'000, this->random_));
    if (this->HasFatalFailure()) return;
  }
}

// As many as the words of their digits take, and more.
TYPED_TEST(GpuSumTest, TheLargestMantissasOfWideTiles) {
  this->ExpectSum(testing::WideRowOfOneSign<TypeParam>(20'000'000));
}

TYPED_TEST(GpuSumTest, SpecialsAmongWideElements) {
  std::vector<TypeParam> specials = {QuietNan<TypeParam>()};
  if constexpr (kHasInfinities<TypeParam>) {
    specials.push_back(Infinity<TypeParam>(false));
    specials.push_back(Infinity<TypeParam>(true));
  }
  for (const TypeParam x : specials) {
    std::vector<TypeParam> row =
        testing::HardRow<TypeParam>(testing::HardFloat::kEightyBinades, 300'000, this->random_);
    for (const std::size_t at : {0, 7'000, 150'000, 299'999}) {
      const TypeParam before = std::exchange(row[at], x);
      this->ExpectSum(row);
      row[at] = before;
    }
  }
}

}  // namespace
}  // namespace warpfold
