// The exact sums of many outputs (kernels/cuda/output_sums.h) of a tensor that comes in pieces, and
// of some of its outputs, against the CPU's, which GMP has judged. For a GPU and an emulated one.
#ifndef WARPFOLD_TESTS_KERNELS_EXACT_OUTPUT_SUMS_CASES_H_
#define WARPFOLD_TESTS_KERNELS_EXACT_OUTPUT_SUMS_CASES_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "kernels/cuda/output_sums.h"
#include "kernels/exact/results.h"
#include "kernels/ops/catalogue.h"
#include "kernels/plan.h"
#include "tests/kernels/cpu_reduce.h"
#include "tests/kernels/exact/adversarial.h"
#include "tests/kernels/exact/draw.h"
#include "tests/kernels/exact/random_spec.h"

namespace warpfold::testing {

// `Device` has Allocate(bytes), which returns memory with get(), zeroed; Put(to, from, bytes) and
// Get(to, from, bytes), which wait; shape() and stream().
template <class Device>
class OutputSumsCases {
 public:
  OutputSumsCases(Device& device, DType dtype, std::uint64_t seed)
      : device_(device), dtype_(dtype), element_bytes_(ElementBytes(dtype)), random_(seed) {}

  // One reduction of up to `elements` elements.
  void ExpectSums(std::int64_t elements) {
    Draw draw(random_);
    ReduceSpec spec = RandomSpec(dtype_, elements, random_);
    spec.ops = draw.OneIn(2) ? std::vector<Op>{Op::kSum, Op::kMean}
                             : std::vector<Op>{Op::kVar, Op::kL1Norm, Op::kSum,
                                               Op::kStd, Op::kMean,   Op::kL2Norm};
    ExpectSumsOf(spec, HardTensor(spec, random_));
  }

