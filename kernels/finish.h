// From a state to the results: the last step of every op, the same text on CPU and GPU.
#ifndef WARPFOLD_KERNELS_FINISH_H_
#define WARPFOLD_KERNELS_FINISH_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "kernels/extent.h"
#include "kernels/fold.h"
#include "kernels/host_device.h"
#include "kernels/ops/catalogue.h"
#include "kernels/ops/value_kind.h"
#include "kernels/types.h"

namespace warpfold {

// Where results go: one array an op, indexed by the output element.
struct ResultTargets {
  int count = 0;
  Op ops[kRequestOpsMax] = {};
  void* arrays[kRequestOpsMax] = {};
  std::int64_t reduced_count = 0;  // elements behind each output
  double correction = 0;           // of VAR and STD
  int reduced_run_count = 0;
  ReducedRun reduced_runs[kMaxReducedRuns] = {};  // outermost first

  // The index, in C order of the reduced axes, of the element at linear offset `offset`.
  WARPFOLD_HD std::int64_t ReducedIndex(std::int64_t offset) const {
    std::int64_t index = 0;
    for (int r = 0; r < reduced_run_count; ++r) {
      const ReducedRun& run = reduced_runs[r];
      // Mostly neither changes anything, and a division of 64 bits takes a GPU's thread longer than
      // all else that it does for a result.
      std::int64_t steps = offset;
      if (run.stride != 1) steps /= run.stride;
      if (steps >= run.length) steps %= run.length;
      index = index * run.length + steps;
    }
    return index;
  }
};

// An integer sum or product that does not fit its result. Of floats, whose sums and products always
// do, an exact product that may round either way (exact/product.h). Of several, the one with the
// lowest output index is reported.
struct Overflow {
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  std::int64_t output_index = kNone;
  std::int64_t high = 0;  // the exact sum is high * 2^64 + low; 0 for a product
  std::uint64_t low = 0;
  std::int32_t lock = 0;  // held while the other fields change
  Op op = Op::kSum;
};

// How many results their bounded sums do not tell (exact/bounded_finish.h).
struct UndecidedCounts {
  std::int64_t all = 0;
  std::int64_t beyond_sums = 0;  // not 0: some are of other ops than SUM and MEAN
};

// A list for the outputs of such results, for whoever sums those again (cuda/output_sums.h). In the
// backend's memory.
struct UndecidedList {
  UndecidedCounts* counts = nullptr;  // also of those that the list has no room for
  std::int64_t* numbers = nullptr;    // of the outputs, in any order, some perhaps more than once
  std::int64_t capacity = 0;
};

// Where folded states go: into `states` when it is set (one for each output), else, finished, into
// the targets' arrays from index `first_result` on. All pointers are the backend's own: host memory
// on the CPU, device memory on a GPU. `overflow` is only ever lowered, so that several calls may
// share one.
struct Output {
  void* states = nullptr;
  ResultTargets targets;
  std::int64_t first_result = 0;
  Overflow* overflow = nullptr;
  UndecidedList undecided;  // of exact sums on a GPU
};

// What did not fit: the op, and the exact sum if it is one.
struct OpOverflow {
  Op op = Op::kSum;
  int128 sum = 0;
};

namespace internal {

// Writes kCount neighbouring results from `index` on, of which `value_of(k)` is the k-th, in stores
// of up to 16 bytes where they are aligned: one by one, each of a warp's stores touches all the
// sectors that its other ones do. Sums of 8 rows of 2^26 f32 took 657 us so, and now 542 (H200,
// 2026-11-23).
template <typename Value, int kCount, class ValueOf>
WARPFOLD_HD void Put(void* array, std::int64_t index, const ValueOf& value_of) {
  constexpr int kStoreBytes = 16;
  Value* results = static_cast<Value*>(array) + index;
  if constexpr (kCount > kStoreBytes) {  // the CPU's, whose compilers make SIMD of a plain loop
    for (int k = 0; k < kCount; ++k) results[k] = value_of(k);
    return;
  }
  constexpr int kStoreMax = static_cast<int>(kStoreBytes / sizeof(Value));
  constexpr int kStore = kCount < kStoreMax ? kCount : kStoreMax;
  struct alignas(kStore * sizeof(Value)) Vector {
    Value x[kStore];
  };
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(results) % sizeof(Vector) == 0;
  WARPFOLD_UNROLL
  for (int k = 0; k < kCount; k += kStore) {
    Vector vector;
    WARPFOLD_UNROLL
    for (int i = 0; i < kStore; ++i) vector.x[i] = value_of(k + i);
    if (is_aligned) {
      *reinterpret_cast<Vector*>(results + k) = vector;
      continue;
    }
    WARPFOLD_UNROLL
    for (int i = 0; i < kStore; ++i) results[k + i] = vector.x[i];
  }
}

// One output as an op's Finish reads it (ops/op.h).
template <class F>
struct ValuesOf {
  using T = typename F::Element;
  const typename F::State& state;
  const ResultTargets& targets;

