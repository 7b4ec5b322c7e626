// The canonical tree over rows of values, column by column.
#ifndef WARPFOLD_KERNELS_CPU_TREE_ROWS_H_
#define WARPFOLD_KERNELS_CPU_TREE_ROWS_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/canonical.h"

namespace warpfold::cpu {

// Any number of folds, one after another.
template <typename Value>
class TreeRows {
 public:
  TreeRows(std::int64_t count, std::int64_t columns)
      : count_(count),
        columns_(columns),
        stack_(std::make_unique_for_overwrite<Value[]>(
            static_cast<std::size_t>(StackLevels(count) * columns))) {}

  // fold(k, row) makes the k-th of the rows, from the first to the last; combine(left, right)
  // adds to `right` what was further up. The result is there until the next call.
  template <typename FoldRow, typename CombineRows>
  const Value* Fold(const FoldRow& fold, const CombineRows& combine) const {
    for (std::int64_t k = 0; k < count_; ++k) {
      // A row goes where the tree that it completes will be.
      const int level = std::countr_one(static_cast<std::uint64_t>(k));
      fold(k, Level(level));
      for (int l = 0; l < level; ++l) combine(Level(l), Level(level));
    }
    const int lowest = std::countr_zero(static_cast<std::uint64_t>(count_));
    for (int level = lowest + 1; (count_ >> level) != 0; ++level) {
      if ((count_ >> level) & 1) combine(Level(level), Level(lowest));
    }
    return Level(lowest);
  }

 private:
  Value* Level(int level) const { return stack_.get() + level * columns_; }

  std::int64_t count_;
  std::int64_t columns_;
  std::unique_ptr<Value[]> stack_;
};

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_TREE_ROWS_H_
