#include "server/device/backend/build.h"

namespace warpfold {

Build ThisBuild() {
#ifdef WARPFOLD_HAS_CUDA
  return {.has_cuda = true,
          .cuda_major = WARPFOLD_CUDA_MAJOR,
          .compiled = cuda::CompiledArchitectures()};
#else
  return {};
#endif
}

}  // namespace warpfold
