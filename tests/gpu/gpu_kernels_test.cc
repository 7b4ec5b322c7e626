// The CUDA kernels against the CPU backend, bit for bit, on whole tensors in device memory: large
// ones, any alignment, many rows, very long counts.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/tiles.h"
#include "server/device/cuda/memory/cuda_resources.h"
#include "tests/gpu/device_reduction.h"
#include "tests/gpu/gpu_fixture.h"
#include "tests/gpu/gpu_shape.h"
#include "tests/kernels/cpu_results.h"
#include "tests/kernels/effort.h"
#include "tests/kernels/op_lists.h"
#include "tests/kernels/tensors.h"

namespace warpfold {
namespace {

class GpuKernelsTest : public GpuFixture {
 protected:
  // The plan's ops of [outer, count, inner] at `data`, which starts `offset` bytes past an aligned
  // device address.
  template <typename T>
  std::vector<std::string> OnGpu(const Plan& plan, const T* data, std::size_t offset,
                                 const cuda::DeviceShape& device) {
    const DeviceReduction reduction(plan, device);
    const std::size_t bytes = static_cast<std::size_t>(plan.input_bytes);
    auto d_data = *cuda::AllocateDevice(bytes + offset);
    EXPECT_EQ(
        cudaMemcpyAsync(d_data.get() + offset, data, bytes, cudaMemcpyHostToDevice, stream_.get()),
        cudaSuccess);
    reduction.Enqueue(d_data.get() + offset, stream_.get());
    EXPECT_EQ(cudaStreamSynchronize(stream_.get()), cudaSuccess);
    return reduction.Results();
  }

