// What a lane or a thread keeps while it adds elements one after another: mostly a component's Acc,
// and of extrema what the hardware compares fastest. It never leaves the thread.
#ifndef WARPFOLD_KERNELS_CUDA_RUNNING_CUH_
#define WARPFOLD_KERNELS_CUDA_RUNNING_CUH_

#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/components.h"
#include "kernels/cuda/instructions.cuh"
#include "kernels/cuda/packed.cuh"
#include "kernels/cuda/packed_floats.cuh"
#include "kernels/cuda/running_extrema.cuh"
#include "kernels/dtypes/element.h"
#include "kernels/dtypes/ordered_key.h"
#include "kernels/exact/folds.h"
#include "kernels/exact/windowed_sums.h"
#include "kernels/fold.h"

namespace warpfold::cuda {

// A component that reads its elements once.
template <class C>
struct Running {
  using Value = typename C::Acc;
  __device__ static Value Identity() { return C::Identity(); }
  template <typename T>
  __device__ static void Add(Value& value, T x, int number) {
    AddElement<C>(value, x, number);
  }
  template <typename T>
  __device__ static void Add(Value& value, const Packed<T>& x, int number) {
    if constexpr (kIsLifted<T>) {
      return ForEachLifted(x, [&](Half lifted, int i) { Add(value, lifted, number + i); });
    }
    if constexpr (std::is_same_v<C, Sum<T>>) AddSum(value, x);
    if constexpr (std::is_same_v<C, AbsSum<T>>) AddAbsSum(value, x);
    if constexpr (std::is_same_v<C, SquareSum<T>>) AddSquares(value, x);
    if constexpr (std::is_same_v<C, NonzeroCount<T>>) AddNonzeroCount(value, x);
    if constexpr (std::is_same_v<C, Product<T>>) {
#pragma unroll
      for (int i = 0; i < 4; ++i) AddElement<C>(value, x.Byte(i), number + i);
    }
    // Bytes are never NaN nor infinite.
  }
  __device__ static Value Combine(const Value& a, const Value& b) { return C::Combine(a, b); }
  __device__ static Value Finalize(const Value& value) { return value; }
};

template <typename T, bool kIsMin, bool kOmits>
using RunningExtremum = std::conditional_t<
    kIsFloat<T> && !kIsDouble<T>, RunningFloatExtremum<T, kIsMin, kOmits>,
    std::conditional_t<
        kIsByteInteger<T>, RunningByteExtremum<T, kIsMin>,
        Running<std::conditional_t<kOmits, OmitNan<Extremum<T, kIsMin>>, Extremum<T, kIsMin>>>>>;

template <typename T>
requires(!kIsDouble<T>) struct Running<exact::LargestSize<T>> : RunningLargestSize<T> {
};
template <typename T>
struct Running<exact::SmallestSize<T>> : RunningSmallestSize<T> {};

template <class C>
struct Running<exact::Transient<C>> : Running<C> {};

template <typename T>
struct Running<Min<T>> : RunningExtremum<T, true, false> {};
template <typename T>
struct Running<Max<T>> : RunningExtremum<T, false, false> {};
template <typename T>
struct Running<OmitNan<Min<T>>> : RunningExtremum<T, true, true> {};
template <typename T>
struct Running<OmitNan<Max<T>>> : RunningExtremum<T, false, true> {};

// Of an indexed extremum the first pass finds the value, and another one its index.
template <typename T, bool kIsMin, bool kOmits>
using RunningIndexed =
    std::conditional_t<std::is_same_v<T, double>, RunningDoubleExtremum<kIsMin, kOmits>,
                       RunningExtremum<T, kIsMin, kOmits>>;

template <typename T>
struct Running<ArgMin<T>> : RunningIndexed<T, true, false> {};
template <typename T>
struct Running<ArgMax<T>> : RunningIndexed<T, false, false> {};
template <typename T>
struct Running<OmitNan<ArgMin<T>>> : RunningIndexed<T, true, true> {};
template <typename T>
struct Running<OmitNan<ArgMax<T>>> : RunningIndexed<T, false, true> {};

// A sum of floats of 8 bits, which packed elements enter as if all were finite. Where they are not,
// the minimum and the maximum say what it is (Finalized in tile_passes.cuh), so that no element is
// looked at for it.
template <typename Stored>
struct RunningSumOfFinite : Running<exact::BoundedSum<Half>> {
  using Running<exact::BoundedSum<Half>>::Add;
  __device__ static void Add(double& value, const Packed<Stored>& x, int) {
    value = AddFinite(value, x);
  }
};

// Of a product of integers the first pass of a warp takes the sign alone: an exclusive or, in
// whose sign bits the signs are. Zeros and sums of absolute values say most often what the product
// is, for it is soon past 64 bits (FinalizeProduct in tile_passes.cuh).
template <typename T>
struct RunningSigns {
  using Value = std::conditional_t<kIsWideInteger<T>, std::int64_t, std::int32_t>;
  using Acc = Value;
  static constexpr Value kSignBits =
      kIsByteInteger<T> ? static_cast<Value>(0x80808080) : std::numeric_limits<Value>::min();
  static constexpr bool kHasSigns = std::is_signed_v<T>;
  __device__ static Value Identity() { return 0; }
  __device__ static void Add(Value& value, T x, int) {
    using Bits = std::conditional_t<kIsByteInteger<T>, std::uint8_t, T>;
    if constexpr (kHasSigns) value ^= static_cast<Value>(static_cast<Bits>(x));
  }
  __device__ static void Add(Value& value, const Packed<T>& x, int) {
    if constexpr (kHasSigns) value ^= static_cast<Value>(x.word);
  }
  __device__ static Value Combine(Value a, Value b) { return a ^ b; }
  __device__ static Value Finalize(Value value) { return value; }
  __device__ static bool IsNegative(Value value) {
    if constexpr (!kHasSigns) return false;
    return kIsByteInteger<T> ? __popc(value & kSignBits) % 2 != 0 : value < 0;
  }
};

// A fold's components in the first pass, one slot each; those that wait for a later pass have
// none. kByWarp: many elements a fold, so that it pays to leave products for later. kInWindows:
// sums wait for the extrema (exact/windowed_sums.h).
template <class F, bool kByWarp, bool kInWindows = false>
struct RunningFold;
template <typename Stored, NanPolicy kNanPolicy, class... Components, bool kByWarp, bool kInWindows>
struct RunningFold<Fold<Stored, kNanPolicy, Components...>, kByWarp, kInWindows> {
  using F = Fold<Stored, kNanPolicy, Components...>;
  using T = typename F::Element;
  template <class C>
  static constexpr bool kSeeksMin = std::is_same_v<C, Min<T>> || std::is_same_v<C, ArgMin<T>>;
  template <class C>
  static constexpr bool kSeeksMax = std::is_same_v<C, Max<T>> || std::is_same_v<C, ArgMax<T>>;
  // An indexed extremum whose value is asked for anyway needs no slot of its own.
  template <class C>
  static constexpr bool kIsFound = (std::is_same_v<C, ArgMin<T>> && F::template kHas<Min<T>>) ||
                                   (std::is_same_v<C, ArgMax<T>> && F::template kHas<Max<T>>);
  template <class C>
  static constexpr bool kWaitsForExtrema = kInWindows&& exact::kIsWindowed<T, C>;
  // Whether extrema pass over NaN at first, which the sums show.
  static constexpr bool kFindsNanBySums =
      kInWindows && kIsDouble<T> && !F::kOmitsNan && F::template kHas<Min<T>>;
  template <class C>
  static constexpr bool kHas =
      !F::template kIsSkippedCount<C> && !kIsFound<C> && !kWaitsForExtrema<C>;
  template <class C>
  static constexpr bool kIsLateProduct = kByWarp && !kIsFloat<T> && std::is_same_v<C, Product<T>>;
  static constexpr bool kHasLateProduct = (kIsLateProduct<Components> || ...);
  // Where squares add up, too, they keep the units of float64 busy, and conversions go beside.
  static constexpr bool kSumsFinite = kIsLifted<Stored> && !F::kOmitsNan &&
                                      F::template kHas<exact::BoundedSum<T>> &&
                                      F::template kHas<Min<T>> && F::template kHas<Max<T>> &&
                                      !F::template kHas<exact::SquareSumPair<T>>;
  template <class C>
  static constexpr auto OfComponent() {
    if constexpr (kIsLateProduct<C>) {
      return TypeTag<RunningSigns<T>>{};
    } else if constexpr (kSumsFinite && std::is_same_v<C, exact::BoundedSum<T>>) {
      return TypeTag<RunningSumOfFinite<Stored>>{};
    } else if constexpr (kFindsNanBySums &&
                         (std::is_same_v<C, Min<T>> || std::is_same_v<C, Max<T>>)) {
      return TypeTag<RunningNumberExtremum<kSeeksMin<C>>>{};
    } else if constexpr (kIsLifted<Stored> && (kSeeksMin<C> || kSeeksMax<C>)) {
      return TypeTag<RunningExtremumPair<Stored, kSeeksMin<C>, F::kOmitsNan>>{};
    } else {
      return TypeTag<Running<typename F::template Applied<C>>>{};
    }
  }
  template <class C>
  using Of = typename decltype(OfComponent<C>())::type;

