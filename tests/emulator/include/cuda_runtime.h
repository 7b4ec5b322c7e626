// What the kernels use of CUDA C++, for the emulated GPU: a launch runs there and then.
//
// Source: CUDA C++ Programming Guide.
#ifndef WARPFOLD_TESTS_EMULATOR_INCLUDE_CUDA_RUNTIME_H_
#define WARPFOLD_TESTS_EMULATOR_INCLUDE_CUDA_RUNTIME_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cuda_runtime_api.h"
#include "tests/emulator/device.h"

#if __has_include(<format>)
#include <format>  // GCC 16's uses the name that is a macro below
#endif

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__ static  // one block at a time

struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(16) int4 {
  int x, y, z, w;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct uint3 {
  unsigned x = 0;
};
struct dim3 {
  dim3(unsigned x = 1) : x(x) {}  // NOLINT(google-explicit-constructor): as in CUDA
  unsigned x;
};
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

using std::max;  // NOLINT(google-global-names-in-headers): as in CUDA
using std::min;  // NOLINT(google-global-names-in-headers): as in CUDA

// Launches.

enum cudaLaunchAttributeID { cudaLaunchAttributeProgrammaticStreamSerialization };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  struct {
    int programmaticStreamSerializationAllowed;
  } val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};
template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel, cudaFuncAttribute, int) {
  return cudaSuccess;
}
template <class... Parameters>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Parameters... arguments) {
  warpfold::emulator::Run(config->gridDim.x, config->blockDim.x, config->dynamicSmemBytes,
                          [&] { kernel(arguments...); });
  return cudaSuccess;
}
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline cudaError_t cudaMemset(void* to, int byte, std::size_t bytes) {
  std::memset(to, byte, bytes);
  return cudaSuccess;
}

// Blocks and warps. All lanes take part: the kernels know no other masks.

inline void __syncthreads() { warpfold::emulator::AwaitBlock(); }
inline void __syncwarp() { warpfold::emulator::Exchange(warpfold::emulator::Place::kSyncWarp, 0); }
inline std::uint32_t __shfl_xor_sync(unsigned, std::uint32_t word, int mask) {
  const std::uint32_t* words =
      warpfold::emulator::Exchange(warpfold::emulator::Place::kShuffle, word);
  return words[warpfold::emulator::Lane() ^ mask];
}
inline std::uint32_t ShuffledFrom(int lane, std::uint32_t word) {
  return warpfold::emulator::Exchange(warpfold::emulator::Place::kShuffle, word)[lane];
}
template <class T>
T ShuffledWords(int lane, T value) {
  std::uint32_t words[sizeof(T) / sizeof(std::uint32_t)];
  std::memcpy(words, &value, sizeof(value));
  for (std::uint32_t& word : words) word = ShuffledFrom(lane, word);
  std::memcpy(&value, words, sizeof(value));
  return value;
}
template <class T>
T __shfl_sync(unsigned, T value, int lane) {
  return ShuffledWords(lane & (warpfold::emulator::kWarpThreads - 1), value);
}
template <class T>
T __shfl_up_sync(unsigned, T value, int distance) {
  const int from = warpfold::emulator::Lane() - distance;
  return ShuffledWords(from < 0 ? warpfold::emulator::Lane() : from, value);
}
inline bool __all_sync(unsigned, bool is) {
  const std::uint32_t* words = warpfold::emulator::Exchange(warpfold::emulator::Place::kAll, is);
  return std::all_of(words, words + warpfold::emulator::kWarpThreads,
                     [](std::uint32_t word) { return word != 0; });
}
inline bool __any_sync(unsigned, bool is) {
  const std::uint32_t* words = warpfold::emulator::Exchange(warpfold::emulator::Place::kAny, is);
  return std::any_of(words, words + warpfold::emulator::kWarpThreads,
                     [](std::uint32_t word) { return word != 0; });
}
inline std::uint32_t __ballot_sync(unsigned, bool is) {
  const std::uint32_t* words = warpfold::emulator::Exchange(warpfold::emulator::Place::kBallot, is);
  std::uint32_t lanes = 0;
  for (int lane = 0; lane < warpfold::emulator::kWarpThreads; ++lane) lanes |= words[lane] << lane;
  return lanes;
}
template <class T, class Join>
T ReduceLanes(warpfold::emulator::Place place, T value, const Join& join) {
  static_assert(sizeof(T) == sizeof(std::uint32_t));
  const std::uint32_t* words =
      warpfold::emulator::Exchange(place, std::bit_cast<std::uint32_t>(value));
  T joined = std::bit_cast<T>(words[0]);
  for (int lane = 1; lane < warpfold::emulator::kWarpThreads; ++lane) {
    joined = join(joined, std::bit_cast<T>(words[lane]));
  }
  return joined;
}
template <class T>
T __reduce_min_sync(unsigned, T value) {
  return ReduceLanes(warpfold::emulator::Place::kReduceMin, value,
                     [](T a, T b) { return std::min(a, b); });
}
template <class T>
T __reduce_max_sync(unsigned, T value) {
  return ReduceLanes(warpfold::emulator::Place::kReduceMax, value,
                     [](T a, T b) { return std::max(a, b); });
}
template <class T>
T __reduce_add_sync(unsigned, T value) {
  const std::uint32_t sum =
      ReduceLanes(warpfold::emulator::Place::kReduceAdd, std::bit_cast<std::uint32_t>(value),
                  [](std::uint32_t a, std::uint32_t b) { return a + b; });
  return std::bit_cast<T>(sum);
}
inline std::uint32_t __reduce_or_sync(unsigned, std::uint32_t value) {
  return ReduceLanes(warpfold::emulator::Place::kReduceOr, value,
                     [](std::uint32_t a, std::uint32_t b) { return a | b; });
}