  template <typename T>
  void ExpectTheCpusBits(const ReduceSpec& spec, const std::vector<T>& data);
};

// Shapes as [outer, count, inner].
struct Shape {
  std::int64_t outer, count, inner;
};
constexpr Shape kShapes[] = {
    {1, 1, 1},
    {1, 1000, 1},
    {1, 1 << 14, 1},
    {1, 16385, 1},
    {1, 1 << 20, 1},
    {1, 3000001, 1},
    {1 << 18, 3, 1},
    {100001, 16, 1},
    {20000, 65, 1},
    {3000, 1000, 1},
    {1000, 1023, 1},
    {313, 4097, 1},
    {3, 300001, 1},
    {1, 1 << 20, 2},
    {1, 12345, 16},
    {1, 777, 1024},
    {3, 9, 50003},
    {1, 64, 1 << 14},
    {200, 100, 33},
    {1, 1 << 14, 100},
    {2, 300003, 3},
    {1, 8, 1 << 17},
    {3, 5, 1 << 10},
    {1, 100, 2048},
    {1, 400, 128},
    {1, 400, 64},
    {1, 500, 40},
    {1, 1100, 256},
    {1, 500, 4096},
    // As large as the large fusions are tested with.
    {30000, 3, 1},
    {10000, 8, 1},
    {9001, 16, 1},
    {5000, 32, 1},
    {4001, 65, 1},
    {2000, 128, 1},
    {1100, 256, 1},
    {3, 100, 333},
    {1, 300, 1000},
    {2, 20, 5000},
    {1, 60000, 4},
};

// Of the ops those of one pass.
template <typename T>
void GpuKernelsTest::ExpectTheCpusBits(const ReduceSpec& any_spec, const std::vector<T>& data) {
  ReduceSpec spec = any_spec;
  std::erase_if(spec.ops, [&](Op op) { return !testing::IsOfOnePass(op, spec.dtype); });
  const Plan plan = *MakePlan(spec);
  const std::vector<std::string> expected = testing::ResultsOnCpu(plan, data.data());
  for (const std::size_t offset : {std::size_t{0}, sizeof(T)}) {
    for (const cuda::DeviceShape& device : {TestedShape(), kSmallShape}) {
      const std::vector<std::string> actual = OnGpu(plan, data.data(), offset, device);
      for (std::size_t op = 0; op < expected.size(); ++op) {
        // Not ASSERT_EQ: results are megabytes.
        ASSERT_TRUE(actual[op] == expected[op])
            << Name(spec.dtype) << " " << Name(spec.ops[op]) << " of [" << spec.shape[0] << ", "
            << spec.shape[1] << ", " << spec.shape[2] << "], " << spec.ops.size() << " ops, offset "
            << offset << ", " << device.sm_count << " SMs, "
            << (spec.nan_policy == NanPolicy::kOmit ? "without NaN" : "with NaN");
      }
    }
  }
}

TEST_F(GpuKernelsTest, GivesTheCpusBitsOnAnyShapeAndAlignment) {
  std::mt19937_64 random(2026);
  for (const DType dtype : testing::DTypesToTest()) {
    VisitDType(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (const Shape& shape : kShapes) {
        ReduceSpec spec{.dtype = dtype,
                        .shape = {shape.outer, shape.count, shape.inner},
                        .axes = {1},
                        .correction = 1};
        const std::int64_t count = shape.outer * shape.count * shape.inner;
        if (testing::IsBrief() && count > 300000) continue;
        std::vector<T> data = testing::RandomElements<T>(static_cast<std::size_t>(count), random);
        if constexpr (kIsFloat<T>) {
          data[random() % data.size()] = testing::ElementOf<T>(std::nan(""));
          data[random() % data.size()] = testing::ElementOf<T>(-HUGE_VAL);
        }
        for (const std::vector<Op>& ops : testing::OpsOfEachFusedOpSet(dtype)) {
          // The large fusions where the CPU does not take minutes over them.
          if (ops.size() > 4 && count > 300000) continue;
          spec.ops = ops;
          spec.nan_policy = NanPolicy::kPropagate;
          ExpectTheCpusBits(spec, data);
          if (HasFatalFailure()) return;
        }
        if (!kIsFloat<T> || count > 300000) continue;
        testing::StrewNan(data, random);
        spec.nan_policy = NanPolicy::kOmit;
        ExpectTheCpusBits(spec, data);
        if (HasFatalFailure()) return;
      }
    });
  }
}

// Of integers a warp multiplies only what is neither 0, 1 nor -1, and only where that may fit.
TEST_F(GpuKernelsTest, MultipliesIntegersAsTheCpuDoes) {
  std::mt19937_64 random(3);
  const std::int64_t count = 3 * 4096 + 100;
  for (const DType dtype : {DType::kI8, DType::kU8, DType::kI16, DType::kU16, DType::kI32,
                            DType::kU32, DType::kI64, DType::kU64}) {
    VisitDType(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const auto element = [&](double magnitude) {
        const bool is_negative = std::is_signed_v<T> && random() % 2 != 0;
        return testing::ElementOf<T>(is_negative ? -magnitude : magnitude);
      };
      for (const int factors : {0, 1, 20, 31, 62, 63, 64, 65, 5000}) {
        for (const int zeros : {0, 1}) {
          std::vector<T> data(static_cast<std::size_t>(2 * count));
          std::generate(data.begin(), data.end(), [&] { return element(1); });
          for (int i = 0; i < factors; ++i) {
            data[random() % data.size()] = element(factors > 20 ? 2 : 5);
          }
          if (zeros != 0) data[random() % data.size()] = element(0);
          for (const std::int64_t rows : {1, 2, 50}) {
            ExpectTheCpusBits({.dtype = dtype,
                               .shape = {rows, 2 * count / rows, 1},
                               .ops = {Op::kProd},
                               .axes = {1}},
                              data);
            if (HasFatalFailure()) return;
          }
        }
      }
    });
  }
}

