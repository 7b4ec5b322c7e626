// Columns side by side, added to the values of their outputs: a fold's components one after
// another, row by row.
#ifndef WARPFOLD_KERNELS_CPU_COLUMN_VALUES_H_
#define WARPFOLD_KERNELS_CPU_COLUMN_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "kernels/components.h"
#include "kernels/cpu/column_loops.h"
#include "kernels/cpu/exact_run.h"

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
    const auto accs =
        std::make_unique_for_overwrite<typename C::Acc[]>(static_cast<std::size_t>(columns_));
    const ColumnLoop<T, typename Values::template Applied<C>>& loop = GetColumnLoops();
    loop.fold(data, step, static_cast<int>(rows), columns_, accs.get());
    for (std::int64_t c = 0; c < columns_; ++c) {
      // A column at a time: of values farther apart GCC makes vectors in memory, and VAR with MIN
      // of 3 rows of f32 took 8.6 ns an element instead of 7.3 (one core of an EPYC, Zen 4,
      // 2026-11-30).
      if constexpr (Values::kComponents > 2) asm volatile("");
      auto& value = Values::template Get<C>(value_of(c));
      value = C::Combine(value,
                         PromoteAt<C>(accs[c], {.first = indexing.first + c * indexing.column_step,
                                                .step = indexing.row_step}));
    }
  }

  const ExactNeeds& needs_;
  const std::int64_t columns_;
};

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_COLUMN_VALUES_H_
