// reduce0 ... reduce6: the seven steps of M. Harris, "Optimizing Parallel Reduction in CUDA"
// (NVIDIA, 2007), and of their retelling on a Tesla T4 (R. Dhara, "7 Step Optimization of Parallel
// Reduction with CUDA"), corrected. Each block adds its elements in shared memory and leaves one
// partial, out[blockIdx.x]; the same kernel then adds the partials, until one is left (ladder.cu).
// For teaching and measuring; the server's kernels are in kernels/cuda.
//
// Every kernel is launched with blockDim.x elements of T as dynamic shared memory and a block of a
// power of two from 64 to 1024 threads. Wrong in the published listings, and right here:
// - `int n` or `unsigned int n`, or no n at all: no bounds check means reading past the end unless
//   a block's elements divide n, and `i += gridSize` in 32 bits wraps around for n near 2^32 and
//   never ends. Here every index of an element is a std::size_t and is compared with n.
// - "At most 512 threads a block": the G80's limit. It has been 1024 since Fermi (2010).
// - "A warp of 64 threads on Hopper": every NVIDIA GPU has warps of 32.
// What is wrong in one step only is said there.
#ifndef WARPFOLD_BENCH_KERNELS_LADDER_CUH_
#define WARPFOLD_BENCH_KERNELS_LADDER_CUH_

#include <cuda_runtime.h>

#include <cstddef>
#include <iterator>

namespace warpfold::bench {

// A name of its own for each T: two `extern __shared__ T shared[]` would be one name of two types.
template <typename T>
__device__ T* Shared() {
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  return reinterpret_cast<T*>(shared_bytes);
}

template <typename T>
__device__ T LoadOrZero(const T* in, std::size_t n, std::size_t i) {
  return i < n ? in[i] : T{0};
}

// Interleaved addressing: thread t adds its neighbour at distance s when t is a multiple of 2s.
// Slow: the threads that add are spread over all warps (divergence), and the modulo.
template <typename T>
__global__ void Reduce0(const T* in, std::size_t n, T* out) {
  T* shared = Shared<T>();
  const unsigned tid = threadIdx.x;
  shared[tid] = LoadOrZero(in, n, std::size_t{blockIdx.x} * blockDim.x + tid);
  __syncthreads();
  for (unsigned s = 1; s < blockDim.x; s *= 2) {
    if (tid % (2 * s) == 0) shared[tid] += shared[tid + s];
    __syncthreads();
  }
  if (tid == 0) out[blockIdx.x] = shared[0];
}

// The same sums by the first threads: no divergence within a warp until less than one is left.
// Slow: neighbouring threads are 2s elements apart, which meet in the same banks.
template <typename T>
__global__ void Reduce1(const T* in, std::size_t n, T* out) {
  T* shared = Shared<T>();
  const unsigned tid = threadIdx.x;
  shared[tid] = LoadOrZero(in, n, std::size_t{blockIdx.x} * blockDim.x + tid);
  __syncthreads();
  for (unsigned s = 1; s < blockDim.x; s *= 2) {
    const unsigned index = 2 * s * tid;
    if (index < blockDim.x) shared[index] += shared[index + s];
    __syncthreads();
  }
  if (tid == 0) out[blockIdx.x] = shared[0];
}

// Sequential addressing: thread t adds element t + s, and s halves. No bank conflicts.
// Slow: half the threads add nothing, ever.
template <typename T>
__global__ void Reduce2(const T* in, std::size_t n, T* out) {
  T* shared = Shared<T>();
  const unsigned tid = threadIdx.x;
  shared[tid] = LoadOrZero(in, n, std::size_t{blockIdx.x} * blockDim.x + tid);
  __syncthreads();
  for (unsigned s = blockDim.x / 2; s > 0; s /= 2) {
    if (tid < s) shared[tid] += shared[tid + s];
    __syncthreads();
  }
  if (tid == 0) out[blockIdx.x] = shared[0];
}

// Elements i and i + distance. Published: `g_in[i] + g_in[i + blockSize]`, guarded by `i < n` at
// most, so the last block reads up to blockSize elements past the end. Each has its own check here.
template <typename T>
__device__ T LoadPair(const T* in, std::size_t n, std::size_t i, unsigned distance) {
  return LoadOrZero(in, n, i) + LoadOrZero(in, n, i + distance);
}

// The first addition while loading: half the blocks, each of twice the elements.
// Slow: loop and barrier instructions, most of all in the last steps of few threads.
template <typename T>
__global__ void Reduce3(const T* in, std::size_t n, T* out) {
  T* shared = Shared<T>();
  const unsigned tid = threadIdx.x;
  shared[tid] = LoadPair(in, n, std::size_t{blockIdx.x} * blockDim.x * 2 + tid, blockDim.x);
  __syncthreads();
  for (unsigned s = blockDim.x / 2; s > 0; s /= 2) {
    if (tid < s) shared[tid] += shared[tid + s];
    __syncthreads();
  }
  if (tid == 0) out[blockIdx.x] = shared[0];
}

// The last 64 elements to shared[0], by the first warp without block barriers. Published:
// `volatile` shared memory and no barrier at all, which relied on a warp's threads running in
// lockstep. Since Volta they need not, and one may read before or after another's write: undefined.
// __syncwarp orders both, reads before the writes of the same step and writes before the next
// reads. From s = 16 on, the upper lanes add what nobody uses; they stay below shared[64].
template <typename T>
__device__ void ReduceLastWarp(T* shared, unsigned tid) {
  T sum = shared[tid];
#pragma unroll
  for (unsigned s = 32; s > 0; s /= 2) {
    sum += shared[tid + s];
    __syncwarp();
    shared[tid] = sum;
    __syncwarp();
  }
}

// The last warp unrolled. Slow: what is left of the loop.
template <typename T>
__global__ void Reduce4(const T* in, std::size_t n, T* out) {
  T* shared = Shared<T>();
  const unsigned tid = threadIdx.x;
  shared[tid] = LoadPair(in, n, std::size_t{blockIdx.x} * blockDim.x * 2 + tid, blockDim.x);
  __syncthreads();
  for (unsigned s = blockDim.x / 2; s > 32; s /= 2) {
    if (tid < s) shared[tid] += shared[tid + s];
    __syncthreads();
  }
  if (tid < 32) ReduceLastWarp(shared, tid);
  if (tid == 0) out[blockIdx.x] = shared[0];
}

// reduce4's tree where the compiler knows the block size, and so unrolls it whole. Published: a
// chain of `if (blockSize >= 512) ... if (blockSize >= 128) ...` that leaves out half of a block of
// 1024, called from a switch that launches nothing for a size that it does not list.
template <unsigned kThreads, typename T>
__device__ void ReduceBlock(T* shared, unsigned tid) {
  static_assert(kThreads >= 64 && kThreads <= 1024 && (kThreads & (kThreads - 1)) == 0);
  __syncthreads();
#pragma unroll
  for (unsigned s = kThreads / 2; s > 32; s /= 2) {
    if (tid < s) shared[tid] += shared[tid + s];
    __syncthreads();
  }
  if (tid < 32) ReduceLastWarp(shared, tid);
}

// Completely unrolled: the block size is a template argument. Slow: one pair a thread, so the tree
// is paid for every pair.
template <typename T, unsigned kThreads>
__global__ void __launch_bounds__(kThreads) Reduce5(const T* in, std::size_t n, T* out) {
  T* shared = Shared<T>();
  const unsigned tid = threadIdx.x;
  shared[tid] = LoadPair(in, n, std::size_t{blockIdx.x} * kThreads * 2 + tid, kThreads);
  ReduceBlock<kThreads>(shared, tid);
  if (tid == 0) out[blockIdx.x] = shared[0];
}

// Algorithm cascading: a thread adds many pairs before the tree, whatever the grid; the grid is
// sized to the GPU. As published for the T4 the grid still has a block for every pair of tiles, so
// that the loop runs once and nothing cascades.
template <typename T, unsigned kThreads>
__global__ void __launch_bounds__(kThreads) Reduce6(const T* in, std::size_t n, T* out) {
  T* shared = Shared<T>();
  const unsigned tid = threadIdx.x;
  const std::size_t grid_elements = std::size_t{gridDim.x} * kThreads * 2;
  T sum{0};
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads * 2 + tid; i < n; i += grid_elements) {
    sum += LoadPair(in, n, i, kThreads);
  }
  shared[tid] = sum;
  ReduceBlock<kThreads>(shared, tid);
  if (tid == 0) out[blockIdx.x] = shared[0];
}