// Many equal extrema in many tiles, falling and rising values: every tile of a block may be the
// best so far, and of equals the first wins.
TEST_F(GpuKernelsTest, FindsTheFirstOfEqualExtrema) {
  std::mt19937_64 random(4);
  const std::size_t count = 40 * 4096;
  for (const DType dtype : testing::DTypesToTest()) {
    VisitDType(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const auto element = [](std::size_t number) {
        return testing::ElementOf<T>(static_cast<double>(number));
      };
      std::vector<std::vector<T>> tensors(7, std::vector<T>(count));
      for (std::size_t i = 0; i < count; ++i) {
        tensors[0][i] = element(1);
        tensors[1][i] = element(i * 100 / count);
        tensors[2][i] = element((count - i) * 100 / count);
        tensors[3][i] = element(random() % 3);
        tensors[4][i] = element(i / 4096 % 7);
        // The best and the worst there are.
        if constexpr (kIsFloat<T>) {
          tensors[5][i] = testing::ElementOf<T>(-HUGE_VAL);
          tensors[6][i] = testing::ElementOf<T>(HUGE_VAL);
        } else if constexpr (std::is_integral_v<T>) {
          tensors[5][i] = std::numeric_limits<T>::min();
          tensors[6][i] = std::numeric_limits<T>::max();
        }
      }
      if constexpr (kIsFloat<T>) {
        for (const std::size_t i : {std::size_t{9000}, std::size_t{100000}}) {
          tensors[3][i] = testing::ElementOf<T>(std::nan(""));
          tensors[4][i] = testing::ElementOf<T>(-0.0);
        }
      }
      for (const std::vector<T>& data : tensors) {
        for (const std::vector<Op>& ops :
             {std::vector<Op>{Op::kArgMin}, std::vector<Op>{Op::kArgMax},
              std::vector<Op>{Op::kArgMin, Op::kArgMax},
              std::vector<Op>{Op::kArgMin, Op::kArgMax, Op::kMin, Op::kMax, Op::kVar}}) {
          // Many blocks a row, one, several rows a block; columns by words and one by one.
          for (const auto& [outer, inner] : {std::pair{1, 1}, {8, 1}, {40, 1}, {1, 40}, {1, 5}}) {
            if (testing::IsBrief() && outer == 1) continue;
            ExpectTheCpusBits(
                {.dtype = dtype,
                 .shape = {outer, static_cast<std::int64_t>(count) / outer / inner, inner},
                 .ops = ops,
                 .axes = {1}},
                data);
            if (HasFatalFailure()) return;
          }
        }
      }
    });
  }
}

// A block has several rows of several tiles a warp, and what is best in one row says nothing of the
// next.
TEST_F(GpuKernelsTest, FindsTheExtremaOfEachRowOfABlock) {
  std::mt19937_64 random(5);
  for (const DType dtype : testing::DTypesToTest()) {
    VisitDType(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      // As few rows as make the launch plan give a block two.
      const std::int64_t rows = 257, row_elements = 8 * kTileElements<T>;
      std::vector<T> data(static_cast<std::size_t>(rows * row_elements));
      for (std::size_t i = 0; i < data.size(); ++i) {
        const bool is_high = i / static_cast<std::size_t>(row_elements) % 2 != 0;
        data[i] = testing::ElementOf<T>(static_cast<double>(random() % 50 + (is_high ? 50 : 0)));
      }
      for (const std::vector<Op>& ops :
           {std::vector<Op>{Op::kArgMin}, std::vector<Op>{Op::kArgMax},
            std::vector<Op>{Op::kArgMin, Op::kArgMax, Op::kMin, Op::kMax, Op::kVar}}) {
        ExpectTheCpusBits(
            {.dtype = dtype, .shape = {rows, row_elements, 1}, .ops = ops, .axes = {1}}, data);
        if (HasFatalFailure() || testing::IsBrief()) return;
      }
    });
  }
}

