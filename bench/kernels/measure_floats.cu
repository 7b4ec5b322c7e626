#include "bench/kernels/measure.cuh"

namespace warpfold::bench {

void MeasureFloats(int log2_bytes, const cuda::DeviceShape& device, KernelReport& report) {
  MeasureEach<float, double, Half, BFloat16, F8E4M3, F8E5M2>(log2_bytes, device, report);
}

}  // namespace warpfold::bench
