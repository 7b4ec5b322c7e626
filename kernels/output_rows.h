// Which rows of a tensor belong to which output. A row is what folds along the last reduced run of
// dimensions (plan.h's Geometry); where runs further out are reduced, too, an output has many.
#ifndef WARPFOLD_KERNELS_OUTPUT_ROWS_H_
#define WARPFOLD_KERNELS_OUTPUT_ROWS_H_

#include <cstdint>

#include "kernels/extent.h"
#include "kernels/host_device.h"

namespace warpfold {

struct OutputRows {
  // A reduced run further out: rows are [outer, count, inner] in it, and [outer, inner] once it is
  // reduced.
  struct Run {
    std::int64_t count = 1;
    std::int64_t inner = 1;
  };
  int run_count = 0;
  Run runs[kMaxReducedRuns] = {};  // from the innermost

  WARPFOLD_HD std::int64_t rows_per_output() const {
    std::int64_t rows = 1;
    for (int r = 0; r < run_count; ++r) rows *= runs[r].count;
    return rows;
  }
  WARPFOLD_HD std::int64_t OutputOf(std::int64_t row) const {
    for (int r = 0; r < run_count; ++r) {
      const Run& run = runs[r];
      row = row / run.inner / run.count * run.inner + row % run.inner;
    }
    return row;
  }
  // The row number `part` of `output`, from 0 to rows_per_output() - 1.
  WARPFOLD_HD std::int64_t RowOf(std::int64_t output, std::int64_t part) const {
    for (int r = run_count - 1; r >= 0; --r) {
      const Run& run = runs[r];
      output = (output / run.inner * run.count + part % run.count) * run.inner + output % run.inner;
      part /= run.count;
    }
    return output;
  }
};

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_OUTPUT_ROWS_H_
