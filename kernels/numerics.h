// The rules by which numbers come about.
#ifndef WARPFOLD_KERNELS_NUMERICS_H_
#define WARPFOLD_KERNELS_NUMERICS_H_

#include <cstdint>

namespace warpfold {

// The version of docs/numerics.md: another one whenever the bits of any answer may be others.
inline constexpr std::uint32_t kNumericsVersion = 1;

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_NUMERICS_H_