// Memory.

template <class T>
T __ldcg(const T* address) {
  return *address;
}
template <class T>
void __stcg(T* address, std::type_identity_t<T> value) {
  *address = value;
}
template <class T>
T __ldcs(const T* address) {
  warpfold::emulator::CheckAligned(address, sizeof(T));
  return *address;
}
template <class T>
T atomicAdd(T* address, std::type_identity_t<T> value) {
  const T old = *address;
  *address = old + value;
  return old;
}
template <class T>
T atomicOr(T* address, std::type_identity_t<T> value) {
  const T old = *address;
  *address = old | value;
  return old;
}
template <class T>
T atomicMin(T* address, T value) {
  const T old = *address;
  *address = std::min(old, value);
  return old;
}
template <class T>
T atomicCAS(T* address, T expected, T desired) {
  const T old = *address;
  if (old == expected) *address = desired;
  return old;
}
template <class T>
T atomicExch(T* address, T value) {
  const T old = *address;
  *address = value;
  return old;
}
inline unsigned atomicInc(unsigned* address, unsigned last) {
  const unsigned old = *address;
  *address = old >= last ? 0 : old + 1;
  return old;
}
inline void __threadfence() {}
inline void __threadfence_system() {}

// Numbers.

inline double __dadd_rn(double a, double b) { return a + b; }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline double __dmul_rn(double a, double b) { return a * b; }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline long long __double2ll_rn(double x) { return std::llrint(x); }
inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
inline int __double2hiint(double x) {
  return static_cast<int>(std::bit_cast<std::uint64_t>(x) >> 32);
}
inline int __double2loint(double x) { return static_cast<int>(std::bit_cast<std::uint64_t>(x)); }
inline double __hiloint2double(int high, int low) {
  return std::bit_cast<double>(std::uint64_t{static_cast<std::uint32_t>(high)} << 32 |
                               static_cast<std::uint32_t>(low));
}

// Bits and bytes.

inline int __popc(unsigned word) { return std::popcount(word); }
inline int __clzll(long long word) {
  return std::countl_zero(static_cast<unsigned long long>(word));
}
inline int __clz(int word) { return std::countl_zero(static_cast<unsigned>(word)); }
inline int __ffs(int word) { return __builtin_ffs(word); }
inline std::uint32_t __byte_perm(std::uint32_t low, std::uint32_t high, std::uint32_t selector) {
  const std::uint64_t bytes = low | std::uint64_t{high} << 32;
  std::uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t from = selector >> (4 * i) & 7;
    result |= static_cast<std::uint32_t>(bytes >> (8 * from) & 0xff) << (8 * i);
  }
  return result;
}
// Of four bytes, or two halves of 16 bits, each.
template <class Part, class Join>
std::uint32_t ForEachPart(std::uint32_t a, std::uint32_t b, const Join& join) {
  Part parts_a[4 / sizeof(Part)], parts_b[4 / sizeof(Part)];
  std::memcpy(parts_a, &a, sizeof a);
  std::memcpy(parts_b, &b, sizeof b);
  for (std::size_t i = 0; i < 4 / sizeof(Part); ++i) parts_a[i] = join(parts_a[i], parts_b[i]);
  std::memcpy(&a, parts_a, sizeof a);
  return a;
}
inline std::uint32_t __vmins2(std::uint32_t a, std::uint32_t b) {
  return ForEachPart<std::int16_t>(a, b, [](auto x, auto y) { return std::min(x, y); });
}
inline std::uint32_t __vmaxu2(std::uint32_t a, std::uint32_t b) {
  return ForEachPart<std::uint16_t>(a, b, [](auto x, auto y) { return std::max(x, y); });
}
inline std::uint32_t __vmaxs2(std::uint32_t a, std::uint32_t b) {
  return ForEachPart<std::int16_t>(a, b, [](auto x, auto y) { return std::max(x, y); });
}
template <class T>
T AddProductsOfBytes(T a, T b, T sum) {
  using Byte = std::conditional_t<std::is_signed_v<T>, std::int8_t, std::uint8_t>;
  for (int i = 0; i < 4; ++i) {
    sum += static_cast<T>(static_cast<Byte>(a >> (8 * i))) *
           static_cast<T>(static_cast<Byte>(b >> (8 * i)));
  }
  return sum;
}
inline int __dp4a(int a, int b, int sum) { return AddProductsOfBytes(a, b, sum); }
inline unsigned __dp4a(unsigned a, unsigned b, unsigned sum) {
  return AddProductsOfBytes(a, b, sum);
}

#endif  // WARPFOLD_TESTS_EMULATOR_INCLUDE_CUDA_RUNTIME_H_
