// The sum of n ints on a GPU, in eleven steps, each timed beside the others.
//
//   nvcc -O3 reduce.cu && ./a.out    -arch=native compiles for the GPU that is there
//   ./a.out [LOG2]                   times 2^22 ints and 2^LOG2: 22 to 30, without it 28 (1 GiB)
//
// reduce0 to reduce6 are those of Mark Harris, "Optimizing Parallel Reduction in CUDA" (NVIDIA,
// 2007), which R. Dhara's "7 Step Optimization of Parallel Reduction with CUDA" took to a Tesla T4.
// They are corrected: "Fault:" says what the published code gets wrong, beside what puts it right.
// reduce7 to reduce10 lead on to what GPUs of today want. docs/reduce6.md walks through all of them
// with figures. Every sum is compared with the host's, in 64 bits, before anything is timed.
//
// Exit status: 0, every sum is right; 1, one is not; 2, nothing could be run: no GPU, no code for
// it, not enough memory, a wrong argument. Needs CUDA 12 or later and one GPU, and no other file:
// that is why all of it is in one, longer than this project's files should be.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace reduction {

using std::size_t;

// ---- 1. The published steps ----------------------------------------------------------------
//
// Each block adds up its ints as a tree in shared memory and leaves one partial sum,
// out[blockIdx.x]. Another launch of the same kernel adds up the partial sums, until one is left.
// A block has a power of two of threads, 64 or more, and an int of shared memory for each.

// Fault: published, reduce0 to reduce5 never learn n and read in[i] for every thread: past the end
// of the data, unless the ints that a block reads divide n. Here an int past the end is 0.
// Fault: `unsigned n` and `unsigned i`: near 2^32, `i += gridSize` in reduce6 wraps around to small
// numbers and the loop does not end. Here both have 64 bits.
// Fault: int sums wrap silently: 2^22 numbers below 100 fit, 2^28 do not. They are ints here too:
// these are the published kernels. But the data is chosen to fit (Ints, below), and the host's sum
// has 64 bits, so that a sum that wrapped would be found to be wrong.
__device__ int LoadOrZero(const int* in, size_t n, size_t i) { return i < n ? in[i] : 0; }

// reduce0, interleaved addressing. Thread t adds its neighbour at distance s when t is a multiple
// of 2s. Slow: the threads that add are spread over all warps, so that every warp runs for a few of
// its 32 threads (divergence), and % is a slow instruction.
__global__ void Reduce0(const int* in, size_t n, int* out) {
  extern __shared__ int shared[];
  const unsigned tid = threadIdx.x;
  shared[tid] = LoadOrZero(in, n, size_t{blockIdx.x} * blockDim.x + tid);
  __syncthreads();
  for (unsigned s = 1; s < blockDim.x; s *= 2) {
    if (tid % (2 * s) == 0) shared[tid] += shared[tid + s];
    __syncthreads();
  }
  if (tid == 0) out[blockIdx.x] = shared[0];
}

// reduce1, no divergence. The same additions, made by the first threads: some warps add with all of
// their threads, the others skip. Slow: neighbouring threads touch ints that are 2s apart, which
// lie in few of the banks of shared memory, and a bank serves one int at a time.
__global__ void Reduce1(const int* in, size_t n, int* out) {
  extern __shared__ int shared[];
  const unsigned tid = threadIdx.x;
  shared[tid] = LoadOrZero(in, n, size_t{blockIdx.x} * blockDim.x + tid);
  __syncthreads();
  for (unsigned s = 1; s < blockDim.x; s *= 2) {
    const unsigned index = 2 * s * tid;
    if (index < blockDim.x) shared[index] += shared[index + s];
    __syncthreads();
  }
  if (tid == 0) out[blockIdx.x] = shared[0];
}

