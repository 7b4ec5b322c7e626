// Exact sums of floats that lie one after another: a tile at a time in vector registers, as plain
// float64 additions where the tile's exponents lie so close together that none of them rounds. Any
// other tile is cut along grids that do not round either; nobody sees which way was taken. Safe
// from any thread.
#ifndef WARPFOLD_KERNELS_CPU_EXACT_SUMS_H_
#define WARPFOLD_KERNELS_CPU_EXACT_SUMS_H_

#include <cstdint>

#include "kernels/cpu/loop_table.h"

namespace warpfold::cpu {

// The words of exact::WideSums, normalised, that elements are added to: of DigitLayout<T, 1>, and
// `squares` of DigitLayout<T, 2>. The last two are null where nobody asks for them.
struct ExactWords {
  std::int64_t* sum = nullptr;
  std::int64_t* absolute_sum = nullptr;
  std::int64_t* squares = nullptr;
};

// kOmitsNan: of the elements that are numbers.
template <typename T, bool kOmitsNan>
struct ExactSumLoop {
  // Adds `count` elements, at most 2^31, and returns what exact::Specials they have. Once there is
  // a NaN or an infinity the words are unspecified. Not normalised after.
  std::uint32_t (*add)(const T* elements, std::int64_t count, const ExactWords& words);
};

// The loops for this processor: to words.sum alone, and to all three.
using ExactSumLoopTable = FloatLoops<ExactSumLoop>;
const ExactSumLoopTable& GetExactSumLoops();
const ExactSumLoopTable& GetExactStatisticsLoops();

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_EXACT_SUMS_H_
