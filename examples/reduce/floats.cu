// The sum of n floats on a GPU, in four steps that go on where reduce.cu ends: from a fast sum that
// is nearly right to one that is the real sum, rounded once, and as fast.
//
//   nvcc -O3 floats.cu && ./a.out    -arch=native compiles for the GPU that is there
//   ./a.out [LOG2]                   times 2^22 floats and 2^LOG2: 22 to 30, without it 28 (1 GiB)
//
// It prints what each step says of data that are hard to sum, and how fast it is; of the last two
// it checks every sum. docs/reduce6.md walks through them with figures. All floats are finite here;
// kernels/cuda/flat_sum.cuh has NaN and infinities, the other types, and fewer instructions.
//
// Exit status: 0, every exact sum is right; 1, one is not; 2, nothing could be run. Needs CUDA 12
// or later and one GPU, and no other file.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace floats {

using std::size_t;
constexpr unsigned kThreads = 256;
constexpr unsigned kWarps = kThreads / 32;
constexpr int kRows = 2;                    // vectors of a thread that are under way
constexpr unsigned kTile = 32 * 4 * kRows;  // floats of a warp

// ---- 1. How all of them go over the floats -------------------------------------------------
//
// A warp takes a tile, then the one a grid further on. Of a tile each thread has eight floats,
// those past the end 0. Each block leaves what it has in `parts`, and the one that is last to count
// itself, as in reduce10, adds up all of them.

struct Floats {
  float x[4 * kRows];
};

__device__ inline Floats Load(const float* in, size_t n, size_t tile) {
  Floats floats;
  const size_t first = tile * kTile + threadIdx.x % 32 * 4;
  for (int row = 0; row < kRows; ++row) {
    const size_t at = first + row * 128;
    float4 v{0, 0, 0, 0};
    if (at + 4 <= n) {
      v = *reinterpret_cast<const float4*>(in + at);
    } else {
      if (at < n) v.x = in[at];
      if (at + 1 < n) v.y = in[at + 1];
      if (at + 2 < n) v.z = in[at + 2];
    }
    floats.x[4 * row] = v.x, floats.x[4 * row + 1] = v.y;
    floats.x[4 * row + 2] = v.z, floats.x[4 * row + 3] = v.w;
  }
  return floats;
}

// Calls add(eight floats) for each tile of this warp.
template <class Add>
__device__ void ForEachTile(const float* in, size_t n, const Add& add) {
  const size_t tiles = (n + kTile - 1) / kTile, stride = size_t{gridDim.x} * kWarps;
  size_t tile = size_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  if (tile >= tiles) return;
  Floats next = Load(in, n, tile);
  for (; tile < tiles; tile += stride) {
    const Floats floats = next;
    if (tile + stride < tiles) next = Load(in, n, tile + stride);
    add(floats);
  }
}

// Whether this block is the last one, which then sees what the others have left.
__device__ inline bool IsLast(unsigned* done) {
  __shared__ bool is_last;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    is_last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  return is_last;
}

// ---- 2. Sums that are nearly right ---------------------------------------------------------

// A tree of the block's numbers; thread 0 has the sum.
template <class Number>
__device__ Number AddBlock(Number mine) {
  __shared__ Number shared[kThreads];
  shared[threadIdx.x] = mine;
  __syncthreads();
  for (unsigned s = kThreads / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) shared[threadIdx.x] += shared[threadIdx.x + s];
    __syncthreads();
  }
  return shared[0];
}

template <class Number>
__device__ void SumInOrder(const float* in, size_t n, void* parts, unsigned* done, float* sum) {
  Number mine = 0;
  ForEachTile(in, n, [&](const Floats& floats) {
    for (const float x : floats.x) mine += x;
  });
  Number* const sums = static_cast<Number*>(parts);
  mine = AddBlock(mine);
  if (threadIdx.x == 0) sums[blockIdx.x] = mine;
  if (!IsLast(done)) return;
  Number all = 0;
  for (unsigned block = threadIdx.x; block < gridDim.x; block += kThreads) all += sums[block];
  all = AddBlock(all);
  if (threadIdx.x == 0) *sum = static_cast<float>(all);
}

// reduce11, floats. reduce10 with floats. Every addition rounds, to 24 bits, so that the sum
// depends on how many blocks the GPU has, and may be far off: of numbers that cancel, by any
// factor.
__global__ void __launch_bounds__(kThreads, 4)
    Reduce11(const float* in, size_t n, void* parts, unsigned* done, float* sum) {
  SumInOrder<float>(in, n, parts, done, sum);
}

