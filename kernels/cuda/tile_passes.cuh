// The elements of a tile, a short row or a leaf, folded in as many passes as the components need.
// They stay in registers or shared memory, so a further pass costs instructions and no memory
// traffic.
#ifndef WARPFOLD_KERNELS_CUDA_TILE_PASSES_CUH_
#define WARPFOLD_KERNELS_CUDA_TILE_PASSES_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/components.h"
#include "kernels/cuda/packed_floats.cuh"
#include "kernels/cuda/pairwise.cuh"
#include "kernels/cuda/running.cuh"
#include "kernels/cuda/warp.cuh"
#include "kernels/dtypes/element.h"
#include "kernels/dtypes/ordered_key.h"
#include "kernels/exact/windowed_sums.h"
#include "kernels/fold.h"

namespace warpfold::cuda {

// Whether a pass is made for all elements, or for few of them: the first is worth straight code.
template <bool kIsOften>
using PassFrequency = std::bool_constant<kIsOften>;
inline constexpr PassFrequency<true> kOften;
inline constexpr PassFrequency<false> kRarely;

// Where elements are that a fold takes together: in `lanes` neighbouring lanes, a power of two.
struct AcrossLanes {
  static constexpr bool kByWarp = true;
  // Whether a fold's sums are added in windows.
  template <class F>
  static constexpr bool kInWindows = exact::kHasWindowedSums<F>;
  int lanes;
  template <class C>
  __device__ typename C::Acc Fold(const typename C::Acc& acc) const {
    return FoldLanesByHalves<C>(acc, lanes);
  }
  // For some lane of the warp.
  __device__ bool Any(bool is) const { return __any_sync(kFullWarp, is); }
  // Whether the index of `best`, their extremum if `has_best`, is asked for.
  template <class C, typename T>
  __device__ bool Seeks(T, bool /*has_best*/) const {
    return true;
  }
};
// All in one thread.
struct WithinThread {
  static constexpr bool kByWarp = false;
  template <class F>
  static constexpr bool kInWindows = exact::kHasWindowedSums<F>&& kHasManyAccumulators<F>;
  template <class C>
  __device__ typename C::Acc Fold(const typename C::Acc& acc) const {
    return acc;
  }
  __device__ bool Any(bool is) const { return is; }
  template <class C, typename T>
  __device__ bool Seeks(T, bool /*has_best*/) const {
    return true;
  }
};

// The number of the first element that is `best`, or the identity of Number.
using Number = Min<std::int32_t>;
template <class F, class TilePass>
__device__ __forceinline__ std::int32_t Locate(typename F::Element best,
                                               const TilePass& tile_pass) {
  using T = typename F::Element;
  const auto combine = [](std::int32_t a, std::int32_t b) { return Number::Combine(a, b); };
  const auto locate = [&](const auto& is_best) {
    return tile_pass(
        kOften, Number::Identity(),
        [&](std::int32_t& first, T x, int number) {
          first = Number::Combine(first, is_best(x) ? number : Number::Identity());
        },
        combine);
  };
  if constexpr (kIsByteInteger<T>) {
    return tile_pass(
               kOften, FirstEqualByte::Identity(),
               [best](FirstEqualByte& first, const auto& x, int number) {
                 first.Add(x, best, number);
               },
               FirstEqualByte::Combine)
        .Number();
  }
  if constexpr (kIsFloat<T> && !F::kOmitsNan) {
    if (IsNan(best)) return locate([](T x) { return IsNan(x); });
  }
  return locate([&](T x) { return Widen(x) == Widen(best); });
}

// The product of integers from what `acc` already says of them, and their sign. Of those without a
// zero it is past 64 bits when 64 of them are not 1 or -1, and the sum of absolute values mostly
// shows that; where it does not, they are counted, and multiplied where fewer are.
template <class F, class TilePass, class Across>
__device__ __forceinline__ typename Product<typename F::Element>::Acc FinalizeProduct(
    const typename F::Acc& acc, bool is_negative, int count, const TilePass& tile_pass,
    const Across& across) {
  using T = typename F::Element;
  using Magnitude = typename AbsSum<T>::Acc;
  constexpr int kFactorsMax = 63;  // 2^63 fits
  constexpr Magnitude kAbsMax = std::is_same_v<T, Bool> ? 1
                                : kIsUnsigned<T>        ? (Magnitude{1} << 8 * sizeof(T)) - 1
                                                        : Magnitude{1} << (8 * sizeof(T) - 1);
  const bool is_zero = F::template Get<NonzeroCount<T>>(acc) != count;
  bool is_past =
      F::template Get<AbsSum<T>>(acc) - count > static_cast<Magnitude>(kFactorsMax) * (kAbsMax - 1);
  using Factors = Adding<std::int32_t, std::int32_t>;
  if (across.Any(!is_zero && !is_past)) {
    const std::int32_t factors = across.template Fold<Factors>(tile_pass(
        kRarely, Factors::Identity(),
        [](std::int32_t& n, T x, int) {
          const auto wide = Widen(x);
          n += wide == 1 || (std::is_signed_v<T> && wide + 1 == 0) ? 0 : 1;
        },
        [](std::int32_t a, std::int32_t b) { return a + b; }));
    is_past = factors > kFactorsMax;
  }
  using P = Product<T>;
  if (across.Any(!is_zero && !is_past)) {
    const typename P::Acc product = across.template Fold<P>(tile_pass(
        kRarely, P::Identity(), [](typename P::Acc& a, T x, int) { P::Add(a, x); },
        [](const auto& a, const auto& b) { return P::Combine(a, b); }));
    if (!is_past) return product;
  }
  if (is_zero) return {0, 0, 0};
  return {~std::uint64_t{0}, is_negative ? 1u : 0u, 1u};
}

// Where the extremum of an indexed component is: its value is in `acc` where that is asked for too,
// and else in `first`. Where `across` does not look for it, it is number 0.
template <class F, class C, class First, class TilePass, class Across>
__device__ __forceinline__ typename C::Acc FinalizeIndex(const typename First::Value& first,
                                                         const typename F::Acc& acc,
                                                         const TilePass& tile_pass,
                                                         const Across& across) {
  using T = typename F::Element;
  using Value = std::conditional_t<std::is_same_v<C, ArgMin<T>>, Min<T>, Max<T>>;
  const OrderedKey<T> key = [&] {
    if constexpr (First::template kIsFound<C>) {
      return F::template Get<Value>(acc);
    } else {
      const auto finalized = First::template Of<C>::Finalize(First::template Get<C>(first));
      return across.template Fold<Value>(finalized);
    }
  }();
  const T best = FromKey<T>(key);
  // Where NaN is left out, nothing but NaN has no best element; its key would beat all others.
  bool has_best = true;
  if constexpr (kIsFloat<T> && F::kOmitsNan) has_best = !IsNan(best);
  if (!across.template Seeks<C>(best, has_best)) return has_best ? C::At(best, 0) : C::Identity();
  const std::int32_t number = across.template Fold<Number>(Locate<F>(best, tile_pass));
  return number == Number::Identity() ? C::Identity() : C::At(best, number);
}

// C of the elements, in a pass that few tiles need.
template <class C, typename T, class TilePass, class Across>
__device__ __forceinline__ typename C::Acc FoldRarely(const TilePass& tile_pass,
                                                      const Across& across) {
  return across.template Fold<C>(tile_pass(
      kRarely, C::Identity(), [](typename C::Acc& a, T x, int) { AddElement<C>(a, x, 0); },
      [](const auto& a, const auto& b) { return C::Combine(a, b); }));
}

// Counts that need a pass only where the extrema of `acc` are not finite.
template <class F, class TilePass, class Across>
__device__ __forceinline__ void FinalizeSkippedCounts(typename F::Acc& acc,
                                                      const TilePass& tile_pass,
                                                      const Across& across) {
  using T = typename F::Element;
  const bool has_counts = across.Any(!F::AllFinite(acc));
  F::ForEach([&](auto tag) {
    using C = typename decltype(tag)::type;
    if constexpr (F::template kIsSkippedCount<C>) {
      F::template Get<C>(acc) = C::Identity();
      if (!has_counts) return;
      F::template Get<C>(acc) = FoldRarely<C, T>(tile_pass, across);
    }
  });
}

// What the first pass has added up, of the components that need no other one.
template <class F, class First, class Across>
__device__ __forceinline__ typename F::Acc Finalized(const typename First::Value& first,
                                                     const Across& across) {
  typename F::Acc acc;
  First::ForEach([&](auto tag) {
    using C = typename decltype(tag)::type;
    if constexpr (!First::template kIsLateProduct<C> && !Indexed<C>) {
      const auto finalized = First::template Of<C>::Finalize(First::template Get<C>(first));
      F::template Get<C>(acc) = across.template Fold<C>(finalized);
    }
  });
  if constexpr (First::kSumsFinite) {
    if (!F::AllFinite(acc)) {
      using T = typename F::Element;
      F::template Get<exact::BoundedSum<T>>(acc) =
          WidenToDouble(FromKey<T>(F::template Get<Min<T>>(acc))) +
          WidenToDouble(FromKey<T>(F::template Get<Max<T>>(acc)));
    }
  }
  return acc;
}

// Where sums are not finite there may be a NaN, which beats all extrema.
template <class F, class TilePass, class Across>
__device__ __forceinline__ void FinalizeNan(bool is_finite, typename F::Acc& acc,
                                            const TilePass& tile_pass, const Across& across) {
  using T = typename F::Element;
  if (!across.Any(!is_finite)) return;
  if (FoldRarely<NanCount<T>, T>(tile_pass, across) == 0) return;
  F::template Get<Min<T>>(acc) = kLowestKey<T>;
  F::template Get<Max<T>>(acc) = kHighestKey<T>;
}

// The sums, which need the extrema or the largest size of `acc`.
template <class F, class First, class TilePass, class Across>
__device__ __forceinline__ void FinalizeWindowedSums(typename F::Acc& acc, int count,
                                                     const TilePass& tile_pass,
                                                     const Across& across) {
  using T = typename F::Element;
  using Sums = exact::WindowedSums<F>;
  using Value = typename Sums::Value;
  const Sums sums(acc, count);
  const Value mine = tile_pass(
      kOften, sums.Identity(),
      [](Value& value, const auto& x, int) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(x)>, T>) {
          Sums::Add(value, x);
        } else {
          ForEachLifted(x, [&](T lifted, int) { Sums::Add(value, lifted); });
        }
      },
      [&](const Value& a, const Value& b) { return sums.Combine(a, b); });
  Value all = across.template Fold<typename Sums::Join>(sums.Settled(mine));
  if constexpr (First::kFindsNanBySums) {
    FinalizeNan<F>(exact::internal::IsFinite(all.sum.high), acc, tile_pass, across);
  }
  if constexpr (kIsDouble<T>) {
    if (across.Any(!sums.is_sum_told())) {
      using Pairs = typename F::template Applied<exact::SumPair<T>>;
      const exact::Pair pair = FoldRarely<Pairs, T>(tile_pass, across);
      if (!sums.is_sum_told()) all.sum = pair;
    }
  }
  Sums::Put(all, acc);
}

