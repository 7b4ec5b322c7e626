#include "bench/kernels/measure.cuh"

namespace warpfold::bench {

void MeasureFloats(int log2_bytes, const cuda::DeviceShape& device, KernelReport& report) {
  MeasureEach<float, double, Half, BFloat16>(log2_bytes, device, report);
}

}  // namespace warpfold::bench
