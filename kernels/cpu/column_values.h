// Columns side by side, added to the values of their outputs: a fold's components one after
// another, row by row.
#ifndef WARPFOLD_KERNELS_CPU_COLUMN_VALUES_H_
#define WARPFOLD_KERNELS_CPU_COLUMN_VALUES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "kernels/components.h"
#include "kernels/cpu/column_loops.h"
#include "kernels/cpu/exact_run.h"
#include "kernels/tiles.h"

namespace warpfold::cpu {

// Where the element of row r and column c comes from: linear offset first + c * column_step +
// r * row_step.
struct ColumnIndexing {
  std::int64_t first;
  std::int64_t column_step;
  std::int64_t row_step;
};

template <class Values>
class ColumnValues {
 public:
  using T = typename Values::Element;
  using State = typename Values::State;

  ColumnValues(const ExactNeeds& needs, std::int64_t columns) : needs_(needs), columns_(columns) {}

  // Adds `rows` rows, `step` elements apart and at most kAccElementsMax, to the State& of each
  // column, value_of(c). A component at a time: what it reads stays in L2.
  template <class ValueOf>
  void Add(const T* data, std::int64_t step, std::int64_t rows, const ColumnIndexing& indexing,
           const ValueOf& value_of) const {
    const auto add = [&](auto tag) {
      AddComponent<typename decltype(tag)::type>(data, step, rows, indexing, value_of);
    };
    Values::ForEach([&](auto tag) {
      using C = typename decltype(tag)::type;
      if constexpr (!Values::template kIsSkippedCount<C>) {
        if (IsNeeded<C>()) add(tag);
      }
    });
    if constexpr (Values::kSkipsCounts) {
      bool all_finite = true;
      for (std::int64_t c = 0; c < columns_; ++c) all_finite &= Values::AllFinite(value_of(c));
      if (all_finite) return;
      Values::ForEach([&](auto tag) {
        if constexpr (Values::template kIsSkippedCount<typename decltype(tag)::type>) add(tag);
      });
    }
  }

 private:
  template <class C>
  bool IsNeeded() const {
    if constexpr (std::is_same_v<C, ArgMin<T>>) return needs_.least_index;
    if constexpr (std::is_same_v<C, ArgMax<T>>) return needs_.greatest_index;
    return true;
  }

  template <class C, class ValueOf>
  void AddComponent(const T* data, std::int64_t step, std::int64_t rows,
                    const ColumnIndexing& indexing, const ValueOf& value_of) const {
    using Acc = typename C::Acc;
    const auto& loops = GetColumnLoops<T, typename Values::template Applied<C>>();
    const auto size = static_cast<std::size_t>(columns_);
    const auto accs = std::make_unique_for_overwrite<Acc[]>(2 * size);
    Acc* top = accs.get();
    Acc* next = top + size;
    for (std::int64_t row = 0; row < rows; row += kLeafRows) {
      loops.fold_leaf(data, step, static_cast<int>(row),
                      static_cast<int>(std::min<std::int64_t>(kLeafRows, rows - row)), columns_,
                      next);
      if (row > 0) loops.combine(top, next, columns_);
      std::swap(top, next);
    }
    for (std::int64_t c = 0; c < columns_; ++c) {
      auto& value = Values::template Get<C>(value_of(c));
      value = C::Combine(value,
                         PromoteAt<C>(top[c], {.first = indexing.first + c * indexing.column_step,
                                               .step = indexing.row_step}));
    }
  }

  const ExactNeeds& needs_;
  const std::int64_t columns_;
};

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_COLUMN_VALUES_H_
