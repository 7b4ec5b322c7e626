// From a state to the results: the last step of every op, the same text on CPU and GPU.
#ifndef WARPFOLD_KERNELS_FINISH_H_
#define WARPFOLD_KERNELS_FINISH_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/extent.h"
#include "kernels/fold.h"
#include "kernels/host_device.h"
#include "kernels/types.h"

namespace warpfold {

// Where results go: one array an op, indexed by the output element.
struct ResultTargets {
  int count = 0;
  Op ops[kOpCount] = {};
  void* arrays[kOpCount] = {};
  std::int64_t reduced_count = 0;  // elements behind each output
  std::int64_t correction = 0;     // of VAR and STD
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
struct DoubtCounts {
  std::int64_t all = 0;
  std::int64_t beyond_sums = 0;  // not 0: some are of other ops than SUM and MEAN
};

// A list for the outputs of such results, for whoever sums those again (cuda/output_sums.h). In the
// backend's memory.
struct DoubtList {
  DoubtCounts* counts = nullptr;    // also of those that the list has no room for
  std::int64_t* numbers = nullptr;  // of the outputs, in any order, some perhaps more than once
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
  DoubtList doubts;  // of exact sums on a GPU
};

// The float type of MEAN, VAR, STD and the norms.
template <typename T>
using FloatOf = std::conditional_t<kIsFloat<T>, T, double>;
// The integer type of SUM and PROD.
template <typename T>
using IntegerOf = std::conditional_t<kIsUnsigned<T>, std::uint64_t, std::int64_t>;

// What did not fit: the op, and the exact sum if it is one.
struct Misfit {
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

// The same of exact integers: each as an R if it fits, what is left of it otherwise. Returns the k
// of the first that does not fit, kCount if all do.
template <typename R, int kCount, class ExactOf>
WARPFOLD_HD int PutIntegers(void* array, std::int64_t index, const ExactOf& exact_of,
                            int128* misfit) {
  int first = kCount;
  Put<R, kCount>(array, index, [&](int k) {
    const int128 exact = exact_of(k);
    const R narrow = static_cast<R>(exact);
    if (static_cast<int128>(narrow) != exact && first == kCount) {
      first = k;
      *misfit = exact;
    }
    return narrow;
  });
  return first;
}

// Of one past 64 bits a number that fits no result.
template <typename T>
WARPFOLD_HD int128 ExactProduct(const typename Product<T>::State& product) {
  const int128 magnitude = product.past != 0 ? int128{1} << 64 : int128{product.magnitude};
  return product.negative != 0 ? -magnitude : magnitude;
}

}  // namespace internal

// Writes the results of op `i` of `targets` of kCount neighbouring outputs, `states`, from `index`
// on. Returns the number of the first whose result does not fit, which is then in `*misfit` (what
// is written for it is unspecified); kCount if all do.
template <class F, int kCount>
WARPFOLD_HD int WriteResult(const ResultTargets& targets, int i, std::int64_t index,
                            const typename F::State* states, Misfit* misfit) {
  using T = typename F::Element;
  void* array = targets.arrays[i];
  const auto get = [&](int k, auto tag) {
    return F::template Get<typename decltype(tag)::type>(states[k]);
  };
  const auto put_counts = [&](auto tag) {
    internal::Put<std::int64_t, kCount>(array, index, [&](int k) { return get(k, tag); });
  };
  const auto put_values = [&](auto tag) {
    internal::Put<T, kCount>(array, index, [&](int k) { return FromKey<T>(get(k, tag)); });
  };
  const auto put_indices = [&](auto tag) {
    internal::Put<std::int64_t, kCount>(array, index, [&](int k) {
      const auto best = get(k, tag);
      // -1 of no elements.
      return best.index == decltype(tag)::type::kNone ? std::int64_t{-1}
                                                      : targets.ReducedIndex(best.index);
    });
  };
  const auto count_of = [&](int k) { return F::CountOf(states[k], targets.reduced_count); };
  switch (targets.ops[i]) {
    case Op::kSum:
      if constexpr (!kIsFloat<T> && F::template kHas<Sum<T>>) {
        misfit->op = Op::kSum;
        return internal::PutIntegers<IntegerOf<T>, kCount>(
            array, index, [&](int k) { return int128{get(k, TypeTag<Sum<T>>{})}; }, &misfit->sum);
      }
      return kCount;
    case Op::kMin:
      if constexpr (F::template kHas<Min<T>>) {
        put_values(TypeTag<Min<T>>{});
      }
      return kCount;
    case Op::kMax:
      if constexpr (F::template kHas<Max<T>>) {
        put_values(TypeTag<Max<T>>{});
      }
      return kCount;
    case Op::kProd:
      if constexpr (!kIsFloat<T> && F::template kHas<Product<T>>) {
        const int first = internal::PutIntegers<IntegerOf<T>, kCount>(
            array, index,
            [&](int k) { return internal::ExactProduct<T>(get(k, TypeTag<Product<T>>{})); },
            &misfit->sum);
        *misfit = {Op::kProd, 0};
        return first;
      }
      return kCount;
    case Op::kMean:
    case Op::kVar:
    case Op::kStd:
    case Op::kL1Norm:
    case Op::kL2Norm:
      return kCount;  // rounded, as are SUM and PROD of floats (exact/)
    case Op::kCountNonzero:
      if constexpr (F::template kHas<NonzeroCount<T>>) {
        put_counts(TypeTag<NonzeroCount<T>>{});
      }
      return kCount;
    case Op::kAny:
    case Op::kAll:
      if constexpr (F::template kHas<NonzeroCount<T>>) {
        internal::Put<Bool, kCount>(array, index, [&](int k) {
          const std::int64_t enough = targets.ops[i] == Op::kAny ? 1 : count_of(k);
          const bool answer = get(k, TypeTag<NonzeroCount<T>>{}) >= enough;
          return Bool{static_cast<std::uint8_t>(answer)};
        });
      }
      return kCount;
    case Op::kNanCount:
      if constexpr (F::template kHas<NanCount<T>>) {
        put_counts(TypeTag<NanCount<T>>{});
      }
      return kCount;
    case Op::kInfCount:
      if constexpr (F::template kHas<InfCount<T>>) {
        put_counts(TypeTag<InfCount<T>>{});
      }
      return kCount;
    case Op::kArgMin:
      if constexpr (F::template kHas<ArgMin<T>>) {
        put_indices(TypeTag<ArgMin<T>>{});
      }
      return kCount;
    case Op::kArgMax:
      if constexpr (F::template kHas<ArgMax<T>>) {
        put_indices(TypeTag<ArgMax<T>>{});
      }
      return kCount;
  }
  __builtin_unreachable();
}

// All ops of `targets`, likewise; of several misfits of one output, the last op's.
template <class F, int kCount>
WARPFOLD_HD int WriteResults(const ResultTargets& targets, std::int64_t index,
                             const typename F::State* states, Misfit* misfit) {
  int first = kCount;
  for (int i = 0; i < targets.count; ++i) {
    Misfit of_op;
    const int k = WriteResult<F, kCount>(targets, i, index, states, &of_op);
    if (k == kCount || k > first) continue;
    first = k;
    *misfit = of_op;
  }
  return first;
}

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_FINISH_H_
