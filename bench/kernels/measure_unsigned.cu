#include "bench/kernels/measure.cuh"

namespace warpfold::bench {

void MeasureUnsigned(int log2_bytes, const cuda::DeviceShape& device, KernelReport& report) {
  MeasureEach<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(log2_bytes, device,
                                                                         report);
}

}  // namespace warpfold::bench
