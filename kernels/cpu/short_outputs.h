// Outputs of few elements each, of floats: straight to results from sums in float64, which are
// exact (exact_column_sums.h) or known to lie close enough (column_statistics.h). An output that
// they do not tell goes the long way by itself.
#ifndef WARPFOLD_KERNELS_CPU_SHORT_OUTPUTS_H_
#define WARPFOLD_KERNELS_CPU_SHORT_OUTPUTS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "kernels/cpu/column_statistics.h"
#include "kernels/cpu/column_values.h"
#include "kernels/cpu/emit.h"
#include "kernels/cpu/exact_column_sums.h"
#include "kernels/cpu/exact_run.h"
#include "kernels/cpu/exact_writer.h"
#include "kernels/cpu/finish_loops.h"
#include "kernels/cpu/lift.h"
#include "kernels/cpu/transpose.h"
#include "kernels/dtypes/element.h"
#include "kernels/exact/bounded.h"
#include "kernels/exact/bounded_finish.h"
#include "kernels/exact/fold.h"
#include "kernels/exact/quick_sums.h"
#include "kernels/exact/results.h"
#include "kernels/finish.h"
#include "kernels/ops/catalogue.h"

namespace warpfold::cpu {

// The sum rounded once to a T.
template <typename T>
inline T RoundSum(double high, double low) {
  if constexpr (std::is_same_v<T, double>) {
    return low == 0 ? high : high + low;
  } else {
    return RoundFromDouble<T>(high);  // low is 0
  }
}

// The mean of `count` elements, at most kColumnSumRowsMax, rounded once; false if a quotient of
// float64 does not decide it.
template <typename T>
inline bool RoundMean(double high, double low, std::int64_t count, T* mean) {
  const auto n = static_cast<double>(count);
  const double quotient = high / n;
  if constexpr (std::is_same_v<T, double>) {
    *mean = quotient;  // itself rounded once
    if (low == 0) return true;
    if (std::fabs(quotient) < 0x1p-900 || !std::isfinite(quotient)) return false;
    const double rest = (std::fma(-quotient, n, high) + low) / n;
    const double error = std::fabs(rest) * 0x1p-50;
    *mean = quotient + (rest - error);
    return *mean == quotient + (rest + error);
  } else {
    // Rounded twice, but not onto a tie of T first. The sum is an integer below 2^53 of some unit
    // u, ties near the mean are integers of a unit v above 2^-26 of it. So sum - count * tie is 0
    // or at least the smaller of u and v, and the mean is as far from a tie as that / count: more
    // than the quotient errs by, 2^-53 of the mean.
    *mean = RoundFromDouble<T>(quotient);
    return true;
  }
}

template <class X>
class ShortOutputs {
 public:
  using T = typename X::Element;
  using Stored = typename X::Storage;
  using R = FloatOf<Stored>;  // of what is rounded
  using State = typename X::State;
  using Values = typename X::Values;

  // Whether X has sums of floats.
  static constexpr bool kServe = kIsFloat<T> && X::kSums != exact::Sums::kNone && !X::kOmitsNan;

  // Outputs of `count` elements.
  static bool Serve(const ExactRun<X>& run, const Output& output, std::int64_t count) {
    return kServe && output.states == nullptr && count <= kColumnSumRowsMax &&
           !(X::kHasProduct && run.needs().product);
  }

  // Of up to `outputs` outputs at a time.
  ShortOutputs(const ExactRun<X>& run, const Output& output, std::int64_t outputs)
      : run_(run),
        output_(output),
        needs_statistics_(X::kSums == exact::Sums::kStatistics &&
                          run.needs().absolute_sums_and_squares),
        sums_(outputs),
        told_(std::make_unique_for_overwrite<bool[]>(static_cast<std::size_t>(outputs))) {
    if (needs_statistics_) statistics_.resize(static_cast<std::size_t>(outputs));
    if (needs_values()) values_.resize(static_cast<std::size_t>(outputs));
  }

  // The outputs from `first` on, of the columns side by side at `data`.
  void FoldColumns(const T* data, std::int64_t step, std::int64_t rows, std::int64_t columns,
                   std::int64_t first, const ColumnIndexing& indexing) {
    T column[kColumnSumRowsMax];
    Fold({data, step, rows, columns}, first, indexing, [&](std::int64_t c) {
      for (std::int64_t r = 0; r < rows; ++r) column[r] = data[r * step + c];
      return column;
    });
  }

  // Elements that FoldRows needs room for.
  static std::int64_t RoomFor(std::int64_t rows, std::int64_t count) {
    return (rows + TransposedStep<T>(rows)) * count;
  }

  // The same of rows of `count` elements one after another, made columns of. Copied first: of rows
  // read side by side a processor does not foresee the next ones. Sums of 128 f32 in memory took
  // 0.48 ns an element so, 0.69 without (one core of an EPYC, Zen 4, 2026-11-26).
  void FoldRows(const Stored* data, std::int64_t count, std::int64_t rows, std::int64_t first,
                std::int64_t offset, T* room) {
    CopyLifted(data, rows * count, room);
    const std::int64_t step = TransposedStep<T>(rows);
    T* const columns = room + rows * count;
    Transpose(room, count, rows, count, columns, step);
    Fold({columns, step, count, rows}, first,
         {.first = offset, .column_step = count, .row_step = 1},
         [&](std::int64_t row) { return room + row * count; });
  }

