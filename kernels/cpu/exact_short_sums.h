// SUM and MEAN of floats for outputs of few elements each: from sums that float64 numbers hold
// straight to results. An output whose sum they do not hold goes the long way by itself.
#ifndef WARPFOLD_KERNELS_CPU_EXACT_SHORT_SUMS_H_
#define WARPFOLD_KERNELS_CPU_EXACT_SHORT_SUMS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "kernels/cpu/emit.h"
#include "kernels/cpu/exact_column_sums.h"
#include "kernels/cpu/exact_run.h"
#include "kernels/cpu/exact_writer.h"
#include "kernels/cpu/transpose.h"
#include "kernels/element.h"
#include "kernels/exact/fold.h"
#include "kernels/finish.h"

namespace warpfold::cpu {

// The sum rounded once.
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
class ShortSums {
 public:
  using T = typename X::Element;
  using State = typename X::State;

  // Whether X is such sums and nothing else.
  static constexpr bool kServe =
      kIsFloat<T> && X::kSums == exact::Sums::kSum && X::Values::kComponents == 0;

  // Outputs of `count` elements.
  static bool Serve(const Output& output, std::int64_t count) {
    return kServe && output.states == nullptr && count <= kColumnSumRowsMax;
  }

  // Of up to `outputs` outputs at a time.
  ShortSums(const ExactRun<X>& run, const Output& output, std::int64_t outputs)
      : run_(run), output_(output), sums_(outputs) {}

  // The outputs from `first` on, of the columns side by side at `data`.
  void FoldColumns(const T* data, std::int64_t step, std::int64_t rows, std::int64_t columns,
                   std::int64_t first) const {
    T column[kColumnSumRowsMax];
    Fold(data, step, rows, columns, first, [&](std::int64_t c) {
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
  void FoldRows(const T* data, std::int64_t count, std::int64_t rows, std::int64_t first,
                T* room) const {
    std::copy(data, data + rows * count, room);
    const std::int64_t step = TransposedStep<T>(rows);
    T* const columns = room + rows * count;
    Transpose(room, count, rows, count, columns, step);
    Fold(columns, step, count, rows, first, [&](std::int64_t row) { return data + row * count; });
  }

 private:
  // elements_of(c): those of column c, one after another.
  template <class ElementsOf>
  void Fold(const T* data, std::int64_t step, std::int64_t rows, std::int64_t columns,
            std::int64_t first, const ElementsOf& elements_of) const {
    const ColumnSums& sums = sums_.sums();
    const std::int64_t done = GetColumnSumLoop<T>()(data, step, rows, columns, sums);
    std::fill(sums.fits + done, sums.fits + columns, 0);
    for (int i = 0; i < output_.targets.count; ++i) {
      T* to = static_cast<T*>(output_.targets.arrays[i]) + output_.first_result + first;
      if (output_.targets.ops[i] == Op::kSum) {
        for (std::int64_t c = 0; c < done; ++c) to[c] = RoundSum<T>(sums.high[c], sums.low[c]);
        continue;
      }
      for (std::int64_t c = 0; c < done; ++c) {
        if (!RoundMean(sums.high[c], sums.low[c], rows, to + c)) sums.fits[c] = 0;
      }
    }
    for (std::int64_t c = 0; c < columns; ++c) {
      if (sums.fits[c] != 0) continue;
      State state = X::Identity();
      run_.AddSums(elements_of(c), rows, state);
      X::Normalize(state);
      EmitRun<FusionWriter<X>>(output_, first + c, &state, 1);
    }
  }

  const ExactRun<X>& run_;
  const Output& output_;
  ColumnSumsBuffer sums_;
};

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_EXACT_SHORT_SUMS_H_
