// Elements that are hard to sum, made on the GPU: the same ones on every run.
#ifndef WARPFOLD_BENCH_KERNELS_HARD_ELEMENTS_CUH_
#define WARPFOLD_BENCH_KERNELS_HARD_ELEMENTS_CUH_

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "bench/kernels/timing.h"
#include "kernels/dtypes/element.h"

namespace warpfold::bench {

enum class Data : std::uint8_t {
  kNormal,
  kEightyBinades,
  k270Binades,
  kSubnormal,
  kOneHugeATile,
  kFarApart,  // 2^100 and 2^-100 in turns, or what the type has
  kRelu,
  kNan
};
struct NamedData {
  Data data;
  const char* name;
};
inline constexpr NamedData kAllData[] = {{Data::kNormal, "normal"},
                                         {Data::kEightyBinades, "80 binades"},
                                         {Data::k270Binades, "270 binades"},
                                         {Data::kSubnormal, "subnormal"},
                                         {Data::kOneHugeATile, "one huge a tile"},
                                         {Data::kFarApart, "far apart"},
                                         {Data::kRelu, "half zeros"},
                                         {Data::kNan, "all NaN"}};

// SplitMix64.
__device__ inline std::uint64_t Mixed(std::uint64_t x) {
  x = (x + 1) * 0x9E3779B97F4A7C15u;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

template <typename T>
__device__ double Element(std::uint64_t i, Data data) {
  constexpr bool kIsHalf = std::is_same_v<T, Half>;
  const std::uint64_t bits = Mixed(i);
  const std::uint64_t others = Mixed(~i);
  const double uniform = (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
  const double angle = static_cast<double>(others >> 11) * 0x1p-52;
  const double normal = sqrt(-2 * log(uniform)) * cospi(angle);
  const auto spread = [&](int binades, int lowest) {
    return ldexp(uniform - 0.5, static_cast<int>(others % static_cast<unsigned>(binades)) + lowest);
  };
  switch (data) {
    case Data::kNormal:
      return normal;
    case Data::kEightyBinades:
      return kIsHalf ? spread(30, -20) : spread(80, -60);
    case Data::k270Binades:
      return kIsHalf ? spread(38, -24) : spread(270, -145);
    case Data::kSubnormal:
      return ldexp(normal, sizeof(T) == 8 ? -1040 : kIsHalf ? -18 : -132);
    case Data::kOneHugeATile:
      return i % 256 == 37 ? ldexp(normal, kIsHalf ? 12 : 60) : normal;
    case Data::kFarApart:
      return ldexp(1.0, (i % 2 == 0 ? 1 : -1) * (kIsHalf ? 14 : 100));
    case Data::kRelu:
      return normal > 0 ? normal : 0;
    case Data::kNan:
      return NAN;
  }
  return 0;
}

template <typename T>
__global__ void FillWith(T* elements, std::int64_t count, Data data) {
  for (std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; i < count;
       i += std::int64_t{gridDim.x} * blockDim.x) {
    const double x = Element<Lifted<T>>(static_cast<std::uint64_t>(i), data);
    elements[i] = Lower<T>(RoundFromDouble<Lifted<T>>(x));
  }
}

// Waits until they are there.
template <typename T>
void Fill(T* d_elements, std::int64_t count, Data data) {
  FillWith<<<1024, 256>>>(d_elements, count, data);
  Check(cudaGetLastError());
  Check(cudaDeviceSynchronize());
}

}  // namespace warpfold::bench

#endif  // WARPFOLD_BENCH_KERNELS_HARD_ELEMENTS_CUH_
