// Elements as integers that order as they do. The same text on CPU and GPU.
#ifndef WARPFOLD_KERNELS_DTYPES_ORDERED_KEY_H_
#define WARPFOLD_KERNELS_DTYPES_ORDERED_KEY_H_

#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/dtypes/element.h"
#include "kernels/host_device.h"

namespace warpfold {

// Integers that order as the elements do, with -inf < ... < -0.0 < +0.0 < ... < inf. Elements of up
// to 32 bits share one type of key.
template <typename T>
using OrderedKey = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
// Bits that tell them apart.
template <typename T>
inline constexpr int kKeyBits = sizeof(T) == 8   ? 64
                                : sizeof(T) == 4 ? 32
                                                 : 16;

namespace internal {

template <typename Bits>
inline constexpr Bits kAllButSign = std::numeric_limits<Bits>::max();
template <typename Bits>
inline constexpr Bits kSignBit = std::numeric_limits<Bits>::min();

// Signed magnitude to two's complement and back.
template <typename Bits>
WARPFOLD_HD constexpr Bits FlipNegative(Bits bits) {
  return static_cast<Bits>(bits ^ ((bits >> (8 * sizeof(Bits) - 1)) & kAllButSign<Bits>));
}

template <typename T>
using SameSizeInt =
    std::conditional_t<sizeof(T) == 8, std::int64_t,
                       std::conditional_t<sizeof(T) == 4, std::int32_t, std::int16_t>>;

}  // namespace internal

// Below and above every number's key. Of floats these are the keys of NaN patterns.
template <typename T>
inline constexpr OrderedKey<T> kLowestKey = kIsHalf<Lifted<T>>
                                                ? std::numeric_limits<std::int16_t>::min()
                                                : std::numeric_limits<OrderedKey<T>>::min();
template <typename T>
inline constexpr OrderedKey<T> kHighestKey = kIsHalf<Lifted<T>>
                                                 ? std::numeric_limits<std::int16_t>::max()
                                                 : std::numeric_limits<OrderedKey<T>>::max();

template <typename T>
WARPFOLD_HD OrderedKey<T> ToKey(T x) {
  using Key = OrderedKey<T>;
  if constexpr (kIsLifted<T>) {
    return ToKey(Lift(x));
  } else if constexpr (kIsFloat<T>) {
    return internal::FlipNegative(BitCast<internal::SameSizeInt<T>>(x));
  } else if constexpr (kIsUnsigned<T> && sizeof(T) >= 4) {
    return static_cast<Key>(x) ^ internal::kSignBit<Key>;
  } else {
    return static_cast<Key>(Widen(x));
  }
}

// The inverse of ToKey. Keys beyond both infinities, where no number lives, are NaN.
template <typename T>
WARPFOLD_HD T FromKey(OrderedKey<T> key) {
  using Key = OrderedKey<T>;
  if constexpr (kIsLifted<T>) {
    return Lower<T>(FromKey<Lifted<T>>(key));
  } else if constexpr (kIsFloat<T>) {
    const T x = BitCast<T>(internal::FlipNegative(static_cast<internal::SameSizeInt<T>>(key)));
    return IsNan(x) ? QuietNan<T>() : x;
  } else if constexpr (std::is_same_v<T, Bool>) {
    return Bool{static_cast<std::uint8_t>(key)};
  } else if constexpr (kIsUnsigned<T> && sizeof(T) >= 4) {
    return static_cast<T>(key ^ internal::kSignBit<Key>);
  } else {
    return static_cast<T>(key);
  }
}

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_DTYPES_ORDERED_KEY_H_
