#include "bench/kernels/measure.cuh"

namespace warpfold::bench {

template void Measure<std::int8_t>(int log2_bytes, const cuda::DeviceShape& device,
                                   KernelReport& report);
template void Measure<std::int16_t>(int log2_bytes, const cuda::DeviceShape& device,
                                    KernelReport& report);
template void Measure<std::int32_t>(int log2_bytes, const cuda::DeviceShape& device,
                                    KernelReport& report);
template void Measure<std::int64_t>(int log2_bytes, const cuda::DeviceShape& device,
                                    KernelReport& report);

}  // namespace warpfold::bench