 private:
  // The results of all that is not rounded, for EmitRun.
  struct ValuesWriter {
    using State = typename Values::State;

    static bool TakesBlocks(const ResultTargets&) { return false; }

    template <int kCount>
    static int Write(const ResultTargets& targets, std::int64_t index, const State* states,
                     OpOverflow* op_overflow) {
      if constexpr (kCount != kFinishBlock) {
        for (int i = 0; i < targets.count; ++i) {
          if (StatisticOf<Stored>(targets.ops[i]) != Statistic::kNone) continue;
          WriteResult<Values, kCount>(targets, i, index, states,
                                      op_overflow);  // of floats, which fit
        }
      }
      return kCount;
    }
  };

  using Bounded = exact::BoundedSumsAlone<Stored>;

  struct Block {
    const T* data;
    std::int64_t step;
    std::int64_t rows;
    std::int64_t columns;
  };

  bool needs_values() const { return Values::kComponents > 0 && run_.needs_values(); }

  // elements_of(c): those of column c, one after another.
  template <class ElementsOf>
  void Fold(const Block& block, std::int64_t first, const ColumnIndexing& indexing,
            const ElementsOf& elements_of) {
    if (needs_statistics_) {
      FoldStatistics(block, first);
    } else {
      FoldSums(block, first);
    }
    if (needs_values()) FoldValues(block, first, indexing);
    for (std::int64_t c = 0; c < block.columns; ++c) {
      if (told_[c]) continue;
      State state = X::Identity();
      run_.AddSums(elements_of(c), block.rows, state);
      if constexpr (Values::kComponents > 0) {
        if (needs_values()) X::ValuesOf(state) = values_[static_cast<std::size_t>(c)];
      }
      X::Normalize(state);
      EmitRun<FusionWriter<X>>(output_, first + c, &state, 1);
    }
  }

  R* ResultsOf(int op, std::int64_t first) const {
    return static_cast<R*>(output_.targets.arrays[op]) + output_.first_result + first;
  }

  // SUM and MEAN.
  void FoldSums(const Block& block, std::int64_t first) {
    const ColumnSums& sums = sums_.sums();
    const ColumnSumLoop<T>& loop = GetColumnSumLoops();
    loop.sum(block.data, block.step, block.rows, block.columns, sums);
    for (std::int64_t c = 0; c < block.columns; ++c) told_[c] = sums.fits[c] != 0;
    for (int i = 0; i < output_.targets.count; ++i) {
      R* const to = ResultsOf(i, first);
      const Statistic statistic = StatisticOf<Stored>(output_.targets.ops[i]);
      if (statistic == Statistic::kSum) {
        for (std::int64_t c = 0; c < block.columns; ++c) {
          to[c] = RoundSum<R>(sums.high[c], sums.low[c]);
        }
      } else if (statistic == Statistic::kMean) {
        for (std::int64_t c = 0; c < block.columns; ++c) {
          if (!RoundMean(sums.high[c], sums.low[c], block.rows, to + c)) told_[c] = false;
        }
      }
    }
  }

  // All that is rounded.
  void FoldStatistics(const Block& block, std::int64_t first) {
    const ColumnStatisticsLoop<T>& loop = GetColumnStatisticsLoops();
    loop.fold(block.data, block.step, block.rows, block.columns, statistics_.data());
    const exact::Divisors divisors(block.rows, output_.targets.correction);
    for (std::int64_t c = 0; c < block.columns; ++c) {
      const ColumnStatistics<T>& state = statistics_[static_cast<std::size_t>(c)];
      told_[c] = IsFiniteSum(Bounded::template Get<exact::BoundedAbsSum<T>>(state));
      if (!told_[c]) continue;
      const exact::BoundedOutput<Bounded, true> result(&state, &divisors);
      for (int i = 0; i < output_.targets.count; ++i) {
        const Statistic statistic = StatisticOf<Stored>(output_.targets.ops[i]);
        if (IsOfSums(statistic)) {
          told_[c] &= result.Finish(statistic, ResultsOf(i, first) + c);
        }
      }
    }
  }
  static bool IsFiniteSum(double sum) { return std::isfinite(sum); }
  static bool IsFiniteSum(const exact::Pair& sum) { return std::isfinite(sum.high); }

  // All else.
  void FoldValues(const Block& block, std::int64_t first, const ColumnIndexing& indexing) {
    if constexpr (Values::kComponents > 0) {
      std::fill_n(values_.begin(), block.columns, Values::IdentityState());
      ColumnValues<Values>(run_.needs(), block.columns)
          .Add(
              block.data, block.step, block.rows, indexing, [&](std::int64_t c) -> auto& {
                return values_[static_cast<std::size_t>(c)];
              });
      EmitRun<ValuesWriter>(output_, first, values_.data(), block.columns);
    }
  }

  const ExactRun<X>& run_;
  const Output& output_;
  const bool needs_statistics_;  // else sums alone
  ColumnSumsBuffer sums_;
  std::vector<ColumnStatistics<T>> statistics_;
  std::vector<typename Values::State> values_;
  std::unique_ptr<bool[]> told_;
};

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_SHORT_OUTPUTS_H_
