#include "kernels/cpu/column_statistics.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/dtypes/element.h"
#include "kernels/exact/bounded.h"

// Compiled once for each SIMD target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/column_statistics.cc"
#include "hwy/foreach_target.h"
// foreach_target.h must come first.
#include "hwy/highway.h"
#include "kernels/cpu/column_strip-inl.h"
#include "kernels/cpu/error_free-inl.h"
#include "kernels/cpu/exact_elements-inl.h"
#include "kernels/cpu/exact_grids-inl.h"

HWY_BEFORE_NAMESPACE();
namespace warpfold::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Running values of so many columns stay in the first-level cache.
constexpr std::int64_t kStrip = 128;

// A running sum of each column: of float64 elements and of squares a pair, else `low` stays 0.
struct RunningSums {
  alignas(64) double high[kStrip];
  alignas(64) double low[kStrip];
};

template <typename T>
class StatisticsStrip {
 public:
  // `columns`: whole vectors, at most kStrip.
  StatisticsStrip(const T* data, std::int64_t stride, std::int64_t columns)
      : data_(data), stride_(stride), columns_(columns) {
    // -0.0 adds nothing to any number.
    for (RunningSums* running : {&sums_, &absolute_sums_, &squares_}) {
      std::fill_n(running->high, columns, -0.0);
      std::fill_n(running->low, columns, 0.0);
    }
    std::fill_n(largest_, columns, 0.0);
    std::fill_n(smallest_, columns, kInfinity<double>);
  }

  template <int kRows>
  HWY_INLINE void Touch(std::int64_t row) {
    const D d;
    const V infinity = hn::Set(d, kInfinity<double>);
    for (std::int64_t c = 0; c < columns_; c += kLanes) {
      Running sum(sums_, c);
      Running absolute_sum(absolute_sums_, c);
      Running squares(squares_, c);
      V largest = hn::Load(d, largest_ + c);
      V smallest = hn::Load(d, smallest_ + c);
      for (int r = 0; r < kRows; ++r) {
        const V x = Load(data_ + (row + r) * stride_ + c);
        const V size = hn::Abs(x);
        if constexpr (exact::kSumsAreDoubleDouble<T>) {
          sum.AddInPair(x);
          absolute_sum.AddInPair(size);
          const SquareParts square = SquareOf(x);
          squares.AddInPair(square.product);
          squares.low = hn::Add(squares.low, square.rest);
        } else {
          sum.high = hn::Add(sum.high, x);
          absolute_sum.high = hn::Add(absolute_sum.high, size);
          squares.AddInPair(hn::Mul(x, x));  // which a float64 holds
        }
        largest = hn::Max(largest, size);
        smallest = hn::Min(smallest, hn::IfThenElse(hn::Eq(size, hn::Zero(d)), infinity, size));
      }
      sum.Store(sums_, c);
      absolute_sum.Store(absolute_sums_, c);
      squares.Store(squares_, c);
      hn::Store(largest, d, largest_ + c);
      hn::Store(smallest, d, smallest_ + c);
    }
  }

  // Of `rows` rows, no more than a tile has elements.
  void Finish(std::int64_t rows, std::int64_t columns, ColumnStatistics<T>* states) const {
    using F = exact::BoundedSumsAlone<T>;
    using Sum = exact::BoundedSum<T>;
    using Size = exact::SmallestSize<T>;
    for (std::int64_t c = 0; c < columns; ++c) {
      ColumnStatistics<T>& state = states[c];
      F::template Get<exact::BoundedAbsSum<T>>(state) = NumberOf<T>(absolute_sums_, c);
      F::template Get<exact::SquareSumPair<T>>(state) = NumberOf<double>(squares_, c);
      F::template Get<exact::LargestSize<T>>(state) =
          exact::SizeOf(RoundFromDouble<T>(largest_[c]));
      auto& smallest = F::template Get<Size>(state);
      smallest = Size::Identity();
      if (smallest_[c] != kInfinity<double>) {
        Size::Add(smallest, RoundFromDouble<T>(smallest_[c]));
      }
      F::template Get<Sum>(state) = Sum::State::Of(
          {sums_.high[c], sums_.low[c]}, Sum::template ErrorOf<F>(state, static_cast<int>(rows)),
          exact::LargestOf<F>(state));
    }
  }

 private:
  // Of a vector of columns.
  struct Running {
    V high;
    V low;

    HWY_INLINE Running(const RunningSums& from, std::int64_t c)
        : high(hn::Load(D(), from.high + c)), low(hn::Load(D(), from.low + c)) {}
    HWY_INLINE void AddInPair(V x) { low = hn::Add(low, AddTo(high, x)); }
    HWY_INLINE void Store(RunningSums& to, std::int64_t c) const {
      hn::Store(high, D(), to.high + c);
      hn::Store(low, D(), to.low + c);
    }
  };

  static HWY_INLINE V Load(const T* from) {
    if constexpr (std::is_same_v<T, double>) {
      return LoadDoubles<false>(from);
    } else {
      return NarrowElements<T, false>::Load(from);
    }
  }

  // As the sums of U's are kept.
  template <typename U>
  static auto NumberOf(const RunningSums& sums, std::int64_t c) {
    if constexpr (exact::kSumsAreDoubleDouble<U>) {
      return exact::Pair{sums.high[c], sums.low[c]};
    } else {
      return sums.high[c];
    }
  }

  const T* const data_;
  const std::int64_t stride_;
  const std::int64_t columns_;
  RunningSums sums_;
  RunningSums absolute_sums_;
  RunningSums squares_;
  alignas(64) double largest_[kStrip];
  alignas(64) double smallest_[kStrip];  // of those that are not zero
};

template <typename T>
void FoldStatistics(const T* data, std::int64_t stride, std::int64_t rows, std::int64_t columns,
                    ColumnStatistics<T>* states) {
  ForEachStrip(data, stride, rows, columns, kStrip,
               [&](const T* from, std::int64_t step, std::int64_t first, std::int64_t count) {
                 StatisticsStrip<T> strip(from, step, count);
                 TouchRows(strip, rows);
                 strip.Finish(rows, std::min(count, columns - first), states + first);
               });
}

const ColumnStatisticsLoopTable& AllColumnStatisticsLoops() {
  static constexpr auto kLoops = ColumnStatisticsLoopTable::Of(
      []<typename T>(TypeTag<ColumnStatisticsLoop<T>>) { return &FoldStatistics<T>; });
  return kLoops;
}

}  // namespace warpfold::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace warpfold::cpu {

HWY_EXPORT(AllColumnStatisticsLoops);
const ColumnStatisticsLoopTable& GetColumnStatisticsLoops() {
  return HWY_DYNAMIC_DISPATCH(AllColumnStatisticsLoops)();
}

}  // namespace warpfold::cpu
#endif  // HWY_ONCE
