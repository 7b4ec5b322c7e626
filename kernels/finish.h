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

// An integer sum or product that does not fit its result. Of several, the one with the lowest
// output index is reported.
struct Overflow {
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  std::int64_t output_index = kNone;
  std::int64_t high = 0;  // the exact sum is high * 2^64 + low; 0 for a product
  std::uint64_t low = 0;
  std::int32_t lock = 0;  // held while the other fields change
  Op op = Op::kSum;
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

// x, in a way that keeps nvcc from computing what follows from it where nobody asks for it: it
// moves a division in front of the switch over ops, and every sum of a column then waits for one.
WARPFOLD_HD double Unhoisted(double x) {
#ifdef __CUDA_ARCH__
  asm volatile("" : "+d"(x));
#endif
  return x;
}

template <typename Value>
WARPFOLD_HD void Put(void* array, std::int64_t index, Value value) {
  static_cast<Value*>(array)[index] = value;
}
template <typename T>
WARPFOLD_HD void PutFloat(void* array, std::int64_t index, double value) {
  Put(array, index, RoundFromDouble<FloatOf<T>>(value));
}

// The integer if it fits in R, what is left of it otherwise.
template <typename R>
WARPFOLD_HD bool PutInteger(void* array, std::int64_t index, int128 exact) {
  const R narrow = static_cast<R>(exact);
  Put(array, index, narrow);
  return static_cast<int128>(narrow) == exact;
}

template <typename T>
WARPFOLD_HD bool PutProduct(void* array, std::int64_t index,
                            const typename Product<T>::State& product) {
  if constexpr (kIsFloat<T>) {
    PutFloat<T>(array, index, product);
    return true;
  } else {
    const int128 magnitude = static_cast<int128>(product.magnitude);
    const int128 exact = product.negative != 0 ? -magnitude : magnitude;
    return PutInteger<IntegerOf<T>>(array, index, exact) && product.past == 0;
  }
}

// Deviations from the mean, squared and added up.
template <class F>
WARPFOLD_HD double SquaredDeviations(std::int64_t count, const typename F::State& state) {
  using T = typename F::Element;
  if constexpr (F::kHasMoments) {
    return F::template Get<Moments<T>>(state).squares;
  } else {
    // Exact: sums of less than 2^47 elements of 16 bits fit.
    const int128 sum = F::template Get<Sum<T>>(state);
    const int128 squares = F::template Get<SquareSum<T>>(state);
    return ToDouble(count * squares - sum * sum) / static_cast<double>(count);
  }
}

template <class F>
WARPFOLD_HD double Variance(const ResultTargets& targets, std::int64_t count,
                            const typename F::State& state) {
  // In float64: the difference of two int64 may not fit in one.
  const double divisor = static_cast<double>(count) - static_cast<double>(targets.correction);
  if (F::kOmitsNan && divisor <= 0) return QuietNan<double>();
  return SquaredDeviations<F>(count, state) / (divisor > 0 ? divisor : 0.0);
}

// The index, or -1 of no elements.
template <class Component>
WARPFOLD_HD void PutIndex(const ResultTargets& targets, void* array, std::int64_t output,
                          const typename Component::State& best) {
  Put(array, output,
      best.index == Component::kNone ? std::int64_t{-1} : targets.ReducedIndex(best.index));
}

}  // namespace internal