// A tile of nothing but NaN has no best element, which no other's has to be better than.
TEST_F(GpuKernelsTest, FindsTheExtremaBesideTilesOfNan) {
  std::mt19937_64 random(6);
  for (const DType dtype : testing::kFloatDTypes) {
    VisitDType(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (kIsFloat<T>) {
        // One row and several in a block, and a row in many blocks.
        for (const auto& [rows, tiles] : {std::pair{257, 8}, {40, 5}, {3, 100}}) {
          const std::int64_t row_elements = tiles * kTileElements<T>;
          const std::vector<T> data = testing::RowsWithTilesOfNan<T>(rows, row_elements, random);
          for (const std::vector<Op>& ops : {std::vector<Op>{Op::kArgMin},
                                             std::vector<Op>{Op::kArgMin, Op::kArgMax, Op::kMin}}) {
            ExpectTheCpusBits({.dtype = dtype,
                               .shape = {rows, row_elements, 1},
                               .ops = ops,
                               .axes = {1},
                               .nan_policy = NanPolicy::kOmit},
                              data);
            if (HasFatalFailure() || testing::IsBrief()) return;
          }
        }
      }
    });
  }
}

TEST_F(GpuKernelsTest, GivesEachOpTheSameBitsAloneAsFused) {
  std::mt19937_64 random(1);
  const std::vector<double> data = testing::RandomElements<double>(3 * 70000, random);
  ReduceSpec spec{.dtype = DType::kF64, .shape = {3, 70000}, .ops = testing::AllOps(), .axes = {1}};
  std::erase_if(spec.ops, [](Op op) { return !testing::IsOfOnePass(op, DType::kF64); });
  const Plan fused = *MakePlan(spec);
  const std::vector<std::string> together = OnGpu(fused, data.data(), 0, TestedShape());
  for (std::size_t i = 0; i < fused.ops.size(); ++i) {
    spec.ops = {fused.ops[i]};
    EXPECT_EQ(OnGpu(*MakePlan(spec), data.data(), 0, TestedShape())[0], together[i])
        << Name(fused.ops[i]);
  }
}

// More elements than 32 bits count. Every byte is 1, so every i32 is 0x01010101 but for one in the
// last, ragged tile.
TEST_F(GpuKernelsTest, CountsPastFourBillionElements) {
  const std::int64_t count = (std::int64_t{1} << 32) + 12345;
  std::size_t free_bytes = 0, total_bytes = 0;
  ASSERT_EQ(cudaMemGetInfo(&free_bytes, &total_bytes), cudaSuccess);
  if (free_bytes < (std::size_t{20} << 30)) GTEST_SKIP() << "needs 20 GB of free GPU memory";
  auto d_data = *cuda::AllocateDevice(static_cast<std::size_t>(count) * 4);
  ASSERT_EQ(cudaMemset(d_data.get(), 1, static_cast<std::size_t>(count) * 4), cudaSuccess);
  const std::int32_t last = -5;
  ASSERT_EQ(cudaMemcpy(d_data.get() + (count - 1) * 4, &last, 4, cudaMemcpyHostToDevice),
            cudaSuccess);

  const Plan plan =
      *MakePlan({.dtype = DType::kI32, .shape = {count}, .ops = {Op::kSum, Op::kMin, Op::kMax}});
  const DeviceReduction reduction(plan, TestedShape());
  reduction.Enqueue(d_data.get(), stream_.get());
  ASSERT_EQ(cudaStreamSynchronize(stream_.get()), cudaSuccess);
  const std::vector<std::string> results = reduction.Results();
  std::int64_t sum = 0;
  std::int32_t low = 0, high = 0;
  std::memcpy(&sum, results[0].data(), 8);
  std::memcpy(&low, results[1].data(), 4);
  std::memcpy(&high, results[2].data(), 4);
  EXPECT_EQ(sum, (count - 1) * std::int64_t{0x01010101} - 5);
  EXPECT_EQ(low, -5);
  EXPECT_EQ(high, 0x01010101);
}

}  // namespace
}  // namespace warpfold