// reduce2, sequential addressing. Thread t adds int t + s, and s halves: neighbouring threads touch
// neighbouring ints, each in a bank of its own. Slow: half of the threads never add anything.
__global__ void Reduce2(const int* in, size_t n, int* out) {
  extern __shared__ int shared[];
  const unsigned tid = threadIdx.x;
  shared[tid] = LoadOrZero(in, n, size_t{blockIdx.x} * blockDim.x + tid);
  __syncthreads();
  for (unsigned s = blockDim.x / 2; s > 0; s /= 2) {
    if (tid < s) shared[tid] += shared[tid + s];
    __syncthreads();
  }
  if (tid == 0) out[blockIdx.x] = shared[0];
}

// Fault: published as in[i] + in[i + blockSize], in reduce6 guarded by `i < n` alone: the last
// block reads up to blockSize ints past the end. Each of the two has its own check here.
__device__ int LoadPair(const int* in, size_t n, size_t i, unsigned distance) {
  return LoadOrZero(in, n, i) + LoadOrZero(in, n, i + distance);
}

// reduce3, first addition while loading. Half the blocks, and every thread adds at least once.
// Slow: of the loop, little is additions. Most of it is barriers, comparisons and the index.
__global__ void Reduce3(const int* in, size_t n, int* out) {
  extern __shared__ int shared[];
  const unsigned tid = threadIdx.x;
  shared[tid] = LoadPair(in, n, size_t{blockIdx.x} * blockDim.x * 2 + tid, blockDim.x);
  __syncthreads();
  for (unsigned s = blockDim.x / 2; s > 0; s /= 2) {
    if (tid < s) shared[tid] += shared[tid + s];
    __syncthreads();
  }
  if (tid == 0) out[blockIdx.x] = shared[0];
}

// Adds up shared[0] to shared[63] in the first warp; thread 0 leaves the sum in shared[0].
// Fault: published with `volatile` shared memory and no barrier, for GPUs whose warps ran in lock
// step. Since Volta (2017) a thread may run ahead of its warp, and read what another has not yet
// written, or has already overwritten. __syncwarp orders the reads of a step before its writes, and
// those before the reads of the next.
// Fault: published for blocks of 32 and fewer too, where shared[tid + 16] lies past the block's
// shared memory. Here a block has 64 threads or more, and `tid + s` is at most 63.
__device__ void AddLastWarp(int* shared, unsigned tid) {
  int sum = shared[tid];
#pragma unroll
  for (unsigned s = 32; s > 0; s /= 2) {
    sum += shared[tid + s];
    __syncwarp();
    shared[tid] = sum;
    __syncwarp();
  }
}

// reduce4, last warp unrolled. When 64 ints are left, one warp adds them without block barriers,
// and the others are done. Slow: what is left of the loop.
__global__ void Reduce4(const int* in, size_t n, int* out) {
  extern __shared__ int shared[];
  const unsigned tid = threadIdx.x;
  shared[tid] = LoadPair(in, n, size_t{blockIdx.x} * blockDim.x * 2 + tid, blockDim.x);
  __syncthreads();
  for (unsigned s = blockDim.x / 2; s > 32; s /= 2) {
    if (tid < s) shared[tid] += shared[tid + s];
    __syncthreads();
  }
  if (tid < 32) AddLastWarp(shared, tid);
  if (tid == 0) out[blockIdx.x] = shared[0];
}

// Fault: published as a chain of `if (blockSize >= 512) ... if (blockSize >= 128)`, which leaves
// out half of a block of 1024 (512 was the most that a block of 2007 could have), and called from a
// switch that launches nothing, and says nothing, for a size that it does not list. The compiler
// unrolls this loop alike, and takes no size for which it would be wrong.
template <unsigned kThreads>
__device__ void AddBlock(int* shared, unsigned tid) {
  static_assert(kThreads >= 64 && kThreads <= 1024 && (kThreads & (kThreads - 1)) == 0);
  __syncthreads();
#pragma unroll
  for (unsigned s = kThreads / 2; s > 32; s /= 2) {
    if (tid < s) shared[tid] += shared[tid + s];
    __syncthreads();
  }
  if (tid < 32) AddLastWarp(shared, tid);
}

