// Exact sums of floats that lie one after another: a tile at a time in vector registers, as plain
// float64 additions where the tile's exponents lie so close together that none of them rounds. Any
// other tile is added element by element to the digits; nobody sees which way was taken. Safe from
// any thread.
#ifndef WARPFOLD_KERNELS_CPU_EXACT_SUMS_H_
#define WARPFOLD_KERNELS_CPU_EXACT_SUMS_H_

#include <cstdint>

namespace warpfold::cpu {

template <typename T, bool kOmitsNan>
struct ExactSumLoops {
  // Adds `count` elements, at most 2^31, to `words`, a normalised sum of exact::DigitLayout<T, 1>,
  // and returns what exact::Specials they have. kOmitsNan: those that are numbers. Once there is a
  // NaN or an infinity the words are unspecified. Not normalised after.
  std::uint32_t (*add)(const T* elements, std::int64_t count, std::int64_t* words);
};

// The loops for this processor.
template <typename T, bool kOmitsNan>
const ExactSumLoops<T, kOmitsNan>& GetExactSumLoops();

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_EXACT_SUMS_H_
