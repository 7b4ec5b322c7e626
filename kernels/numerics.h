// How sums of floats come about.
#ifndef WARPFOLD_KERNELS_NUMERICS_H_
#define WARPFOLD_KERNELS_NUMERICS_H_

#include <cstdint>

namespace warpfold {

// Added in the order of docs/order.md, or exactly, rounded once at the end. Tests and benches alone
// choose.
enum class Numerics : std::uint8_t { kOrdered, kExact };

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_NUMERICS_H_