// reduce5, completely unrolled. The block size is a template argument, so that the compiler knows
// every step. Slow: a tree of log2(kThreads) steps for only two ints a thread.
template <unsigned kThreads>
__global__ void __launch_bounds__(kThreads) Reduce5(const int* in, size_t n, int* out) {
  extern __shared__ int shared[];
  const unsigned tid = threadIdx.x;
  shared[tid] = LoadPair(in, n, size_t{blockIdx.x} * kThreads * 2 + tid, kThreads);
  AddBlock<kThreads>(shared, tid);
  if (tid == 0) out[blockIdx.x] = shared[0];
}

// reduce6, many additions a thread. A grid as large as the GPU can hold at once goes over the data
// together, pair by pair, and builds its trees once, at the end. Slow: 4 bytes a load.
// Fault: as retold for the T4, the grid has a block for every 2 * blockSize ints, so that the loop
// runs once: that is reduce5 again. Reduction, below, makes it no larger than the GPU.
template <unsigned kThreads>
__global__ void __launch_bounds__(kThreads) Reduce6(const int* in, size_t n, int* out) {
  extern __shared__ int shared[];
  const unsigned tid = threadIdx.x;
  const size_t grid_ints = size_t{gridDim.x} * kThreads * 2;
  int sum = 0;
  for (size_t i = size_t{blockIdx.x} * kThreads * 2 + tid; i < n; i += grid_ints) {
    sum += LoadPair(in, n, i, kThreads);
  }
  shared[tid] = sum;
  AddBlock<kThreads>(shared, tid);
  if (tid == 0) out[blockIdx.x] = shared[0];
}

// ---- 2. On to the kernels of today ---------------------------------------------------------

// The sum of a warp; each of its threads returns it. A shuffle hands a register to another thread
// of the warp. Five of them add up 32 ints, without shared memory and without a barrier, since a
// shuffle makes its threads wait for each other.
__device__ int AddWarp(int sum) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    sum += __shfl_xor_sync(0xffffffff, sum, distance);
  }
  return sum;
}

// The sum of a block; the threads of its first warp return it.
template <unsigned kThreads>
__device__ int AddWarps(int sum) {
  __shared__ int warp_sums[kThreads / 32];
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  sum = AddWarp(sum);
  if (lane == 0) warp_sums[warp] = sum;
  __syncthreads();
  return warp == 0 ? AddWarp(lane < kThreads / 32 ? warp_sums[lane] : 0) : 0;
}