// reduce12, in double. 29 bits more, at no cost: memory is the limit. Most sums of ordinary data
// are right now, and nobody can say which.
__global__ void __launch_bounds__(kThreads, 4)
    Reduce12(const float* in, size_t n, void* parts, unsigned* done, float* sum) {
  SumInOrder<double>(in, n, parts, done, sum);
}

// ---- 3. Sums that are right ----------------------------------------------------------------
//
// A float is an integer of 24 bits times a power of two: of its exponent field f, 2^f in units of
// 2^-150. So a sum of floats is an integer, of 277 bits and those of n. Integers add without an
// error, in any order.

// A thread's sum: words 16 bits apart, so that a float is added to one of them, by its exponent
// field's upper bits, shifted by the lower ones. In shared memory, [word][thread], where each
// thread has banks of its own. A word holds 2^24 floats. REQUIRES: a block has no more.
constexpr int kWords = 18;
struct Words {
  long long* mine;  // kThreads apart

  __device__ void Clear() const {
    for (int w = 0; w < kWords; ++w) mine[w * kThreads] = 0;
  }
  __device__ void Add(float x) const {
    const unsigned bits = __float_as_uint(x);
    const int field = static_cast<int>(bits >> 23 & 0xff);
    const int stored = static_cast<int>(bits & 0x7fffff);
    // A subnormal float is one of field 0, without the hidden bit, and in units of field 1.
    const int mantissa = field == 0 ? 2 * stored : stored | 0x800000;
    const long long with_sign = static_cast<int>(bits) < 0 ? -mantissa : mantissa;
    mine[(field >> 4) * kThreads] += with_sign * (1 << (field & 15));
  }
  // value * 2^field.
  __device__ void Add(long long value, int field) const {
    const int word = field >> 4, shift = field & 15;
    mine[word * kThreads] += (value & 0xffffffff) << shift;
    mine[(word + 2) * kThreads] += (value >> 32) * (1 << shift);
  }
};

// A sum in digits of 32 bits, of which the last one has the sign.
constexpr int kDigits = 11;
struct Digits {
  long long digit[kDigits];

  __device__ void Add(long long word, int bit) {
    const int shift = bit % 32;
    const unsigned long long low = (word & 0xffffffffull) << shift;
    const long long high = (word >> 32) * (1ll << shift) + static_cast<long long>(low >> 32);
    digit[bit / 32] += static_cast<long long>(low & 0xffffffff);
    digit[bit / 32 + 1] += high & 0xffffffff;
    digit[bit / 32 + 2] += high >> 32;
  }
  // All but the last end in [0, 2^32).
  __device__ void Carry() {
    for (int d = 0; d + 1 < kDigits; ++d) {
      digit[d + 1] += digit[d] >> 32;
      digit[d] &= 0xffffffff;
    }
  }
  // The one rounding: to the nearest float, of two the even one. Its digits are carried.
  __device__ float Round() const {
    Digits size = *this;
    const bool is_negative = digit[kDigits - 1] < 0;
    if (is_negative) {
      for (long long& d : size.digit) d = -d;
      size.Carry();
    }
    int top = kDigits - 1;
    while (top > 0 && size.digit[top] == 0) --top;
    if (size.digit[top] == 0) return 0;
    // Its first 64 bits, which of a sum below 2^64 is all of it, and whether any is set below them.
    const auto at = [&](int d) {
      return static_cast<unsigned long long>(d < 0 ? 0 : size.digit[d]);
    };
    const int length = 64 - __clzll(static_cast<long long>(at(top)));  // 32 at most
    const unsigned long long first =
        at(top) << (64 - length) | (at(top - 1) << 32) >> length | at(top - 2) >> length;
    bool has_rest = (at(top - 2) & ((1ull << length) - 1)) != 0;
    for (int d = 0; d < top - 2; ++d) has_rest |= size.digit[d] != 0;
    // The exponent of first's last bit; and how many bits a float does not have, more of a
    // subnormal.
    const int exponent = 32 * top + length - 64 - 150;
    const int dropped = max(40, -149 - exponent);
    const unsigned long long half = 1ull << (dropped - 1), below = first & (2 * half - 1);
    unsigned long long kept = first >> dropped;
    if (below > half || (below == half && (has_rest || kept % 2 == 1))) ++kept;
    const float rounded = ldexpf(static_cast<float>(kept), exponent + dropped);
    return is_negative ? -rounded : rounded;
  }
};

