// Elements in vectors of float64, and what decides how a tile of them is summed. Of Highway's kind:
// included once for each SIMD target, after foreach_target.h.
#if defined(WARPFOLD_KERNELS_CPU_EXACT_ELEMENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WARPFOLD_KERNELS_CPU_EXACT_ELEMENTS_INL_H_
#undef WARPFOLD_KERNELS_CPU_EXACT_ELEMENTS_INL_H_
#else
#define WARPFOLD_KERNELS_CPU_EXACT_ELEMENTS_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <type_traits>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernels/cpu/exact_grids-inl.h"
#include "kernels/cpu/exact_sums.h"
#include "kernels/dtypes/element.h"
#include "kernels/exact/state.h"

HWY_BEFORE_NAMESPACE();
namespace warpfold::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The exponent fields of a tile's largest element and of its smallest that is not zero, subnormal
// ones as 1.
struct Exponents {
  int largest;
  int smallest;
};

// Of `count` elements; without branches, so that compilers make SIMD of it.
template <typename T, bool kOmitsNan>
std::uint32_t SpecialsOf(const T* elements, int count) {
  using Format = exact::FloatFormat<T>;
  using Bits = typename Format::Bits;
  constexpr Bits kSign = Bits{1} << (8 * sizeof(T) - 1);
  constexpr Bits kInfinity = ((Bits{1} << Format::kExponentBits) - 1) << (Format::kPrecision - 1);
  Bits all = 0;
  for (int i = 0; i < count; ++i) {
    const Bits bits = BitCast<Bits>(elements[i]);
    const Bits magnitude = bits & static_cast<Bits>(~kSign);
    const Bits infinity =
        bits == magnitude ? exact::kHasPositiveInfinity : exact::kHasNegativeInfinity;
    const Bits other = bits != kSign ? Bits{exact::kHasOtherThanNegativeZero} : Bits{0};
    const Bits number = magnitude == kInfinity ? infinity | other : other;
    constexpr Bits kNan = kOmitsNan ? 0 : exact::kHasNan | exact::kHasOtherThanNegativeZero;
    all |= magnitude > kInfinity ? kNan : number;
  }
  return static_cast<std::uint32_t>(all);
}

// An element at a time, whatever they are. Returns their exact::Specials.
template <typename T, bool kOmitsNan>
std::uint32_t AddSlowly(const T* tile, int count, const ExactWords& words) {
  const std::uint32_t specials = SpecialsOf<T, kOmitsNan>(tile, count);
  if ((specials & exact::kNotFinite) != 0) return specials;
  for (int i = 0; i < count; ++i) {
    if (kOmitsNan && IsNan(tile[i])) continue;
    const exact::ElementParts parts = exact::PartsOf(tile[i]);
    exact::AddAt(words.sum, parts.mantissa, parts.bit);
    if (words.absolute_sum != nullptr) {
      exact::AddAt(words.absolute_sum, std::abs(parts.mantissa), parts.bit);
      exact::AddSquareAt(words.squares, parts);
    }
  }
  return specials;
}

// f32, bf16 and f16, which float64 holds with bits to spare.
template <typename T, bool kOmitsNan>
struct NarrowElements {
  using Bits = typename exact::FloatFormat<T>::Bits;
  using BitsTag = hn::ScalableTag<Bits>;
  static constexpr int kPrecision = exact::FloatFormat<T>::kPrecision;
  static constexpr int kStored = exact::FloatFormat<T>::kPrecision - 1;
  static constexpr int kExponentMask = (1 << exact::FloatFormat<T>::kExponentBits) - 1;

  // Of the last place of an element with this exponent field.
  static int ExponentOfLast(int field) { return field - 1 + exact::kLowestExponent<T>; }

  // Elements [0, kLanes) from `from` on.
  static HWY_INLINE V Load(const T* from) {
    const D d;
    const hn::Rebind<float, D> d32;
    V wide;
    if constexpr (std::is_same_v<T, float>) {
      wide = hn::PromoteTo(d, hn::LoadU(d32, from));
    } else if constexpr (std::is_same_v<T, Half>) {
#if HWY_NATIVE_FMA  // where there is an instruction that widens them, too
      const hn::Rebind<hwy::float16_t, D> d16;
      const auto* halves = reinterpret_cast<const hwy::float16_t*>(from);
      wide = hn::PromoteTo(d, hn::PromoteTo(d32, hn::LoadU(d16, halves)));
#else  // Highway's own way makes numbers of infinities
      float lanes[kLanes];
      for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = Widen(from[lane]);
      wide = hn::PromoteTo(d, hn::LoadU(d32, lanes));
#endif
    } else {
      const hn::Rebind<std::uint16_t, D> d16;
      const hn::Rebind<std::uint32_t, D> bits32;
      const auto* bits = reinterpret_cast<const std::uint16_t*>(from);
      const auto shifted = hn::ShiftLeft<16>(hn::PromoteTo(bits32, hn::LoadU(d16, bits)));
      wide = hn::PromoteTo(d, hn::BitCast(d32, shifted));
    }
    if constexpr (kOmitsNan) wide = hn::IfThenElse(hn::IsNaN(wide), hn::Set(d, -0.0), wide);
    return wide;
  }

