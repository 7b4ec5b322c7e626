// MIN and MAX, where they are, and what is made of both.
#ifndef WARPFOLD_KERNELS_OPS_EXTREMA_H_
#define WARPFOLD_KERNELS_OPS_EXTREMA_H_

#include <cstdint>
#include <type_traits>

#include "kernels/dtypes/element.h"
#include "kernels/dtypes/ordered_key.h"
#include "kernels/host_device.h"
#include "kernels/ops/op.h"
#include "kernels/ops/value_kind.h"

namespace warpfold {

struct MinOp : ExactOp {
  static constexpr OpInfo kInfo{.number = 2,
                                .name = "min",
                                .summary = "minimum",
                                .numpy = "min",
                                .numpy_nan = "nanmin",
                                .needs = {ValueKind::kMin},
                                .has_empty = false};
  template <typename T, class Values>
  WARPFOLD_HD static T Finish(const Values& of) {
    return FromKey<T>(of.template Get<ValueKind::kMin>());
  }
};

struct MaxOp : ExactOp {
  static constexpr OpInfo kInfo{.number = 3,
                                .name = "max",
                                .summary = "maximum",
                                .numpy = "max",
                                .numpy_nan = "nanmax",
                                .needs = {ValueKind::kMax},
                                .has_empty = false};
  template <typename T, class Values>
  WARPFOLD_HD static T Finish(const Values& of) {
    return FromKey<T>(of.template Get<ValueKind::kMax>());
  }
};

struct ArgMinOp : ExactOp {
  static constexpr OpInfo kInfo{.number = 10,
                                .name = "argmin",
                                .summary = "index of the minimum",
                                .numpy = "argmin",
                                .numpy_nan = "nanargmin",
                                .needs = {ValueKind::kArgMin},
                                .has_empty = false};
  template <typename T, class Values>
  WARPFOLD_HD static std::int64_t Finish(const Values& of) {
    return of.IndexOf(of.template Get<ValueKind::kArgMin>());
  }
};

struct ArgMaxOp : ExactOp {
  static constexpr OpInfo kInfo{.number = 11,
                                .name = "argmax",
                                .summary = "index of the maximum",
                                .numpy = "argmax",
                                .numpy_nan = "nanargmax",
                                .needs = {ValueKind::kArgMax},
                                .has_empty = false};
  template <typename T, class Values>
  WARPFOLD_HD static std::int64_t Finish(const Values& of) {
    return of.IndexOf(of.template Get<ValueKind::kArgMax>());
  }
};

// The type of an absolute value: of integers the unsigned one, which has all.
template <typename T>
using MagnitudeOf = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                                                std::type_identity<T>>::type;

// The type of a difference.
template <typename T>
using DifferenceOf = typename std::conditional_t<kIsFloat<T>, std::type_identity<FloatOf<T>>,
                                                 std::type_identity<MagnitudeOf<T>>>::type;

// The bits of |x|, which order as absolute values do, with NaN above all.
template <typename T>
WARPFOLD_HD BitsOf<T> MagnitudeBits(T x) {
  using Bits = BitsOf<T>;
  const auto bits = BitCast<Bits>(x);
  if constexpr (kIsFloat<T>) {
    return static_cast<Bits>(bits & static_cast<Bits>(~Bits{0}) >> 1);
  } else if constexpr (std::is_signed_v<T>) {
    return x < 0 ? static_cast<Bits>(0 - bits) : bits;
  } else {
    return bits;
  }
}

struct MaxAbsOp : ExactOp {
  static constexpr OpInfo kInfo{.number = 17,
                                .name = "max_abs",
                                .summary = "largest absolute value",
                                .numpy = "",
                                .numpy_nan = "",
                                .needs = {ValueKind::kMin, ValueKind::kMax}};
  template <typename T, class Values>
  WARPFOLD_HD static MagnitudeOf<T> Finish(const Values& of) {
    if (of.count() == 0) return MagnitudeOf<T>{};
    const BitsOf<T> of_min = MagnitudeBits(FromKey<T>(of.template Get<ValueKind::kMin>()));
    const BitsOf<T> of_max = MagnitudeBits(FromKey<T>(of.template Get<ValueKind::kMax>()));
    return BitCast<MagnitudeOf<T>>(of_min > of_max ? of_min : of_max);
  }
};

struct PtpOp : ExactOp {
  static constexpr OpInfo kInfo{.number = 18,
                                .name = "ptp",
                                .summary = "maximum less the minimum",
                                .numpy = "ptp",
                                .numpy_nan = "",
                                .needs = {ValueKind::kMin, ValueKind::kMax},
                                .has_empty = false};
  template <typename T, class Values>
  WARPFOLD_HD static DifferenceOf<T> Finish(const Values& of) {
    const T min = FromKey<T>(of.template Get<ValueKind::kMin>());
    const T max = FromKey<T>(of.template Get<ValueKind::kMax>());
    if constexpr (kIsFloat<T>) {
      // Rounded once: float64 has more than twice the digits of all that are narrower.
      return RoundFromDouble<FloatOf<T>>(WidenToDouble(max) - WidenToDouble(min));
    } else if constexpr (std::is_same_v<T, Bool>) {
      return Bool{max.byte != min.byte};
    } else {
      using Unsigned = MagnitudeOf<T>;
      return static_cast<Unsigned>(static_cast<Unsigned>(max) - static_cast<Unsigned>(min));
    }
  }
};

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_OPS_EXTREMA_H_