  template <ValueKind kKind>
  WARPFOLD_HD const auto& Get() const {
    return F::template Get<ComponentOf<T, kKind>>(state);
  }
  WARPFOLD_HD std::int64_t count() const { return F::CountOf(state, targets.reduced_count); }
  // -1 of no elements.
  template <class Best>
  WARPFOLD_HD std::int64_t IndexOf(const Best& best) const {
    return best.index == kNoIndex ? std::int64_t{-1} : targets.ReducedIndex(best.index);
  }
};

template <class F, int... kKinds>
constexpr KindSet KindsIn(std::integer_sequence<int, kKinds...>) {
  KindSet kinds;
  const auto add_if = [&](bool has, int kind) {
    if (has) kinds.Add(static_cast<ValueKind>(kind));
  };
  using T = typename F::Element;
  (add_if(F::template kHas<ComponentOf<T, static_cast<ValueKind>(kKinds)>>, kKinds), ...);
  return kinds;
}

// Whether op struct O's Finish makes its result of what fold F has.
template <class F, class O>
constexpr bool Finishes() {
  constexpr KindSet kHeld = KindsIn<F>(std::make_integer_sequence<int, kValueKindCount>());
  const bool is_rounded = O::template kStatistic<typename F::Storage> != Statistic::kNone;
  return !is_rounded && kHeld.HasAllOf(O::kInfo.needs);
}
template <class F, class O>
inline constexpr bool kFinishes = Finishes<F, O>();

// An op's result of one output, which may not fit.
template <typename R>
WARPFOLD_HD R Taken(R result, int /*k*/, int* /*first*/, int128* /*op_overflow*/) {
  return result;
}
template <typename R>
WARPFOLD_HD R Taken(const Checked<R>& result, int k, int* first, int128* op_overflow) {
  const R narrow = static_cast<R>(result.exact);
  if (static_cast<int128>(narrow) != result.exact && k < *first) {
    *first = k;
    *op_overflow = result.is_known ? result.exact : 0;
  }
  return narrow;
}

}  // namespace internal

// Writes the results of op `i` of `targets` of kCount neighbouring outputs, `states`, from `index`
// on, if F holds it and it is not rounded (exact/). Returns the number of the first whose result
// does not fit, which is then in `*op_overflow` (what is written for it is unspecified); kCount if
// all do.
template <class F, int kCount>
WARPFOLD_HD int WriteResult(const ResultTargets& targets, int i, std::int64_t index,
                            const typename F::State* states, OpOverflow* op_overflow) {
  using T = typename F::Storage;
  int first = kCount;
  op_overflow->op = targets.ops[i];
  Ops::ForOne(targets.ops[i], [&](auto tag) {
    using O = typename decltype(tag)::type;
    if constexpr (internal::kFinishes<F, O>) {
      internal::Put<internal::ResultOf<O, T>, kCount>(targets.arrays[i], index, [&](int k) {
        const internal::ValuesOf<F> values{states[k], targets};
        return internal::Taken(O::template Finish<T>(values), k, &first, &op_overflow->sum);
      });
    }
  });
  return first;
}

// All ops of `targets`, likewise; of several overflows of one output, the last op's.
template <class F, int kCount>
WARPFOLD_HD int WriteResults(const ResultTargets& targets, std::int64_t index,
                             const typename F::State* states, OpOverflow* op_overflow) {
  int first = kCount;
  WARPFOLD_NO_UNROLL
  for (int i = 0; i < targets.count; ++i) {
    OpOverflow of_op;
    const int k = WriteResult<F, kCount>(targets, i, index, states, &of_op);
    if (k == kCount || k > first) continue;
    first = k;
    *op_overflow = of_op;
  }
  return first;
}

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_FINISH_H_