// Adds up the threads' words, and in the last block the blocks' digits.
__device__ void FinishExactly(const long long* shared, void* parts, unsigned* done, float* sum) {
  __shared__ long long of_block[kWords];
  Digits* const sums = static_cast<Digits*>(parts);
  __syncthreads();
  if (threadIdx.x < kWords) {
    long long all = 0;
    for (unsigned t = 0; t < kThreads; ++t) {  // each from a bank of its own
      all += shared[threadIdx.x * kThreads + (t + threadIdx.x) % kThreads];
    }
    of_block[threadIdx.x] = all;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    Digits digits{};
    for (int w = 0; w < kWords; ++w) digits.Add(of_block[w], 16 * w);
    digits.Carry();
    sums[blockIdx.x] = digits;
  }
  if (!IsLast(done)) return;
  if (threadIdx.x < kDigits) {
    long long all = 0;
    for (unsigned block = 0; block < gridDim.x; ++block) all += sums[block].digit[threadIdx.x];
    of_block[threadIdx.x] = all;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  Digits digits;
  for (int d = 0; d < kDigits; ++d) digits.digit[d] = of_block[d];
  digits.Carry();
  *sum = digits.Round();
}

// reduce13, integers. Every float is added as the integer that it is. The sum is the real one,
// rounded once, in whatever order; and one speed, whatever the floats are. Slow: some fifteen
// instructions a float, and a word of shared memory that is read and written.
__global__ void __launch_bounds__(kThreads, 4)
    Reduce13(const float* in, size_t n, void* parts, unsigned* done, float* sum) {
  extern __shared__ long long shared[];
  const Words words{shared + threadIdx.x};
  words.Clear();
  ForEachTile(in, n, [&](const Floats& floats) {
    for (const float x : floats.x) words.Add(x);
  });
  FinishExactly(shared, parts, done, sum);
}

// reduce14, a window. If the exponents of a tile lie within 26 of each other, the sum of a thread's
// eight floats has no more than 53 bits, and doubles add it without an error: it is an integer in
// units of the window's lowest place. Two integer instructions a float tell so, and a vote of the
// warp. The window follows the data; a tile that none holds is added as in reduce13.
__global__ void __launch_bounds__(kThreads, 4)
    Reduce14(const float* in, size_t n, void* parts, unsigned* done, float* sum) {
  extern __shared__ long long shared[];
  const Words words{shared + threadIdx.x};
  words.Clear();
  constexpr int kWindow = 53 - 24 - 3;
  int lowest = 1 << 20, tiles = 0;  // no window yet; exponent fields
  double to_units = 0;
  long long total = 0;
  const auto spill = [&] {
    if (tiles > 0) words.Add(total, lowest);
    total = 0, tiles = 0;
  };
  ForEachTile(in, n, [&](const Floats& floats) {
    unsigned largest = 0, smallest = 0xffffffff;  // of those that are not 0; twice their bits
    double sums[2] = {0, 0};
    for (int i = 0; i < 4 * kRows; ++i) {
      const unsigned size = __float_as_uint(floats.x[i]) << 1;
      largest = max(largest, size);
      smallest = min(smallest, size - 1);  // a 0 becomes the largest there is
      sums[i % 2] += floats.x[i];
    }
    const int high = max(static_cast<int>(largest >> 24), 1);
    const int low = largest == 0 ? high : max(static_cast<int>((smallest + 1) >> 24), 1);
    const bool is_zero = largest == 0;
    if (!__all_sync(0xffffffff, is_zero || (low >= lowest && high <= lowest + kWindow))) {
      int of_warp_high = is_zero ? 0 : high, of_warp_low = is_zero ? 1 << 20 : low;
      for (int distance = 16; distance > 0; distance /= 2) {
        const int high_of_other = __shfl_xor_sync(0xffffffff, of_warp_high, distance);
        const int low_of_other = __shfl_xor_sync(0xffffffff, of_warp_low, distance);
        of_warp_high = max(of_warp_high, high_of_other);
        of_warp_low = min(of_warp_low, low_of_other);
      }
      if (of_warp_high - of_warp_low > kWindow) {
        for (const float x : floats.x) words.Add(x);
        return;
      }
      spill();
      lowest = max(min(of_warp_low, of_warp_high + 2 - kWindow), 1);
      to_units = ldexp(1.0, 150 - lowest);
    }
    total += llrint((sums[0] + sums[1]) * to_units);
    if (++tiles == 256) spill();  // of 53 bits each
  });
  spill();
  FinishExactly(shared, parts, done, sum);
}

// ---- 4. How they are launched --------------------------------------------------------------

using Kernel = void (*)(const float*, size_t, void*, unsigned*, float*);
struct Step {
  const char *name, *idea;
  Kernel kernel;
  bool is_exact;
};
constexpr Step kSteps[] = {{"reduce11", "floats", Reduce11, false},
                           {"reduce12", "in double", Reduce12, false},
                           {"reduce13", "as integers", Reduce13, true},
                           {"reduce14", "a window of doubles", Reduce14, true}};
constexpr size_t SharedBytes(const Step& step) {
  return step.is_exact ? kWords * kThreads * sizeof(long long) : 0;
}
constexpr unsigned kBlocksPerSm = 4;

// The sum, the count of blocks and what they leave: zeros at first, for `blocks` of them.
constexpr size_t ScratchBytes(unsigned blocks) { return 16 + blocks * sizeof(Digits); }

// REQUIRES: `d_in` is a multiple of 16 bytes, n is no more than 2^24 a block.
inline cudaError_t Enqueue(const Step& step, const float* d_in, size_t n, unsigned blocks_max,
                           char* d_scratch, cudaStream_t stream) {
  const size_t needed = std::max<size_t>((n + kTile * kWarps - 1) / (kTile * kWarps), 1);
  const unsigned blocks = static_cast<unsigned>(std::min<size_t>(needed, blocks_max));
  const size_t shared_bytes = SharedBytes(step);
  auto* const sum = reinterpret_cast<float*>(d_scratch);
  auto* const done = reinterpret_cast<unsigned*>(d_scratch + 8);
  void* const parts = d_scratch + 16;
  step.kernel<<<blocks, kThreads, shared_bytes, stream>>>(d_in, n, parts, done, sum);
  return cudaGetLastError();
}

// ---- 5. Floats that are hard to sum, and their sums on the host ----------------------------

enum Data { kAlike, kWide, kCancelling };
constexpr const char* kDataNames[] = {"alike", "wide", "cancelling"};

// Of 24 bits and both signs: within 8 binades, within 60, and numbers that the next one takes back,
// but for one in 1024.
inline std::vector<float> Make(Data data, size_t count) {
  std::vector<float> floats(count);
  unsigned long long x = 20071122;
  float before = 0;
  for (size_t i = 0; i < count; ++i) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;  // Marsaglia's xorshift
    const int exponent =
        static_cast<int>(x >> 40 & 0xffff) % (data == kAlike ? 8 : 60) - (data == kAlike ? 4 : 30);
    const float number =
        std::ldexp(static_cast<float>(static_cast<int>(x >> 8) >> 8), exponent - 24);
    const bool takes_back = data == kCancelling && i % 2 == 1 && i % 1024 != 1;
    floats[i] = takes_back ? -before : number;
    before = number;
  }
  return floats;
}

