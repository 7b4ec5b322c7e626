#include "bench/kernels/measure.cuh"

namespace warpfold::bench {

void MeasureSigned(int log2_bytes, const cuda::DeviceShape& device, KernelReport& report) {
  MeasureEach<std::int8_t, std::int16_t, std::int32_t, std::int64_t>(log2_bytes, device, report);
}

}  // namespace warpfold::bench
