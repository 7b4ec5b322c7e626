#include "bench/kernels/measure.cuh"

namespace warpfold::bench {

template void Measure<float>(int log2_bytes, const cuda::DeviceShape& device, KernelReport& report);
template void Measure<double>(int log2_bytes, const cuda::DeviceShape& device,
                              KernelReport& report);
template void Measure<Half>(int log2_bytes, const cuda::DeviceShape& device, KernelReport& report);
template void Measure<BFloat16>(int log2_bytes, const cuda::DeviceShape& device,
                                KernelReport& report);

}  // namespace warpfold::bench
