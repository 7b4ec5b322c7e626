// What exact sums cost an output on one core: from a state to a result, and rows of 128 elements by
// the CPU kernels, beside those that add in an order.
//
//   build/release/bench/kernels/warpfold_bench_exact_finish
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/kernels/native.h"
#include "benchmark/benchmark.h"
#include "kernels/cpu/reduce.h"
#include "kernels/exact/state.h"
#include "kernels/exact/sums.h"
#include "kernels/ops/catalogue.h"
#include "kernels/types.h"

namespace warpfold {
namespace {

constexpr int kRow = 128;

// N(0, 1), or numbers of both signs of all exponents.
template <typename T>
std::vector<T> Elements(int count, bool is_full_range) {
  std::mt19937_64 random(20261126);
  std::normal_distribution<double> normal;
  constexpr int kTop = std::is_same_v<T, double> ? 1022 : 126;
  std::uniform_int_distribution<int> exponent(-kTop, kTop);
  std::vector<T> elements(static_cast<std::size_t>(count));
  for (T& x : elements) {
    const double drawn = normal(random);
    x = static_cast<T>(is_full_range ? std::ldexp(std::remainder(drawn, 1), exponent(random))
                                     : drawn);
  }
  return elements;
}

// An op of the states of rows, once each.
template <typename T>
void FinishState(benchmark::State& run, Op op, bool is_full_range) {
  constexpr int kRows = 256;
  using State = exact::SumsState<T, exact::Sums::kStatistics>;
  const std::vector<T> elements = Elements<T>(kRows * kRow, is_full_range);
  std::vector<State> states(kRows);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    State& state = states[i / kRow];
    const exact::ElementParts parts = exact::PartsOf(elements[i]);
    exact::AddAt(state.sum.words, parts.mantissa, parts.bit);
    exact::AddAt(state.absolute_sum.words, std::abs(parts.mantissa), parts.bit);
    exact::AddSquareAt(state.squares.words, parts);
    state.specials = exact::kHasOtherThanNegativeZero;
  }
  for (State& state : states) exact::Normalize(state);
  std::size_t row = 0;
  for ([[maybe_unused]] auto one : run) {
    benchmark::DoNotOptimize(
        exact::Finish<T>(StatisticOf<T>(op), states[row], kRow, {.correction = 1}));
    row = (row + 1) % kRows;
  }
}

// 1 MiB of rows.
template <typename T>
void ReduceRows(benchmark::State& run, const char* ops) {
  constexpr int kCount = (1 << 20) / sizeof(T);
  const std::vector<T> elements = Elements<T>(kCount, false);
  const char* dtype = std::is_same_v<T, double> ? "f64" : "f32";
  const bench::NativeReduction reduction({dtype, ops, kCount / kRow, kRow, 1});
  std::vector<double> results(reduction.ops.size() * (kCount / kRow));
  Overflow overflow;
  const Output output = reduction.OutputAt(results.data(), &overflow);
  for ([[maybe_unused]] auto one : run) {
    cpu::EngineFor({reduction.dtype, reduction.fused_op_set})
        .FoldElements(elements.data(), reduction.extent, output, cpu::Serial);
  }
  constexpr std::int64_t kRows = kCount / kRow;
  run.counters["row"] =
      benchmark::Counter(static_cast<double>(kRows), benchmark::Counter::kIsIterationInvariantRate |
                                                         benchmark::Counter::kInvert);
}

template <typename T>
void RegisterAll(const std::string& dtype) {
  for (const Op op : {Op::kSum, Op::kMean, Op::kL2Norm, Op::kVar, Op::kStd}) {
    for (const bool is_full_range : {false, true}) {
      const std::string name =
          absl::StrCat("finish/", dtype, is_full_range ? "/full_range/" : "/normal/", Name(op));
      benchmark::RegisterBenchmark(name.c_str(), FinishState<T>, op, is_full_range);
    }
  }
  for (const char* ops : {"mean", "var", "sum,mean,var,min,max,nan_count,inf_count,l1_norm,l2_norm",
                          "mean,var,std,l2_norm"}) {
    const std::string name = absl::StrCat("rows/", dtype, "/", ops);
    benchmark::RegisterBenchmark(name.c_str(), ReduceRows<T>, ops);
  }
}

}  // namespace
}  // namespace warpfold

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  warpfold::RegisterAll<float>("f32");
  warpfold::RegisterAll<double>("f64");
  benchmark::RunSpecifiedBenchmarks();
}