// The exact sum in units of 2^-54, of which all of them are multiples.
__extension__ using Wide = __int128;
inline Wide ExactSum(const float* floats, size_t count) {
  Wide sum = 0;
  for (size_t i = 0; i < count; ++i) {
    sum += static_cast<Wide>(std::ldexp(static_cast<double>(floats[i]), 54));
  }
  return sum;
}
// Rounded once: to the nearest float, of two the even one.
inline float RoundedOnce(Wide sum) {
  const bool is_negative = sum < 0;
  Wide size = is_negative ? -sum : sum;
  int dropped = 0;
  while (size >> dropped >= Wide{1} << 24) ++dropped;
  Wide kept = size >> dropped;
  const Wide below = size - (kept << dropped), half = dropped > 0 ? Wide{1} << (dropped - 1) : 0;
  if (dropped > 0 && (below > half || (below == half && kept % 2 == 1))) ++kept;
  const float rounded = std::ldexp(static_cast<float>(static_cast<int>(kept)), dropped - 54);
  return is_negative ? -rounded : rounded;
}

}  // namespace floats

// ---- 6. Check, then time -------------------------------------------------------------------
#ifndef REDUCE_WITHOUT_MAIN  // set by this project's bench and tests, which have their own

namespace floats {
namespace {

void Check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "floats: %s: %s\n", what, cudaGetErrorString(error));
  std::exit(2);
}