  template <class C, bool kHasSlot>
  struct SlotOf {
    using Type = NoSlot<C>;
  };
  template <class C>
  struct SlotOf<C, true> {
    using Type = Slot<C, typename Of<C>::Value>;
  };
  struct Value : SlotOf<Components, kHas<Components>>::Type... {};

  template <class C>
  __device__ static auto& Get(Value& value) {
    return static_cast<Slot<C, typename Of<C>::Value>&>(value).value;
  }
  template <class C>
  __device__ static const auto& Get(const Value& value) {
    return static_cast<const Slot<C, typename Of<C>::Value>&>(value).value;
  }

  __device__ static Value Identity() {
    Value value;
    ForEach([&](auto tag) {
      using C = typename decltype(tag)::type;
      Get<C>(value) = Of<C>::Identity();
    });
    return value;
  }
  // Item: T, or several of what is stored.
  template <typename Item>
  __device__ static void Add(Value& value, const Item& x, int number) {
    ForEach([&](auto tag) {
      using C = typename decltype(tag)::type;
      Of<C>::Add(Get<C>(value), x, number);
    });
  }
  __device__ static Value Combine(const Value& a, const Value& b) {
    Value value;
    ForEach([&](auto tag) {
      using C = typename decltype(tag)::type;
      Get<C>(value) = Of<C>::Combine(Get<C>(a), Get<C>(b));
    });
    return value;
  }

  // Calls `visitor(TypeTag<Component>{})` for each component of the first pass.
  template <typename Visitor>
  __device__ static void ForEach(Visitor&& visitor) {
    F::ForEach([&](auto tag) {
      if constexpr (kHas<typename decltype(tag)::type>) visitor(tag);
    });
  }
};

template <class F, bool kByWarp, bool kInWindows>
struct RunningFold<exact::Exactly<F>, kByWarp, kInWindows> : RunningFold<F, kByWarp, kInWindows> {};

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_RUNNING_CUH_