// `tile_pass(often, identity, add, combine)` folds this thread's part of the elements: add(value,
// x, number) each, combine(a, b) what was added up side by side; x is an element or, where add
// takes that, packed ones. `count`: elements in all. `across`: one of the above.
//
// All components of the first pass at a time: that widens an element once and keeps few running
// values. A component at a time instead took 424 us for SUM MIN MAX and MEAN of 512 MiB of f16,
// this 193 (H200, 2026-11-21).
template <class F, class TilePass, class Across>
__device__ __forceinline__ typename F::Acc FoldTilePasses(int count, const TilePass& tile_pass,
                                                          const Across& across) {
  using T = typename F::Element;
  constexpr bool kInWindows = Across::template kInWindows<F>;
  using First = RunningFold<F, Across::kByWarp, kInWindows>;
  const typename First::Value first = tile_pass(
      kOften, First::Identity(),
      [](typename First::Value& a, const auto& x, int number) { First::Add(a, x, number); },
      [](const auto& a, const auto& b) { return First::Combine(a, b); });
  typename F::Acc acc = Finalized<F, First>(first, across);
  if constexpr (kInWindows) FinalizeWindowedSums<F, First>(acc, count, tile_pass, across);
  F::ForEach([&](auto tag) {
    using C = typename decltype(tag)::type;
    if constexpr (Indexed<C>) {
      F::template Get<C>(acc) = FinalizeIndex<F, C, First>(first, acc, tile_pass, across);
    }
  });
  if constexpr (First::kHasLateProduct) {
    using Signs = RunningSigns<T>;
    const auto signs = across.template Fold<Signs>(First::template Get<Product<T>>(first));
    F::template Get<Product<T>>(acc) =
        FinalizeProduct<F>(acc, Signs::IsNegative(signs), count, tile_pass, across);
  }
  if constexpr (F::kSkipsCounts) FinalizeSkippedCounts<F>(acc, tile_pass, across);
  return acc;
}

// What `NeededFold` has folded, as what F folds: the components that only F has are the identity.
template <class F, class NeededFold>
__device__ __forceinline__ typename F::Acc AccOf(const typename NeededFold::Acc& folded) {
  if constexpr (std::is_same_v<F, NeededFold>) {
    return folded;
  } else {
    typename F::Acc acc = F::Identity();
    NeededFold::ForEach([&](auto tag) {
      using C = typename decltype(tag)::type;
      F::template Get<C>(acc) = NeededFold::template Get<C>(folded);
    });
    return acc;
  }
}

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_TILE_PASSES_CUH_