// reduce7, shuffles. The tree of reduce6 has log2(kThreads) steps through shared memory and a
// barrier for most of them; this one has one barrier, and one int of shared memory a warp.
template <unsigned kThreads>
__global__ void __launch_bounds__(kThreads) Reduce7(const int* in, size_t n, int* out) {
  const size_t grid_ints = size_t{gridDim.x} * kThreads * 2;
  int sum = 0;
  for (size_t i = size_t{blockIdx.x} * kThreads * 2 + threadIdx.x; i < n; i += grid_ints) {
    sum += LoadPair(in, n, i, kThreads);
  }
  sum = AddWarps<kThreads>(sum);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

// What this thread adds up of vectors of 16 bytes, kRows of which it loads before it adds any, and
// of the n % 4 ints behind the last of them. REQUIRES: `in` is a multiple of 16 bytes.
template <unsigned kThreads, unsigned kRows>
__device__ int AddVectors(const int* in, size_t n) {
  const int4* vectors = reinterpret_cast<const int4*>(in);
  const size_t count = n / 4, grid_vectors = size_t{gridDim.x} * kThreads * kRows;
  int sum = 0;
  for (size_t first = size_t{blockIdx.x} * kThreads * kRows; first < count; first += grid_vectors) {
    int4 v[kRows];
#pragma unroll
    for (unsigned row = 0; row < kRows; ++row) {
      const size_t at = first + row * kThreads + threadIdx.x;
      v[row] = at < count ? __ldcs(vectors + at) : int4{0, 0, 0, 0};  // read once: not to be kept
    }
#pragma unroll
    for (unsigned row = 0; row < kRows; ++row) sum += (v[row].x + v[row].y) + (v[row].z + v[row].w);
  }
  if (blockIdx.x == 0 && threadIdx.x < n % 4) sum += in[count * 4 + threadIdx.x];
  return sum;
}

// reduce8, 16-byte loads. A quarter of the load instructions, of the comparisons and of the index
// arithmetic, and four times the bytes under way for each load that a thread waits for.
template <unsigned kThreads>
__global__ void __launch_bounds__(kThreads) Reduce8(const int* in, size_t n, int* out) {
  const int sum = AddWarps<kThreads>(AddVectors<kThreads, 1>(in, n));
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

// reduce9, eight rows in flight. Memory answers after hundreds of cycles. What a GPU reads in a
// second is what it has under way divided by that time, so each thread asks for 128 bytes before it
// adds the first of them. The registers that this takes leave room for some 1024 threads an SM. The
// launch bounds say that this will do: left to itself, nvcc 13.0 saves registers for sm_90, loads
// three rows, adds them, and only then loads the other five.
template <unsigned kThreads>
__global__ void __launch_bounds__(kThreads, 1024 / kThreads)
    Reduce9(const int* in, size_t n, int* out) {
  const int sum = AddWarps<kThreads>(AddVectors<kThreads, 8>(in, n));
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

// reduce10, second pass without the host. The block that is the last to write its partial sum adds
// up all of them, in the same launch: no second one, and no gap between two.
// out[0] is the sum, out[1] counts the blocks that are done, out[2] on are their partial sums. The
// count must be 0 at first and is 0 again at the end: atomicInc wraps. A fence in front of it lets
// others see the partial sum that it counts, one behind it lets this block see all the others'.
template <unsigned kThreads>
__global__ void __launch_bounds__(kThreads, 1024 / kThreads)
    Reduce10(const int* in, size_t n, int* out) {
  const int sum = AddWarps<kThreads>(AddVectors<kThreads, 8>(in, n));
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    out[2 + blockIdx.x] = sum;
    __threadfence();
    unsigned* done = reinterpret_cast<unsigned*>(out + 1);
    is_last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (!is_last) return;
  int total = 0;
  for (unsigned block = threadIdx.x; block < gridDim.x; block += kThreads) total += out[2 + block];
  total = AddWarps<kThreads>(total);
  if (threadIdx.x == 0) out[0] = total;
}

// ---- 3. How they are launched --------------------------------------------------------------

using Kernel = void (*)(const int* in, size_t n, int* out);
constexpr unsigned kBlockSizes[] = {128, 256, 512};

// The blocks of the first launch: what the data needs, or no more than the GPU holds at once; and
// the same for a kernel that needs no second launch.
enum Grid { kNeeded, kResident, kOneLaunch };
struct Step {
  const char *name, *idea;
  unsigned loads;   // ints that a thread loads before it adds
  unsigned shared;  // ints of shared memory that the launch provides for each thread
  Grid grid;
  Kernel kernels[3];  // by block size
};
constexpr Step kSteps[] = {
    {"reduce0", "interleaved, divergent, modulo", 1, 1, kNeeded, {Reduce0, Reduce0, Reduce0}},
    {"reduce1", "interleaved, bank conflicts", 1, 1, kNeeded, {Reduce1, Reduce1, Reduce1}},
    {"reduce2", "sequential addressing", 1, 1, kNeeded, {Reduce2, Reduce2, Reduce2}},
    {"reduce3", "first add while loading", 2, 1, kNeeded, {Reduce3, Reduce3, Reduce3}},
    {"reduce4", "last warp unrolled", 2, 1, kNeeded, {Reduce4, Reduce4, Reduce4}},
    {"reduce5", "completely unrolled", 2, 1, kNeeded, {Reduce5<128>, Reduce5<256>, Reduce5<512>}},
    {"reduce6", "many adds a thread", 2, 1, kResident, {Reduce6<128>, Reduce6<256>, Reduce6<512>}},
    {"reduce7", "shuffles", 2, 0, kResident, {Reduce7<128>, Reduce7<256>, Reduce7<512>}},
    {"reduce8", "16-byte loads", 4, 0, kResident, {Reduce8<128>, Reduce8<256>, Reduce8<512>}},
    {"reduce9", "8 rows in flight", 32, 0, kResident, {Reduce9<128>, Reduce9<256>, Reduce9<512>}},
    {"reduce10", "one launch", 32, 0, kOneLaunch, {Reduce10<128>, Reduce10<256>, Reduce10<512>}},
};

// A step in block size number `size`, ready to sum n ints, with at most `resident` blocks where the
// grid is to fit the GPU. Blocks cannot wait for each other, so that each pass over what the one
// before it left is a launch of its own.
class Reduction {
 public:
  Reduction(const Step& step, int size, size_t n, unsigned resident)
      : step_(step), kernel_(step.kernels[size]), threads_(kBlockSizes[size]) {
    // Fault: n + 2 * blockSize - 1 / (2 * blockSize), without parentheses, is not n / (2 *
    // blockSize) rounded up; and in an int it overflows when n is near 2^31.
    const size_t block_ints = size_t{threads_} * step.loads;
    do {
      size_t blocks = (n + block_ints - 1) / block_ints;
      if (step.grid != kNeeded) blocks = passes_.empty() ? std::min<size_t>(blocks, resident) : 1;
      passes_.push_back({n, static_cast<unsigned>(blocks), scratch_ints_});
      scratch_ints_ += blocks + 2;  // two more for reduce10
      n = blocks;
    } while (n > 1 && step.grid != kOneLaunch);
  }
  size_t scratch_ints() const { return scratch_ints_; }

  // Once, before the first Enqueue. Every int is -1, so that a partial sum that is read, but was
  // never written, shows in the sum; only reduce10 counts from 0.
  cudaError_t Prepare(int* d_scratch) const {
    const cudaError_t error = cudaMemset(d_scratch, 0xff, scratch_ints_ * sizeof(int));
    if (error != cudaSuccess || step_.grid != kOneLaunch) return error;
    return cudaMemset(d_scratch + 1, 0, sizeof(int));
  }
  // Fault: published, nobody asks whether a launch failed.
  cudaError_t Enqueue(const int* d_in, int* d_scratch, cudaStream_t stream) const {
    const size_t shared_bytes = threads_ * step_.shared * sizeof(int);
    for (const Pass& pass : passes_) {
      int* d_out = d_scratch + pass.out;
      kernel_<<<pass.blocks, threads_, shared_bytes, stream>>>(d_in, pass.n, d_out);
      if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
      d_in = d_out;
    }
    return cudaSuccess;
  }
  int* Answer(int* d_scratch) const { return d_scratch + passes_.back().out; }

 private:
  struct Pass {
    size_t n;
    unsigned blocks;
    size_t out;  // where in the scratch memory its sums begin
  };
  const Step& step_;
  Kernel kernel_;
  unsigned threads_;
  std::vector<Pass> passes_;
  size_t scratch_ints_ = 0;
};

// Odd numbers from -15 to 15. None is 0: an int that is lost, added twice or read past the end
// shows in the sum. And sums stay small: of 2^30 of them with a standard deviation of 9.2 * 2^15.
inline std::vector<int> Ints(size_t count) {
  std::vector<int> ints(count);
  unsigned x = 20071122;
  for (int& number : ints) {
    x ^= x << 13, x ^= x >> 17, x ^= x << 5;  // Marsaglia's xorshift
    number = static_cast<int>(x >> 28) * 2 - 15;
  }
  return ints;
}

}  // namespace reduction

// ---- 4. Check, then time -------------------------------------------------------------------
#ifndef REDUCE_WITHOUT_MAIN  // set by this project's bench and tests, which have their own

namespace reduction {
namespace {

void Check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "reduce: %s: %s\n", what, cudaGetErrorString(error));
  std::exit(2);
}

struct Gpu {
  cudaDeviceProp is;
  cudaStream_t stream;
  size_t count;
  int *d_ints, *d_scratch;
};

Reduction MakeReduction(const Step& step, int size, size_t n, const Gpu& gpu) {
  const unsigned threads = kBlockSizes[size];
  int blocks = 0;  // that an SM holds at once
  Check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &blocks, step.kernels[size], static_cast<int>(threads), threads * step.shared * 4),
        step.name);
  return {step, size, n, static_cast<unsigned>(blocks * gpu.is.multiProcessorCount)};
}

