// Elements that lie one after another, added to the exact state of an output.
#ifndef WARPFOLD_KERNELS_CPU_EXACT_RUN_H_
#define WARPFOLD_KERNELS_CPU_EXACT_RUN_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "kernels/cpu/exact_sums.h"
#include "kernels/cpu/product_loop.h"
#include "kernels/cpu/row_tile.h"
#include "kernels/cpu/tile_loops.h"
#include "kernels/dtypes/element.h"
#include "kernels/dtypes/ordered_key.h"
#include "kernels/exact/fold.h"
#include "kernels/exact/results.h"
#include "kernels/exact/sums.h"
#include "kernels/finish.h"
#include "kernels/ops/catalogue.h"
#include "kernels/ops/value_kind.h"
#include "kernels/tiles.h"

namespace warpfold::cpu {

// Of what a fusion holds, what somebody reads: what takes long is left out otherwise.
struct ExactNeeds {
  bool values = true;  // of floats: other than sums and products
  bool absolute_sums_and_squares = true;
  bool product = true;
  bool least_index = true;
  bool greatest_index = true;

  explicit ExactNeeds(const Output& output) {
    if (output.states != nullptr) return;
    const std::span ops(output.targets.ops, static_cast<std::size_t>(output.targets.count));
    const KindSet needs = NeedsOf(ops);
    values =
        std::ranges::any_of(ops, [](Op op) { return StatisticOf<float>(op) == Statistic::kNone; });
    absolute_sums_and_squares = needs.Has(ValueKind::kAbsSum) || needs.Has(ValueKind::kSquareSum);
    product = needs.Has(ValueKind::kProduct);
    least_index = needs.Has(ValueKind::kArgMin);
    greatest_index = needs.Has(ValueKind::kArgMax);
  }
};

template <class X>
class ExactRun {
 public:
  using T = typename X::Element;
  using State = typename X::State;
  using Values = typename X::Values;
  using Leaders = typename RowTile<Values>::Leaders;

  explicit ExactRun(const Output& output) : needs_(output) {}

  const ExactNeeds& needs() const { return needs_; }

  // Whether anything reads the values: without NaN they are counted.
  bool needs_values() const { return !kIsFloat<T> || X::kOmitsNan || needs_.values; }

  // Whether column loops (exact_column_sums.h) do for all but values.
  bool needs_sums_alone() const {
    return kIsFloat<T> && X::kSums != exact::Sums::kNone && !X::kOmitsNan &&
           !(X::kSums == exact::Sums::kStatistics && needs_.absolute_sums_and_squares) &&
           !(X::kHasProduct && needs_.product);
  }

  // Whether columns are read by one loop.
  bool reads_once() const {
    if constexpr (X::kHasValuesAlone) return Values::kComponents == 1;
    return (Values::kComponents == 0 || !needs_values()) && needs_sums_alone();
  }

  // Before the first element of an output.
  Leaders NoLeaders() const {
    return {.least = {needs_.least_index}, .greatest = {needs_.greatest_index}};
  }

  // Adds `count` elements, at most 2^31, the first of which is at linear offset `first`. The state
  // has to be normalised before and after. The runs of one `leaders` come from front to back.
  void Add(const T* elements, std::int64_t count, std::int64_t first, Leaders& leaders,
           State& state) const {
    if constexpr (X::kHasValuesAlone) {
      AddValues(elements, count, first, leaders, state);
    } else {
      if constexpr (Values::kComponents > 0) {
        if (needs_values()) {
          AddBoth(elements, count, first, leaders, state);
          return;
        }
      }
      AddSums(elements, count, state);
    }
  }

  // The same of all but values.
  void AddSums(const T* elements, std::int64_t count, State& state) const {
    if constexpr (!kIsFloat<T> && X::kSums == exact::Sums::kStatistics) {
      if (needs_.absolute_sums_and_squares) {
        const SquareLoop<T>& loop = GetSquareLoops();
        loop.add(elements, count, state.sums);
      }
    } else if constexpr (X::kSums != exact::Sums::kNone) {
      auto& sums = state.sums;
      if ((sums.specials & exact::kHasNan) == 0) {  // which nothing changes, unlike an infinity
        bool is_done = false;
        if constexpr (X::kSums == exact::Sums::kStatistics) {
          if (needs_.absolute_sums_and_squares) {
            is_done = true;
            const ExactSumLoop<T, X::kOmitsNan>& loop = GetExactStatisticsLoops();
            sums.specials |= loop.add(
                elements, count, {sums.sum.words, sums.absolute_sum.words, sums.squares.words});
          }
        }
        if (!is_done) {
          const ExactSumLoop<T, X::kOmitsNan>& loop = GetExactSumLoops();
          sums.specials |= loop.add(elements, count, {.sum = sums.sum.words});
        }
      }
    }
    if constexpr (X::kHasProduct) {
      if (needs_.product) Multiply<X::kOmitsNan>(elements, count, state.product);
    }
  }

 private:
  // What the second reads is still in the cache that the first left it in.
  void AddBoth(const T* elements, std::int64_t count, std::int64_t first, Leaders& leaders,
               State& state) const {
    constexpr std::int64_t kChunk = (64 << 10) / static_cast<std::int64_t>(sizeof(T));
    for (std::int64_t i = 0; i < count; i += kChunk) {
      const std::int64_t size = std::min(kChunk, count - i);
      AddSums(elements + i, size, state);
      AddValues(elements + i, size, first + i, leaders, X::ValuesOf(state));
    }
  }

  // Rows of so many elements of 32 or 64 bits are sooner added than handed to loops: 8 f32 took 10
  // ns to sum, and 24 as a tile (one core of an EPYC, Zen 4, 2026-11-22).
  static constexpr std::int64_t kShort = kKeyBits<T> >= 32 ? 8 : 0;

  static void AddValues(const T* elements, std::int64_t count, std::int64_t first, Leaders& leaders,
                        typename Values::State& values) {
    if (count <= kShort) {
      typename Values::Acc acc = Values::Identity();
      for (int i = 0; i < count; ++i) Values::Add(acc, elements[i], i);
      values = Values::Combine(values, Values::Promote(acc, {.first = first}));
      return;
    }
    for (std::int64_t i = 0; i < count; i += kTileElements<T>) {
      const auto size = static_cast<int>(std::min<std::int64_t>(kTileElements<T>, count - i));
      values =
          Values::Combine(values, RowTile<Values>::Fold(elements + i, size, first + i, leaders));
    }
  }

  ExactNeeds needs_;
};

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_EXACT_RUN_H_