struct Gpu {
  unsigned blocks;  // that it holds at once
  float* d_floats;
  char* d_scratch;
};

float Sum(const Step& step, size_t n, unsigned blocks, const Gpu& gpu) {
  float sum = 0;
  Check(cudaMemset(gpu.d_scratch, 0xff, 8), "cudaMemset");  // or the next run may leave it
  Check(Enqueue(step, gpu.d_floats, n, blocks, gpu.d_scratch, nullptr), step.name);
  Check(cudaMemcpy(&sum, gpu.d_scratch, sizeof(sum), cudaMemcpyDeviceToHost), step.name);
  return sum;
}

double MedianSeconds(const Step& step, size_t n, const Gpu& gpu) {
  cudaEvent_t begin, end;
  Check(cudaEventCreate(&begin), "event");
  Check(cudaEventCreate(&end), "event");
  std::vector<float> ms;
  constexpr int kLaunches = 20;
  for (int run = -2; run < 15; ++run) {
    float one = 0;
    Check(cudaEventRecord(begin), "event");
    for (int i = 0; i < kLaunches; ++i) {
      Check(Enqueue(step, gpu.d_floats, n, gpu.blocks, gpu.d_scratch, nullptr), step.name);
    }
    Check(cudaEventRecord(end), "event");
    Check(cudaEventSynchronize(end), step.name);
    Check(cudaEventElapsedTime(&one, begin, end), "event");
    if (run >= 0) ms.push_back(one);
  }
  std::nth_element(ms.begin(), ms.begin() + 7, ms.end());
  return ms[7] * 1e-3 / kLaunches;
}

void VerifyAndTime(int log2) {
  cudaDeviceProp is;
  Check(cudaGetDeviceProperties(&is, 0), "GPU 0");
  Gpu gpu{kBlocksPerSm * static_cast<unsigned>(is.multiProcessorCount), nullptr, nullptr};
  const size_t count = size_t{1} << log2;
  Check(cudaMalloc(&gpu.d_floats, count * sizeof(float)), "memory, try a smaller LOG2");
  Check(cudaMalloc(&gpu.d_scratch, ScratchBytes(gpu.blocks)), "memory");
  Check(cudaMemset(gpu.d_scratch, 0, ScratchBytes(gpu.blocks)), "cudaMemset");
  std::printf("%s\n", is.name);
  for (const Data data : {kAlike, kWide, kCancelling}) {
    const std::vector<float> all = Make(data, count);
    Check(cudaMemcpy(gpu.d_floats, all.data(), count * sizeof(float), cudaMemcpyHostToDevice),
          "cudaMemcpy");
    for (const size_t n : {size_t{1}, size_t{255}, size_t{100'003}, size_t{1} << 22, count}) {
      const float right = RoundedOnce(ExactSum(all.data(), n));
      if (n == count)
        std::printf("\n2^%d floats, %s: the sum is %.9g\n", log2, kDataNames[data], right);
      for (const Step& step : kSteps) {
        const float sum = Sum(step, n, gpu.blocks, gpu), other = Sum(step, n, gpu.blocks / 3, gpu);
        if (step.is_exact && (sum != right || other != right)) {
          std::fprintf(stderr, "floats: %s, %s, n = %zu: the sum is %.9g, not %.9g or %.9g\n",
                       step.name, kDataNames[data], n, right, sum, other);
          std::exit(1);
        }
        if (n != count) continue;
        const double seconds = MedianSeconds(step, n, gpu);
        std::printf("%-8s %-20s %15.9g, of a third of the blocks %15.9g %9.2f us %5.0f GB/s\n",
                    step.name, step.idea, sum, other, seconds * 1e6, n * 4 / seconds * 1e-9);
      }
    }
  }
}

}  // namespace
}  // namespace floats

int main(int argc, char** argv) {
  char* end = nullptr;
  const long log2 = argc > 1 ? std::strtol(argv[1], &end, 10) : 28;
  if (argc > 2 || (argc == 2 && (*end != '\0' || log2 < 22 || log2 > 30))) {
    std::fprintf(stderr, "floats: '%s' is not LOG2, a number from 22 to 30\n", argv[argc - 1]);
    return 2;
  }
  int gpus = 0;
  floats::Check(cudaGetDeviceCount(&gpus), "no GPU answers");
  floats::VerifyAndTime(static_cast<int>(log2));
  return 0;
}
#endif