// Ends the program if a step's sum of the first n ints is not `expected`, now or the second time.
void Verify(const Step& step, int size, size_t n, long long expected, const Gpu& gpu) {
  const Reduction reduction = MakeReduction(step, size, n, gpu);
  Check(reduction.Prepare(gpu.d_scratch), "cudaMemset");
  for (int time = 0; time < 2; ++time) {
    int sum = 0;
    int* d_sum = reduction.Answer(gpu.d_scratch);
    Check(reduction.Enqueue(gpu.d_ints, gpu.d_scratch, gpu.stream), step.name);
    Check(cudaStreamSynchronize(gpu.stream), step.name);
    Check(cudaMemcpy(&sum, d_sum, sizeof(int), cudaMemcpyDeviceToHost), "cudaMemcpy");
    Check(cudaMemset(d_sum, 0xff, sizeof(int)), "cudaMemset");  // or the next run may leave it
    if (sum == expected) continue;
    std::fprintf(stderr, "reduce: %s, blocks of %u, n = %zu: the sum is %lld, not %d\n", step.name,
                 kBlockSizes[size], n, expected, sum);
    std::exit(1);
  }
}

// The time of one reduction of n ints: the median of 15 runs of a CUDA graph, after two that warm
// up. A graph holds many reductions, so that the GPU never waits for the host to launch one. They
// take turns over all of the data, so that no cache holds what they read.
// Fault: as retold for the T4, one cold launch is timed, by the host's clock, without the final
// pass. Most of that time is not the kernel's.
double MedianSeconds(const Reduction& reduction, size_t n, const Gpu& gpu) {
  const size_t inputs = gpu.count / n, launches = std::max<size_t>(inputs, 4);
  Check(reduction.Prepare(gpu.d_scratch), "cudaMemset");
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  Check(cudaStreamBeginCapture(gpu.stream, cudaStreamCaptureModeThreadLocal), "capture");
  for (size_t i = 0; i < launches; ++i) {
    Check(reduction.Enqueue(gpu.d_ints + i % inputs * n, gpu.d_scratch, gpu.stream), "capture");
  }
  Check(cudaStreamEndCapture(gpu.stream, &graph), "capture");
  Check(cudaGraphInstantiate(&exec, graph, 0), "graph");
  cudaEvent_t begin, end;
  Check(cudaEventCreate(&begin), "event");
  Check(cudaEventCreate(&end), "event");
  std::vector<float> ms;
  for (int run = -2; run < 15; ++run) {
    float one = 0;
    Check(cudaEventRecord(begin, gpu.stream), "event");
    Check(cudaGraphLaunch(exec, gpu.stream), "graph");
    Check(cudaEventRecord(end, gpu.stream), "event");
    Check(cudaEventSynchronize(end), "graph");
    Check(cudaEventElapsedTime(&one, begin, end), "event");
    if (run >= 0) ms.push_back(one);
  }
  Check(cudaGraphExecDestroy(exec), "graph");
  Check(cudaGraphDestroy(graph), "graph");
  std::nth_element(ms.begin(), ms.begin() + 7, ms.end());
  return ms[7] * 1e-3 / static_cast<double>(launches);
}

