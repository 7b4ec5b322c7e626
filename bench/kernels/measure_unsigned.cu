#include "bench/kernels/measure.cuh"

namespace warpfold::bench {

template void Measure<std::uint8_t>(int log2_bytes, const cuda::DeviceShape& device,
                                    KernelReport& report);
template void Measure<std::uint16_t>(int log2_bytes, const cuda::DeviceShape& device,
                                     KernelReport& report);
template void Measure<std::uint32_t>(int log2_bytes, const cuda::DeviceShape& device,
                                     KernelReport& report);
template void Measure<std::uint64_t>(int log2_bytes, const cuda::DeviceShape& device,
                                     KernelReport& report);

}  // namespace warpfold::bench