  // More outputs than may share sums, in rows of these lengths.
  void ExpectManyOutputs(int rounds, const std::vector<std::int64_t>& lengths) {
    for (const std::int64_t length : lengths) {
      ReduceSpec spec{.dtype = dtype_,
                      .shape = {2, 1'100, length},
                      .ops = {Op::kSum, Op::kMean},
                      .axes = {0, 2}};
      for (const bool has_squares : {false, true}) {
        if (has_squares) spec.ops.push_back(Op::kVar);
        for (int i = 0; i < rounds; ++i) ExpectSumsOf(spec, HardTensor(spec, random_));
      }
    }
  }

  // Rows whose sum is zero, of either sign.
  void ExpectZeros() {
    constexpr std::size_t kLength = 100;
    for (const std::size_t length : {std::size_t{3}, kLength}) {
      // By an element's last byte, which has its sign: zeros, and a number and its opposite.
      std::string rows(4 * length, '\0');
      std::fill_n(rows.begin() + length, 2 * length, '\x80');
      rows[2 * length + length / 2] = '\0';
      rows[3 * length] = '\x3f';
      rows[4 * length - 1] = '\xbf';
      std::vector<char> data(rows.size() * element_bytes_);
      for (std::size_t i = 0; i < rows.size(); ++i) data[(i + 1) * element_bytes_ - 1] = rows[i];
      for (const std::vector<Op>& ops : {std::vector<Op>{Op::kSum}, {Op::kSum, Op::kL1Norm}}) {
        ExpectSumsOf({.dtype = dtype_,
                      .shape = {4, static_cast<std::int64_t>(length)},
                      .ops = ops,
                      .axes = {1}},
                     data);
      }
    }
  }

 private:
  void ExpectSumsOf(const ReduceSpec& spec, const std::vector<char>& data) {
    Draw draw(random_);
    SCOPED_TRACE(ToString(spec));
    const Plan plan = *MakePlan(spec);
    const std::vector<std::string> expected = Reduce(plan, data.data(), cpu::Serial).bytes;
    const auto is_of_sum_alone = [](Op op) { return IsOfSumAlone(StatisticOf<float>(op)); };
    const cuda::SumsJob job{.dtype = dtype_,
                            .sums = std::all_of(spec.ops.begin(), spec.ops.end(), is_of_sum_alone)
                                        ? exact::Sums::kSum
                                        : exact::Sums::kStatistics,
                            .omits_nan = spec.nan_policy == NanPolicy::kOmit,
                            .device = device_.shape()};
    const auto d_data = device_.Allocate(data.size() + element_bytes_);
    // Whatever 16 bytes would need.
    char* const d_elements = At(reinterpret_cast<char*>(d_data.get()), draw.Between(0, 1));
    device_.Put(d_elements, data.data(), data.size());
    {
      SCOPED_TRACE("all, in pieces");
      ExpectPieces(job, plan, d_elements, expected);
    }
    {
      SCOPED_TRACE("some outputs");
      ExpectSomeOutputs(job, plan, d_elements, expected);
    }
    SCOPED_TRACE("undecided outputs");
    ExpectRecomputed(job, plan, d_elements, expected);
  }

  // All rows of the tensor, as they may arrive: whole planes, rows of one, parts of a row.
  std::vector<cuda::RowsAt> Pieces(const Geometry& g, const char* d_elements) {
    Draw draw(random_);
    std::vector<cuda::RowsAt> pieces;
    std::int64_t plane = 0, row = 0, column = 0;
    while (plane < g.outer) {
      Extent extent{1, 1, g.inner - column};
      if (row == 0 && column == 0 && draw.OneIn(2)) {
        extent = {draw.Between(1, g.outer - plane), g.reduce, g.inner};
      } else if (column == 0 && draw.OneIn(2)) {
        extent = {1, draw.Between(1, g.reduce - row), g.inner};
      } else if (draw.OneIn(2)) {
        extent.inner = draw.Between(1, extent.inner);
      }
      pieces.push_back({At(d_elements, (plane * g.reduce + row) * g.inner + column), extent,
                        plane * g.inner + column});
      column += extent.inner;
      if (column < g.inner) continue;
      column = 0;
      row += extent.count;
      if (row < g.reduce) continue;
      row = 0;
      plane += extent.outer;
    }
    std::shuffle(pieces.begin(), pieces.end(), random_);
    return pieces;
  }

  void ExpectPieces(const cuda::SumsJob& job, const Plan& plan, const char* d_elements,
                    const std::vector<std::string>& expected) {
    const cuda::Outputs outputs{.count = plan.output_count};
    const auto sums = SumsOf(job, outputs);
    for (const cuda::RowsAt& piece : Pieces(plan.geometry, d_elements)) {
      ASSERT_EQ(
          cuda::AddRows(job, piece, plan.geometry.output_rows(), 0, sums.get(), device_.stream()),
          cudaSuccess);
    }
    std::vector<std::int64_t> all(static_cast<std::size_t>(plan.output_count));
    std::iota(all.begin(), all.end(), 0);
    ExpectResults(plan, all, expected, [&](const ResultTargets& targets) {
      return cuda::FinishSums(job, sums.get(), outputs, targets, device_.stream());
    });
  }

  // By a list of their numbers, and from one on.
  void ExpectSomeOutputs(const cuda::SumsJob& job, const Plan& plan, const char* d_elements,
                         const std::vector<std::string>& expected) {
    Draw draw(random_);
    const bool is_list = draw.OneIn(2);
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(plan.output_count));
    std::iota(numbers.begin(), numbers.end(), 0);
    if (is_list) std::shuffle(numbers.begin(), numbers.end(), random_);
    numbers.erase(numbers.begin(), numbers.begin() + draw.Between(0, plan.output_count - 1));
    cuda::Outputs outputs{.count = static_cast<std::int64_t>(numbers.size())};
    const auto d_numbers = device_.Allocate(numbers.size() * sizeof(std::int64_t));
    if (is_list) {
      device_.Put(d_numbers.get(), numbers.data(), numbers.size() * sizeof(std::int64_t));
      outputs.d_numbers = reinterpret_cast<const std::int64_t*>(d_numbers.get());
    } else {
      outputs.first = numbers.front();
    }
    const auto sums = SumsOf(job, outputs);
    const Geometry& g = plan.geometry;
    ASSERT_EQ(cuda::AddOutputs(job, {d_elements, {g.outer, g.reduce, g.inner}}, g.output_rows(),
                               outputs, sums.get(), device_.stream()),
              cudaSuccess);
    ExpectResults(plan, numbers, expected, [&](const ResultTargets& targets) {
      return cuda::FinishSums(job, sums.get(), outputs, targets, device_.stream());
    });
  }