void PrintTable(int log2, const Gpu& gpu) {
  const size_t n = size_t{1} << log2;
  std::printf("\n2^%d ints, in blocks of   ", log2);
  for (const unsigned threads : kBlockSizes) std::printf("%28u", threads);
  std::printf("\n");
  for (const Step& step : kSteps) {
    std::printf("%-8s %-30s", step.name, step.idea);
    for (int size = 0; size < 3; ++size) {
      const double seconds = MedianSeconds(MakeReduction(step, size, n, gpu), n, gpu);
      std::printf(" %10.2f us %5.0f GB/s", seconds * 1e6, n * sizeof(int) / seconds * 1e-9);
    }
    std::printf("\n");
    std::fflush(stdout);
  }
}

// The first GPU, with `ints` in its memory.
Gpu OpenGpu(const std::vector<int>& ints) {
  Gpu gpu{};
  gpu.count = ints.size();
  const size_t bytes = ints.size() * sizeof(int);
  Check(cudaGetDeviceProperties(&gpu.is, 0), "GPU 0");
  cudaFuncAttributes attributes;
  Check(cudaFuncGetAttributes(&attributes, Reduce0), "no code for this GPU, try -arch=native");
  Check(cudaStreamCreate(&gpu.stream), "stream");
  Check(cudaMalloc(&gpu.d_ints, bytes), "memory for the ints, try a smaller LOG2");
  // No other leaves as many partial sums.
  const Reduction largest(kSteps[0], 0, gpu.count, 0);
  Check(cudaMalloc(&gpu.d_scratch, largest.scratch_ints() * sizeof(int)), "memory for the sums");
  Check(cudaMemcpy(gpu.d_ints, ints.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  std::printf("%s, sm_%d%d, %d SMs, %d MiB of L2\n", gpu.is.name, gpu.is.major, gpu.is.minor,
              gpu.is.multiProcessorCount, gpu.is.l2CacheSize >> 20);
  return gpu;
}

void VerifyAndTime(int log2) {
  const std::vector<int> ints = Ints(size_t{1} << std::max(log2, 26));  // more than an L2 holds
  const Gpu gpu = OpenGpu(ints);
  // Around every edge of a warp, a block and a grid; then the sizes that are timed.
  std::vector<size_t> sizes{1, 1'000'003, size_t{1} << 22, size_t{1} << log2};
  for (size_t power = 2; power < size_t{1} << 22; power *= 2) {
    sizes.insert(sizes.end(), {power - 1, power, power + 1});
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  long long expected = 0;
  size_t added = 0;
  for (const size_t n : sizes) {
    while (added < n) expected += ints[added++];
    for (const Step& step : kSteps) {
      for (int size = 0; size < 3; ++size) Verify(step, size, n, expected, gpu);
    }
  }
  std::printf("every step is right in blocks of 128, 256 and 512 for %zu sizes from 1 to %zu\n",
              sizes.size(), sizes.back());
  PrintTable(22, gpu);
  if (log2 > 22) PrintTable(log2, gpu);
}

}  // namespace
}  // namespace reduction

int main(int argc, char** argv) {
  char* end = nullptr;
  const long log2 = argc > 1 ? std::strtol(argv[1], &end, 10) : 28;
  if (argc > 2 || (argc == 2 && (*end != '\0' || log2 < 22 || log2 > 30))) {
    std::fprintf(stderr, "reduce: '%s' is not LOG2, a number from 22 to 30\n", argv[argc - 1]);
    return 2;
  }
  int gpus = 0;
  reduction::Check(cudaGetDeviceCount(&gpus), "no GPU answers");
  reduction::VerifyAndTime(static_cast<int>(log2));
  return 0;
}
#endif
