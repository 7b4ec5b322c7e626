#include "kernels/cuda/exact_sum.h"

namespace warpfold::cuda {

cudaError_t ExactSum(DType dtype, const void* d_data, std::int64_t count, const DeviceShape& device,
                     void* d_scratch, void* d_result, cudaStream_t stream) {
  return VisitBuilt(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (kIsFloat<T>) {
      return ExactSum(static_cast<const T*>(d_data), count, device, d_scratch,
                      static_cast<FloatOf<T>*>(d_result), stream);
    } else {
      return cudaErrorInvalidValue;
    }
  });
}

}  // namespace warpfold::cuda
