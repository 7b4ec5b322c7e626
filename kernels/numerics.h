// How sums of floats come about.
#ifndef WARPFOLD_KERNELS_NUMERICS_H_
#define WARPFOLD_KERNELS_NUMERICS_H_

#include <cstdint>

namespace warpfold {

// Added in the order of docs/order.md, or exactly, rounded once at the end.
enum class Numerics : std::uint8_t { kOrdered, kExact };

// What is served, in all paths alike; tests and benches may have either. The build option
// WARPFOLD_EXACT, for whoever works on exact sums until all of them are served, turns it over.
#ifdef WARPFOLD_EXACT
inline constexpr Numerics kServedNumerics = Numerics::kExact;
#else
inline constexpr Numerics kServedNumerics = Numerics::kOrdered;
#endif
inline constexpr bool kServesExactSums = kServedNumerics == Numerics::kExact;

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_NUMERICS_H_
