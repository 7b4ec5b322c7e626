// How sums of floats come about.
#ifndef WARPFOLD_KERNELS_NUMERICS_H_
#define WARPFOLD_KERNELS_NUMERICS_H_

#include <cstdint>

namespace warpfold {

// Added in the order of docs/order.md, or exactly, rounded once at the end.
enum class Numerics : std::uint8_t { kOrdered, kExact };

// What is served, in all paths alike. Sums in an order are what tests and benches compare with, and
// go.
inline constexpr Numerics kServedNumerics = Numerics::kExact;

// The version of docs/numerics.md: another one whenever the bits of any answer may be others.
inline constexpr std::uint32_t kNumericsVersion = 1;

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_NUMERICS_H_