// Writes `state`'s result of op `i` of `targets` at `index`. False when it does not fit: it is then
// in `*misfit`, and the written result is unspecified.
template <class F>
WARPFOLD_HD bool WriteResult(const ResultTargets& targets, int i, std::int64_t index,
                             const typename F::State& state, Misfit* misfit) {
  using T = typename F::Element;
  void* array = targets.arrays[i];
  const auto get = [&](auto tag) { return F::template Get<typename decltype(tag)::type>(state); };
  const std::int64_t count = F::CountOf(state, targets.reduced_count);
  switch (targets.ops[i]) {
    case Op::kSum:
      if constexpr (F::template kHas<Sum<T>>) {
        const auto sum = get(TypeTag<Sum<T>>{});
        if constexpr (kIsFloat<T>) {
          // The identity is -0.0, and a sum of nothing is +0.0.
          internal::PutFloat<T>(array, index, count == 0 ? 0.0 : sum);
        } else if (!internal::PutInteger<IntegerOf<T>>(array, index, sum)) {
          *misfit = {Op::kSum, sum};
          return false;
        }
      }
      return true;
    case Op::kMean:
      if constexpr (F::template kHas<Sum<T>>) {
        internal::PutFloat<T>(
            array, index,
            ToDouble(get(TypeTag<Sum<T>>{})) / internal::Unhoisted(static_cast<double>(count)));
      }
      return true;
    case Op::kMin:
      if constexpr (F::template kHas<Min<T>>) {
        internal::Put(array, index, FromKey<T>(get(TypeTag<Min<T>>{})));
      }
      return true;
    case Op::kMax:
      if constexpr (F::template kHas<Max<T>>) {
        internal::Put(array, index, FromKey<T>(get(TypeTag<Max<T>>{})));
      }
      return true;
    case Op::kProd:
      if constexpr (F::template kHas<Product<T>>) {
        if (!internal::PutProduct<T>(array, index, get(TypeTag<Product<T>>{}))) {
          *misfit = {Op::kProd, 0};
          return false;
        }
      }
      return true;
    case Op::kVar:
    case Op::kStd:
      if constexpr (F::template kHas<SquareSum<T>>) {
        const double variance = internal::Variance<F>(targets, count, state);
        internal::PutFloat<T>(array, index,
                              targets.ops[i] == Op::kVar ? variance : std::sqrt(variance));
      }
      return true;
    case Op::kL1Norm:
      if constexpr (F::template kHas<AbsSum<T>>) {
        internal::PutFloat<T>(array, index, ToDouble(get(TypeTag<AbsSum<T>>{})));
      }
      return true;
    case Op::kL2Norm:
      if constexpr (F::template kHas<SquareSum<T>>) {
        internal::PutFloat<T>(array, index, std::sqrt(ToDouble(get(TypeTag<SquareSum<T>>{}))));
      }
      return true;
    case Op::kCountNonzero:
      if constexpr (F::template kHas<NonzeroCount<T>>) {
        internal::Put(array, index, get(TypeTag<NonzeroCount<T>>{}));
      }
      return true;
    case Op::kAny:
    case Op::kAll:
      if constexpr (F::template kHas<NonzeroCount<T>>) {
        const std::int64_t enough = targets.ops[i] == Op::kAny ? 1 : count;
        const bool answer = get(TypeTag<NonzeroCount<T>>{}) >= enough;
        internal::Put(array, index, Bool{static_cast<std::uint8_t>(answer)});
      }
      return true;
    case Op::kNanCount:
      if constexpr (F::template kHas<NanCount<T>>) {
        internal::Put(array, index, get(TypeTag<NanCount<T>>{}));
      }
      return true;
    case Op::kInfCount:
      if constexpr (F::template kHas<InfCount<T>>) {
        internal::Put(array, index, get(TypeTag<InfCount<T>>{}));
      }
      return true;
    case Op::kArgMin:
      if constexpr (F::template kHas<ArgMin<T>>) {
        internal::PutIndex<ArgMin<T>>(targets, array, index, get(TypeTag<ArgMin<T>>{}));
      }
      return true;
    case Op::kArgMax:
      if constexpr (F::template kHas<ArgMax<T>>) {
        internal::PutIndex<ArgMax<T>>(targets, array, index, get(TypeTag<ArgMax<T>>{}));
      }
      return true;
  }
  __builtin_unreachable();
}

// All ops of `targets`. False when one does not fit.
template <class F>
WARPFOLD_HD bool WriteResults(const ResultTargets& targets, std::int64_t index,
                              const typename F::State& state, Misfit* misfit) {
  bool fits = true;
  for (int i = 0; i < targets.count; ++i) {
    fits = WriteResult<F>(targets, i, index, state, misfit) && fits;
  }
  return fits;
}

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_FINISH_H_
