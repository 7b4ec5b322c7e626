// The vocabulary of the numeric library: dtypes, ops and what NaN elements do.
#ifndef WARPFOLD_KERNELS_TYPES_H_
#define WARPFOLD_KERNELS_TYPES_H_

#include <cstdint>

#include "kernels/dtypes/catalogue.h"
#include "kernels/ops/list.h"

namespace warpfold {

// What NaN elements do: take part, or count as missing.
enum class NanPolicy : std::uint8_t { kPropagate, kOmit };

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_TYPES_H_
