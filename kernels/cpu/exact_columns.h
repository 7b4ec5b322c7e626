// A block of columns, added to the exact states of their outputs: values row by row, sums and
// products column by column, of which the block makes runs.
#ifndef WARPFOLD_KERNELS_CPU_EXACT_COLUMNS_H_
#define WARPFOLD_KERNELS_CPU_EXACT_COLUMNS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "kernels/cpu/column_values.h"
#include "kernels/cpu/exact_column_sums.h"
#include "kernels/cpu/exact_run.h"
#include "kernels/cpu/transpose.h"
#include "kernels/exact/fold.h"

namespace warpfold::cpu {

template <class X>
class ExactColumns {
 public:
  using T = typename X::Element;
  using State = typename X::State;
  using Values = typename X::Values;

  // Rows of a block, at most. An Acc takes no more.
  static constexpr std::int64_t kRowsMax = 4096;
  static_assert(kRowsMax <= kAccElementsMax);

  // For blocks of `columns` columns and up to `rows` rows.
  ExactColumns(const ExactRun<X>& run, std::int64_t rows, std::int64_t columns)
      : run_(run),
        run_stride_(TransposedStep<T>(rows)),
        columns_(columns),
        run_columns_(std::clamp(kRunsBytes / (rows * kElementBytes), std::int64_t{1}, columns)),
        sums_(columns) {
    if constexpr (!X::kHasValuesAlone) {
      runs_ =
          std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(run_columns_ * run_stride_));
    }
  }

  // Adds `rows` rows, `step` elements apart. The states are not normalised after.
  void Add(const T* data, std::int64_t step, const ColumnIndexing& indexing, std::int64_t rows,
           State* states) {
    if constexpr (Values::kComponents > 0) {
      if (run_.needs_values()) {
        ColumnValues<Values>(run_.needs(), columns_)
            .Add(
                data, step, rows,
                indexing, [&](std::int64_t c) -> auto& { return X::ValuesOf(states[c]); });
      }
    }
    if constexpr (!X::kHasValuesAlone) {
      // Fewer columns than that are sooner made runs of than filled up.
      if (run_.needs_sums_alone() && columns_ >= kColumnsPadding) {
        for (std::int64_t row = 0; row < rows; row += kColumnSumRowsMax) {
          AddSumsAlone(data + row * step, step, std::min(kColumnSumRowsMax, rows - row), states);
        }
      } else {
        AddRuns(data, step, rows, states);
      }
    }
  }

 private:
  static constexpr std::int64_t kElementBytes = sizeof(T);
  static constexpr std::int64_t kRunsBytes = 256 << 10;

  // Sums and products by runs, of as many columns at a time as stay in L2.
  void AddRuns(const T* data, std::int64_t step, std::int64_t rows, State* states) {
    for (std::int64_t first = 0; first < columns_; first += run_columns_) {
      const std::int64_t columns = std::min(run_columns_, columns_ - first);
      Transpose(data + first, step, rows, columns, runs_.get(), run_stride_);
      for (std::int64_t c = 0; c < columns; ++c) {
        run_.AddSums(runs_.get() + c * run_stride_, rows, states[first + c]);
      }
    }
  }

  // Sums alone, where they fit float64. Where most did not, so it will be with the rows that
  // follow.
  void AddSumsAlone(const T* data, std::int64_t step, std::int64_t rows, State* states) {
    if constexpr (kIsFloat<T> && X::kSums != exact::Sums::kNone) {
      constexpr int kBlocksUntilTried = 8;
      if (are_wide_for_ > 0) {
        --are_wide_for_;
        AddRuns(data, step, rows, states);
        return;
      }
      const ColumnSums& sums = sums_.sums();
      const ColumnSumLoop<T>& loop = GetColumnSumLoops();
      loop.sum(data, step, rows, columns_, sums);
      if (std::count(sums.fits, sums.fits + columns_, 0) > columns_ / 8) {
        are_wide_for_ = kBlocksUntilTried;
        AddRuns(data, step, rows, states);
        return;
      }
      for (std::int64_t c = 0; c < columns_; ++c) {
        auto& state = states[c].sums;
        if (sums.fits[c] != 0) {
          exact::AddNumber(state.sum, sums.high[c]);
          if (sums.low[c] != 0) exact::AddNumber(state.sum, sums.low[c]);
          const bool is_negative_zero =
              sums.high[c] == 0 && std::signbit(sums.high[c]) && sums.low[c] == 0;
          state.specials |= is_negative_zero ? 0u : std::uint32_t{exact::kHasOtherThanNegativeZero};
        } else {
          for (std::int64_t r = 0; r < rows; ++r) runs_[r] = data[r * step + c];
          run_.AddSums(runs_.get(), rows, states[c]);
        }
      }
    }
  }

  const ExactRun<X>& run_;
  std::int64_t run_stride_;
  std::int64_t columns_;
  std::int64_t run_columns_;
  std::unique_ptr<T[]> runs_;
  ColumnSumsBuffer sums_;
  int are_wide_for_ = 0;  // blocks to come
};

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_EXACT_COLUMNS_H_