// What is known of a step without running it. The published numbers are for int and n = 2^22, on
// a GeForce 8800 GTX (G80, 128 threads a block, 86.4 GB/s at best) and on a Tesla T4 (256 threads,
// 320 GB/s; one launch without warm-up, the second pass not counted).
struct Step {
  const char* name;
  const char* idea;
  unsigned loads;  // elements that a thread of the first pass reads; 0: as many as there are
  double g80_gbps;
  double t4_gbps;
};
inline constexpr double kG80PeakGbps = 86.4, kT4PeakGbps = 320;
inline constexpr Step kSteps[] = {
    {"reduce0", "interleaved, divergent, modulo", 1, 2.083, 19.949},
    {"reduce1", "interleaved, bank conflicts", 1, 4.854, 21.237},
    {"reduce2", "sequential addressing", 1, 9.741, 26.092},
    {"reduce3", "first add while loading", 2, 17.377, 41.222},
    {"reduce4", "last warp unrolled", 2, 31.289, 53.261},
    {"reduce5", "completely unrolled", 2, 43.996, 54.828},
    // Published for the T4 as 59.892 GB/s; but 2^22 ints in its 0.212 ms are these.
    {"reduce6", "many adds a thread", 0, 62.671, 79.138},
};

template <typename T>
using Kernel = void (*)(const T* in, std::size_t n, T* out);

// By step. The first five take any block size at run time; that is what the last two cure.
template <typename T, unsigned kThreads>
inline constexpr Kernel<T> kKernels[] = {
    Reduce0<T>, Reduce1<T>,           Reduce2<T>,           Reduce3<T>,
    Reduce4<T>, Reduce5<T, kThreads>, Reduce6<T, kThreads>,
};
static_assert(std::size(kSteps) == std::size(kKernels<int, 128>));

}  // namespace warpfold::bench

#endif  // WARPFOLD_BENCH_KERNELS_LADDER_CUH_
