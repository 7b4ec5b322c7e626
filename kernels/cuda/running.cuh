// What a lane or a thread keeps while it adds elements one after another: mostly a component's Acc,
// and of extrema what the hardware compares fastest. It never leaves the thread.
#ifndef WARPFOLD_KERNELS_CUDA_RUNNING_CUH_
#define WARPFOLD_KERNELS_CUDA_RUNNING_CUH_

#include <type_traits>

#include "kernels/components.h"
#include "kernels/element.h"
#include "kernels/fold.h"

namespace warpfold::cuda {

// One instruction each. -0.0 is below +0.0. kOmitsNan: the other of a NaN; otherwise NaN if either
// is.
template <bool kIsMin, bool kOmitsNan>
__device__ __forceinline__ float Extreme(float a, float b) {
  float result;
  if constexpr (kIsMin && kOmitsNan) asm("min.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  if constexpr (!kIsMin && kOmitsNan) asm("max.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  if constexpr (kIsMin && !kOmitsNan) {
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  }
  if constexpr (!kIsMin && !kOmitsNan) {
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  }
  return result;
}

// The inverse of Widen, of a float that is a T.
template <typename T>
__device__ __forceinline__ T Narrow(float x) {
  if constexpr (std::is_same_v<T, Half>) {
    Half half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half.bits) : "f"(x));
    return half;
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return BFloat16{static_cast<std::uint16_t>(BitCast<std::uint32_t>(x) >> 16)};
  } else {
    return x;
  }
}

// A component that reads its elements once.
template <class C>
struct Running {
  using Value = typename C::Acc;
  __device__ static Value Identity() { return C::Identity(); }
  template <typename T>
  __device__ static void Add(Value& value, T x, int number) {
    AddElement<C>(value, x, number);
  }
  __device__ static Value Combine(const Value& a, const Value& b) { return C::Combine(a, b); }
  __device__ static Value Settle(const Value& value) { return value; }
};

// An extremum of floats of up to 32 bits, as a float: an instruction an element where an ordered
// key takes five. Without elements it is an infinity, or where NaN is omitted NaN; it settles as
// the key, of nothing but NaN as the identity.
template <typename T, bool kIsMin, bool kOmits>
struct RunningFloatExtremum {
  using Value = float;
  __device__ static Value Identity() {
    return kOmits ? QuietNan<float>() : Infinity<float>(!kIsMin);
  }
  __device__ static void Add(Value& value, T x, int) { value = Combine(value, Widen(x)); }
  __device__ static Value Combine(Value a, Value b) { return Extreme<kIsMin, kOmits>(a, b); }
  __device__ static OrderedKey<T> Settle(Value value) {
    if (!IsNan(value)) return ToKey(Narrow<T>(value));
    return kIsMin != kOmits ? kLowestKey<T> : kHighestKey<T>;
  }
};

template <typename T, bool kIsMin, bool kOmits>
using RunningExtremum = std::conditional_t<
    kIsFloat<T> && sizeof(T) <= 4, RunningFloatExtremum<T, kIsMin, kOmits>,
    Running<std::conditional_t<kOmits, OmitNan<Extremum<T, kIsMin>>, Extremum<T, kIsMin>>>>;

template <typename T>
struct Running<Min<T>> : RunningExtremum<T, true, false> {};
template <typename T>
struct Running<Max<T>> : RunningExtremum<T, false, false> {};
template <typename T>
struct Running<OmitNan<Min<T>>> : RunningExtremum<T, true, true> {};
template <typename T>
struct Running<OmitNan<Max<T>>> : RunningExtremum<T, false, true> {};

// Of an indexed extremum the first sweep finds the value, and another one its place; but of
// integers whose value and number fit in 32 bits, where one sweep finds both in two instructions an
// element.
template <typename T>
inline constexpr bool kLocates = kIsFloat<T> || sizeof(T) >= 4;
template <typename T>
requires kLocates<T>
struct Running<ArgMin<T>> : Running<Min<T>> {
};
template <typename T>
requires kLocates<T>
struct Running<ArgMax<T>> : Running<Max<T>> {
};
template <typename T>
struct Running<OmitNan<ArgMin<T>>> : Running<OmitNan<Min<T>>> {};
template <typename T>
struct Running<OmitNan<ArgMax<T>>> : Running<OmitNan<Max<T>>> {};

// A fold's components in the first sweep, one slot each; those that wait for a later sweep have
// none.
template <class F>
struct RunningFold;
template <typename T, NanPolicy kNanPolicy, class... Components>
struct RunningFold<Fold<T, kNanPolicy, Components...>> {
  using F = Fold<T, kNanPolicy, Components...>;
  template <class C>
  static constexpr bool kHas = !kReadsTwice<C> && !F::template kIsSparedCount<C>;
  template <class C>
  using Of = Running<typename F::template Applied<C>>;

  template <class C>
  struct NoSlot {};
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
  __device__ static void Add(Value& value, T x, int number) {
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

  // Calls `visitor(TypeTag<Component>{})` for each component of the first sweep.
  template <typename Visitor>
  __device__ static void ForEach(Visitor&& visitor) {
    F::ForEach([&](auto tag) {
      if constexpr (kHas<typename decltype(tag)::type>) visitor(tag);
    });
  }
};

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_RUNNING_CUH_