  // Twice the bits of a magnitude; of a NaN that is left out, of zero.
  template <class Tag>
  static HWY_INLINE hn::Vec<Tag> LoadMagnitude(Tag d, const T* from) {
    const auto bits = hn::LoadU(d, reinterpret_cast<const Bits*>(from));
    const auto doubled = hn::Add(bits, bits);
    if constexpr (!kOmitsNan) return doubled;
    constexpr auto kInfinity = static_cast<Bits>(static_cast<Bits>(kExponentMask) << (kStored + 1));
    return hn::IfThenZeroElse(hn::Gt(doubled, hn::Set(d, kInfinity)), doubled);
  }

  static Exponents ExponentsOf(hn::Vec<BitsTag> largest, hn::Vec<BitsTag> smallest_less_one) {
    const BitsTag d;
    const auto high = static_cast<std::uint32_t>(Largest(d, largest));
    const auto low = static_cast<Bits>(Smallest(d, smallest_less_one) + 1);
    Exponents exponents;
    exponents.largest = std::max(static_cast<int>(high >> (kStored + 1)), 1);
    // All zeros: the sum of nothing wraps around to 0.
    exponents.smallest =
        low == 0 ? exponents.largest : std::max(static_cast<int>(low >> (kStored + 1)), 1);
    return exponents;
  }

  // Of `count` elements, a multiple of all vectors. Asks for those behind, as more work than loads
  // follows: nine statistics of 256 MiB of f32 took 20.6 ms, and 14.0 with this (one core of an
  // EPYC, Zen 4, 2026-11-27).
  static constexpr int kAhead = (8 << 10) / static_cast<int>(sizeof(T));
  static Exponents Scan(const T* tile, int count) {
    const BitsTag d;
    constexpr int kBitsLanes = static_cast<int>(hn::MaxLanes(BitsTag()));
    hn::Vec<BitsTag> largest[2] = {hn::Zero(d), hn::Zero(d)};
    hn::Vec<BitsTag> smallest_less_one[2] = {hn::Set(d, static_cast<Bits>(~Bits{0})),
                                             hn::Set(d, static_cast<Bits>(~Bits{0}))};
    for (int i = 0; i < count; i += 2 * kBitsLanes) {
      for (int v = 0; v < 2; ++v) {
        hwy::Prefetch(tile + i + v * kBitsLanes + kAhead);
        const auto magnitude = LoadMagnitude(d, tile + i + v * kBitsLanes);
        largest[v] = hn::Max(largest[v], magnitude);
        smallest_less_one[v] =
            hn::Min(smallest_less_one[v], hn::Sub(magnitude, hn::Set(d, Bits{1})));
      }
    }
    return ExponentsOf(hn::Max(largest[0], largest[1]),
                       hn::Min(smallest_less_one[0], smallest_less_one[1]));
  }
};

// Elements [0, kLanes) of f64 from `from` on.
template <bool kOmitsNan>
HWY_INLINE V LoadDoubles(const double* from) {
  const V x = hn::LoadU(D(), from);
  return kOmitsNan ? hn::IfThenElse(hn::IsNaN(x), hn::Set(D(), -0.0), x) : x;
}

// The exponent field of an f64, of a subnormal one 1.
HWY_INLINE int ExponentOf(double magnitude) {
  return std::max(static_cast<int>(BitCast<std::uint64_t>(magnitude) >> 52), 1);
}

// `Tile::Add` of each tile of a row, the last one's last step filled up with -0.0, which adds
// nothing.
template <class Tile, typename T>
std::uint32_t AddTiles(const T* elements, std::int64_t count, const ExactWords& words) {
  Tile tile;
  std::uint32_t specials = 0;
  std::int64_t i = 0;
  for (; i + Tile::kTile <= count; i += Tile::kTile) {
    specials |= tile.Add(elements + i, Tile::kTile, words);
  }
  const auto left = static_cast<int>(count - i);
  if (left % Tile::kStep == 0) {
    return left == 0 ? specials : specials | tile.Add(elements + i, left, words);
  }
  T padded[Tile::kTile];
  const int size = (left / Tile::kStep + 1) * Tile::kStep;
  std::copy(elements + i, elements + count, padded);
  std::fill(padded + left, padded + size, NegativeZero<T>());
  return specials | tile.Add(padded, size, words);
}

}  // namespace warpfold::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // WARPFOLD_KERNELS_CPU_EXACT_ELEMENTS_INL_H_
