// The elements that the kernel benches reduce.
#ifndef WARPFOLD_BENCH_KERNELS_FILL_CUH_
#define WARPFOLD_BENCH_KERNELS_FILL_CUH_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "bench/kernels/timing.h"
#include "kernels/dtypes/element.h"

namespace warpfold::bench {

template <typename T>
__global__ void FillKernel(T* data, std::size_t count, std::uint32_t seed) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * blockDim.x) {
    std::uint32_t x = static_cast<std::uint32_t>(i) * 2654435761u + seed;
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    // Of both signs where T has them: sums of the others' wrapped negatives would not fit.
    const int least = std::is_unsigned_v<T> ? 0 : -1000;
    const int number = static_cast<std::int32_t>(x % 2001) + least;
    if constexpr (kIsLifted<T>) {
      data[i] = Lower<T>(RoundFromDouble<Lifted<T>>(number / 7.0));
    } else if constexpr (kIsFloat<T>) {
      data[i] = RoundFromDouble<T>(number / 7.0);
    } else {
      data[i] = static_cast<T>(number);
    }
  }
}

// Numbers from a fixed seed; returns when they are there.
template <typename T>
void Fill(T* d_data, std::int64_t count) {
  FillKernel<<<1024, 256>>>(d_data, static_cast<std::size_t>(count), 12345u);
  Check(cudaGetLastError());
  Check(cudaDeviceSynchronize());
}

}  // namespace warpfold::bench

#endif  // WARPFOLD_BENCH_KERNELS_FILL_CUH_
