#include "server/core/self_test/known_data.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

namespace warpfold::known {
namespace {

// Knuth's linear congruential generator.
std::uint64_t Next(std::uint64_t& state) {
  state = state * 6364136223846793005U + 1442695040888963407U;
  return state;
}

constexpr int kDistances = 44;  // 0 to 43
constexpr int kMean = 50;
constexpr int kMixedMean = 7;  // of rows that hold both signs

template <typename T>
inline constexpr bool kIsSigned = kIsFloat<T> || std::is_signed_v<T>;

// Of kBalanced the elements are so many units of a power of two.
template <typename T>
constexpr std::pair<int, int> FactorAndPower() {
  if constexpr (std::is_same_v<T, Half>) return {21, -10};
  if constexpr (std::is_same_v<T, BFloat16>) return {1, -3};
  if constexpr (std::is_same_v<T, float>) return {4099, -10};
  if constexpr (std::is_same_v<T, double>) return {4099, -40};
  if constexpr (std::is_same_v<T, Bool>) return {1, 0};
  if constexpr (kIsByteInteger<T>) return {kIsSigned<T> ? 1 : 2, 0};
  if constexpr (kIsNarrowInteger<T>) return {kIsSigned<T> ? 300 : 600, 0};
  return {4099, 0};
}

// The bits of a number that T represents: no rounding, nor code of the kernels.
template <typename T>
void AppendExact(double number, std::string& out) {
  if constexpr (std::is_same_v<T, Half> || kIsLifted<T>) {
    // The exponent and the top bits of a float64 whose other bits are 0.
    constexpr std::uint64_t kMantissa = (1 << T::kMantissaBits) - 1;
    constexpr int kBias = (1 << (T::kExponentBits - 1)) - 1;
    const auto bits = std::bit_cast<std::uint64_t>(number);
    const std::uint64_t exponent = (bits >> 52 & 0x7ff) - 1023 + kBias;
    std::uint64_t element = bits >> 63 << (T::kExponentBits + T::kMantissaBits);
    if (number != 0) {
      element |= exponent << T::kMantissaBits | (bits >> (52 - T::kMantissaBits) & kMantissa);
    }
    out.append(reinterpret_cast<const char*>(&element), sizeof(T));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(number));
    const auto top = static_cast<std::uint16_t>(bits >> 16);
    out.append(reinterpret_cast<const char*>(&top), sizeof(top));
  } else if constexpr (std::is_same_v<T, Bool>) {
    out.push_back(number != 0 ? 1 : 0);
  } else {
    const T element = static_cast<T>(number);
    out.append(reinterpret_cast<const char*>(&element), sizeof(element));
  }
}

// The low bytes of `bits`.
template <typename T>
void AppendBits(std::uint64_t bits, std::string& out) {
  out.append(reinterpret_cast<const char*>(&bits), sizeof(T));
}

template <typename T>
constexpr std::uint64_t ExponentOnes() {
  if constexpr (std::is_same_v<T, Half>) return 0x7c00;
  if constexpr (std::is_same_v<T, BFloat16>) return 0x7f80;
  if constexpr (kIsLifted<T>) return ((1 << T::kExponentBits) - 1) << T::kMantissaBits;
  if constexpr (std::is_same_v<T, float>) return 0x7f800000;
  return 0x7ff0000000000000;
}

template <typename T>
constexpr std::uint64_t LowestExponentBit() {
  return ExponentOnes<T>() & ~(ExponentOnes<T>() << 1);
}

template <typename T>
void AppendNan(std::string& out) {  // the quiet one
  if (!kHasInfinities<T>) {         // all bits but the sign
    AppendBits<T>(~std::uint64_t{0} >> (65 - 8 * sizeof(T)), out);
    return;
  }
  AppendBits<T>(ExponentOnes<T>() | LowestExponentBit<T>() >> 1, out);
}

// The bits, or where all of the exponent's are set those of the number a binade below.
template <typename T>
std::uint64_t Finite(std::uint64_t bits) {
  constexpr std::uint64_t kOnes = ExponentOnes<T>();
  return (bits & kOnes) == kOnes ? bits - LowestExponentBit<T>() : bits;
}

template <typename T>
void AppendBalanced(const Balance& balance, std::string& out) {
  const auto [factor, power] = FactorAndPower<T>();
  const int mean = balance.row == 1 && kIsSigned<T> ? kMixedMean : kMean;
  std::uint64_t state = balance.seed;
  for (std::int64_t pair = 0; pair < balance.columns / 2; ++pair) {
    Next(state);
    if (balance.has_holes && pair >= 4 && (state >> 40) % 8 == 0) {
      AppendNan<T>(out);
      AppendNan<T>(out);
      continue;
    }
    if constexpr (kIsLifted<T>) {  // which have no such pairs: any elements
      AppendBits<T>(Finite<T>(state >> 32 & 0xff), out);
      AppendBits<T>(Finite<T>(state >> 40 & 0xff), out);
      continue;
    }
    const int distance =
        pair < 4 ? balance.first_distances[pair] : static_cast<int>((state >> 32) % kDistances);
    std::pair<int, int> two{mean + distance, mean - distance};
    if constexpr (std::is_same_v<T, Bool>) two = {1, 0};
    if (state >> 63 != 0) std::swap(two.first, two.second);
    AppendExact<T>(std::ldexp(two.first * factor, power), out);
    AppendExact<T>(std::ldexp(two.second * factor, power), out);
  }
}

template <typename T>
void AppendProduct(std::uint64_t state, std::int64_t columns, int row, std::string& out) {
  const double small = kIsFloat<T> ? 0.5 : 2;
  for (std::int64_t i = 0; i < columns; ++i) {
    Next(state);
    const std::uint64_t draw = (state >> 33) % static_cast<std::uint64_t>(columns / 10);
    if constexpr (std::is_same_v<T, Bool>) {
      AppendExact<T>(row == 0 || draw != 0 ? 1 : 0, out);
    } else {
      const double size = draw < 2 ? small : draw == 2 ? 3 : 1;
      const bool is_negative = kIsSigned<T> && (state >> 45) % 16 == 0;
      AppendExact<T>(is_negative ? -size : size, out);
    }
  }
}

template <typename T>
void AppendExtremes(std::uint64_t state, std::int64_t columns, std::string& out) {
  for (std::int64_t i = 0; i < columns; ++i) {
    Next(state);
    std::uint64_t bits = (state >> 20) % 10 == 0 ? 0 : state >> (64 - 8 * sizeof(T));
    if constexpr (std::is_same_v<T, Bool>) bits >>= 7;
    if constexpr (kIsFloat<T>) bits = Finite<T>(bits);
    AppendBits<T>(bits, out);
  }
}

template <typename T>
void AppendSpecial(std::uint64_t state, std::int64_t columns, std::string& out) {
  constexpr std::uint64_t kSign = std::uint64_t{1} << (8 * sizeof(T) - 1);
  for (std::int64_t i = 0; i < columns; ++i) {
    Next(state);
    const int draw = static_cast<int>((state >> 33) % 50);
    const int size = kIsLifted<T> ? draw % 8 : draw;
    if (draw == 0 || (draw < 3 && !kHasInfinities<T>)) {
      AppendNan<T>(out);
    } else if (draw < 3) {
      AppendBits<T>(ExponentOnes<T>() | (draw == 2 ? kSign : 0), out);
    } else {
      AppendExact<T>(draw < 10 ? 0 : state >> 63 != 0 ? size : -size, out);
    }
  }
}

}  // namespace

std::string Elements(DType dtype, Kind kind, std::int64_t columns,
                     const Balance& (*find)(std::int64_t columns, int row, bool has_holes)) {
  std::string out;
  VisitDType(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    out.reserve(static_cast<std::size_t>(kRows * columns) * sizeof(T));
    for (int row = 0; row < kRows; ++row) {
      const auto seed = static_cast<std::uint64_t>(1000 * columns + row);
      switch (kind) {
        case Kind::kBalanced:
        case Kind::kOmit:
          AppendBalanced<T>(find(columns, row, kind == Kind::kOmit), out);
          break;
        case Kind::kProduct:
          AppendProduct<T>(seed, columns, row, out);
          break;
        case Kind::kExtremes:
          AppendExtremes<T>(seed, columns, out);
          break;
        case Kind::kSpecial:
          AppendSpecial<T>(seed, columns, out);
          break;
      }
    }
  });
  return out;
}

}  // namespace warpfold::known
