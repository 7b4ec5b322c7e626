// Exact sums of columns side by side, each as float64 numbers where those can hold it. Safe from
// any thread.
#ifndef WARPFOLD_KERNELS_CPU_EXACT_COLUMN_SUMS_H_
#define WARPFOLD_KERNELS_CPU_EXACT_COLUMN_SUMS_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/cpu/loop_table.h"

namespace warpfold::cpu {

inline constexpr std::int64_t kColumnSumRowsMax = 512;

// What loops write past the last column: columns are read in whole vectors.
inline constexpr std::int64_t kColumnsPadding = 8;

// An array of each, of one for every column and of kColumnsPadding more.
struct ColumnSums {
  double* high;
  double* low;
  std::uint8_t* fits;  // 1 where high + low is the sum, and no element was infinite or NaN
};

template <typename T>
struct ColumnSumLoop {
  // Sums `rows` rows, 1 to kColumnSumRowsMax and `stride` elements apart, of `columns` columns. The
  // sum of nothing but -0.0 is high -0.0 and low 0.0.
  void (*sum)(const T* data, std::int64_t stride, std::int64_t rows, std::int64_t columns,
              const ColumnSums& sums);
};

// The loops for this processor.
using ColumnSumLoopTable = LoopTable<ColumnSumLoop<Half>, ColumnSumLoop<BFloat16>,
                                     ColumnSumLoop<float>, ColumnSumLoop<double>>;
const ColumnSumLoopTable& GetColumnSumLoops();

// The sums of so many columns.
class ColumnSumsBuffer {
 public:
  explicit ColumnSumsBuffer(std::int64_t columns)
      : numbers_(std::make_unique_for_overwrite<double[]>(2 * Size(columns))),
        fits_(std::make_unique_for_overwrite<std::uint8_t[]>(Size(columns))),
        sums_{numbers_.get(), numbers_.get() + Size(columns), fits_.get()} {}

  const ColumnSums& sums() const { return sums_; }

 private:
  static std::size_t Size(std::int64_t columns) {
    return static_cast<std::size_t>(columns + kColumnsPadding);
  }

  std::unique_ptr<double[]> numbers_;
  std::unique_ptr<std::uint8_t[]> fits_;
  ColumnSums sums_;
};

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_EXACT_COLUMN_SUMS_H_