  // Of a list that the stream alone has read, or of one that has no room for all.
  void ExpectRecomputed(const cuda::SumsJob& job, const Plan& plan, const char* d_elements,
                        const std::vector<std::string>& expected) {
    Draw draw(random_);
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(plan.output_count));
    std::iota(numbers.begin(), numbers.end(), 0);
    UndecidedCounts counts;
    std::vector<std::int64_t> listed;
    const bool is_full = draw.OneIn(3);
    if (is_full) {
      counts.all = plan.output_count + 1;
    } else {
      std::shuffle(numbers.begin(), numbers.end(), random_);
      if (draw.OneIn(2)) numbers.resize(draw.Between(0, plan.output_count));
      listed = numbers;
      const bool has_room = std::ssize(listed) < plan.output_count;
      if (has_room && !listed.empty()) listed.push_back(listed[0]);  // twice
      counts.all = std::ssize(listed);
    }
    const std::size_t list_bytes = listed.size() * sizeof(std::int64_t);
    const auto d_listed = device_.Allocate(list_bytes);
    device_.Put(d_listed.get(), listed.data(), list_bytes);
    const auto d_counts = device_.Allocate(sizeof(counts));
    device_.Put(d_counts.get(), &counts, sizeof(counts));
    const Geometry& g = plan.geometry;
    const Extent extent{g.outer, g.reduce, g.inner};
    const cuda::RecomputeBytes bytes = cuda::RecomputeBytesOf(job, plan.output_count);
    const auto memory = device_.Allocate(bytes.all);
    const std::string garbage(bytes.all - bytes.zeroed, '\xab');
    device_.Put(reinterpret_cast<char*>(memory.get()) + bytes.zeroed, garbage.data(),
                garbage.size());
    const cuda::UndecidedOutputs undecided{
        .tensor = {d_elements, extent},
        .output_rows = g.output_rows(),
        .outputs = plan.output_count,
        .list = {.counts = reinterpret_cast<UndecidedCounts*>(d_counts.get()),
                 .numbers = reinterpret_cast<std::int64_t*>(d_listed.get()),
                 .capacity = is_full ? plan.output_count : counts.all}};
    ExpectResults(plan, numbers, expected, [&](const ResultTargets& targets) {
      return cuda::RecomputeUndecided(job, undecided, targets, memory.get(), device_.stream());
    });
    device_.Get(&counts, d_counts.get(), sizeof(counts));
    EXPECT_EQ(counts.all, 0);
    std::string left(bytes.zeroed, '\xab');
    device_.Get(left.data(), memory.get(), left.size());
    EXPECT_TRUE(left == std::string(bytes.zeroed, '\0'));
  }

  auto SumsOf(const cuda::SumsJob& job, const cuda::Outputs& outputs) {
    return device_.Allocate(static_cast<std::size_t>(outputs.count) * cuda::OutputSumsBytes(job));
  }

  // The results of `numbers` that finish(targets) writes are as expected, and no others are.
  template <class Finish>
  void ExpectResults(const Plan& plan, const std::vector<std::int64_t>& numbers,
                     const std::vector<std::string>& expected, const Finish& finish) {
    std::vector<decltype(device_.Allocate(0))> arrays;
    ResultTargets targets{.count = static_cast<int>(plan.ops.size()),
                          .reduced_count = plan.reduced_count,
                          .correction = plan.correction};
    for (std::size_t op = 0; op < plan.ops.size(); ++op) {
      arrays.push_back(device_.Allocate(expected[op].size()));
      targets.ops[op] = plan.ops[op];
      targets.arrays[op] = arrays[op].get();
    }
    ASSERT_EQ(finish(targets), cudaSuccess);
    for (std::size_t op = 0; op < plan.ops.size(); ++op) {
      std::string want(expected[op].size(), '\0');
      for (const std::int64_t output : numbers) {
        const std::size_t bytes = ElementBytes(ResultDType(plan.ops[op], dtype_));
        const std::size_t at = static_cast<std::size_t>(output) * bytes;
        want.replace(at, bytes, expected[op], at, bytes);
      }
      std::string got(want.size(), '\0');
      device_.Get(got.data(), targets.arrays[op], got.size());
      ASSERT_TRUE(got == want) << Name(plan.ops[op]) << " of " << numbers.size()
                               << " outputs differs at byte "
                               << std::ranges::mismatch(got, want).in1 - got.begin();
    }
  }

  template <typename Byte>
  Byte* At(Byte* d_elements, std::int64_t element) const {
    return d_elements + static_cast<std::size_t>(element) * element_bytes_;
  }

  Device& device_;
  const DType dtype_;
  const std::size_t element_bytes_;
  std::mt19937_64 random_;
};

}  // namespace warpfold::testing

#endif  // WARPFOLD_TESTS_KERNELS_EXACT_OUTPUT_SUMS_CASES_H_
