// Measures the kernels against CUB in one run: first checks the answer, then times both,
// interleaved, on inputs rotated past the L2, and writes JSON.
//
//   warpfold_bench_kernels [--max-log2 N] [--json FILE] [--commit SHA] [--date DATE]
//
// Times are medians over repetitions of a CUDA graph that holds several launches, so that a
// launch's cost on the host is not counted; each size gets enough launches to make a repetition
// last about 2 ms.
#include <cuda_runtime.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cub/cub.cuh>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "kernels/cuda/reduce.h"

namespace {

void Check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "bench: %s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}
#define CHECK(call) Check((call), #call)

using warpfold::Bundle;
using warpfold::DType;
using warpfold::Op;

struct DeviceBuffer {
  explicit DeviceBuffer(std::size_t bytes) { CHECK(cudaMalloc(&data, bytes)); }
  ~DeviceBuffer() { (void)cudaFree(data); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  void* data = nullptr;
};

template <typename T>
__global__ void FillKernel(T* data, std::size_t count, std::uint32_t seed) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * blockDim.x) {
    std::uint32_t x = static_cast<std::uint32_t>(i) * 2654435761u + seed;
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    data[i] = static_cast<T>(static_cast<std::int32_t>(x % 2001) - 1000) /
              static_cast<T>(std::is_floating_point_v<T> ? 7 : 1);
  }
}

// One contestant: enqueues its work on inputs[i].
using Launch = std::function<void(int input, cudaStream_t stream)>;

// Instances of a graph whose `launches` launches rotate over `inputs` inputs.
class Timed {
 public:
  Timed(const Launch& launch, int inputs, int launches, cudaStream_t stream) : launches_(launches) {
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < launches; ++i) launch(i % inputs, stream);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec_, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaEventCreate(&begin_));
    CHECK(cudaEventCreate(&end_));
  }
  ~Timed() {
    (void)cudaGraphExecDestroy(exec_);
    (void)cudaEventDestroy(begin_);
    (void)cudaEventDestroy(end_);
  }
  // Seconds of one launch.
  double Once(cudaStream_t stream) {
    CHECK(cudaEventRecord(begin_, stream));
    CHECK(cudaGraphLaunch(exec_, stream));
    CHECK(cudaEventRecord(end_, stream));
    CHECK(cudaEventSynchronize(end_));
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, begin_, end_));
    return ms * 1e-3 / launches_;
  }

 private:
  int launches_;
  cudaGraphExec_t exec_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

double Median(std::vector<double> x) {
  std::nth_element(x.begin(), x.begin() + x.size() / 2, x.end());
  return x[x.size() / 2];
}

template <typename T>
struct Types;
template <>
struct Types<float> {
  static constexpr DType kDType = DType::kF32;
};
template <>
struct Types<double> {
  static constexpr DType kDType = DType::kF64;
};
template <>
struct Types<std::int32_t> {
  static constexpr DType kDType = DType::kI32;
};
template <>
struct Types<std::int64_t> {
  static constexpr DType kDType = DType::kI64;
};

// Measures one dtype at one size for SUM, MIN, MAX and all four ops in one pass.
template <typename T>
void Measure(int log2, int sm_count, nlohmann::json& rows) {
  const std::int64_t n = std::int64_t{1} << log2;
  const std::size_t bytes = static_cast<std::size_t>(n) * sizeof(T);
  // Past the L2 of 60 MB: at least 256 MiB in rotation, unless one input is larger.
  const int inputs =
      static_cast<int>(std::clamp<std::size_t>((std::size_t{256} << 20) / bytes, 1, 64));
  const int launches = static_cast<int>(std::clamp<std::int64_t>(
                           (std::int64_t{8} << 30) / static_cast<std::int64_t>(bytes), 4, 256)) /
                           inputs * inputs +
                       inputs;
  DeviceBuffer data(bytes * static_cast<std::size_t>(inputs));
  const auto input = [&](int i) {
    return static_cast<T*>(data.data) + static_cast<std::size_t>(i) * static_cast<std::size_t>(n);
  };
  FillKernel<<<1024, 256>>>(static_cast<T*>(data.data),
                            static_cast<std::size_t>(n) * static_cast<std::size_t>(inputs), 12345u);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());

  const warpfold::Extent extent{1, n, 1};
  DeviceBuffer results(1024), cub_result(256);
  const warpfold::Overflow none;
  CHECK(cudaMemcpy(results.data, &none, sizeof(none), cudaMemcpyHostToDevice));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));

  struct Entry {
    const char* name;
    std::vector<Op> ops;
  };
  const Entry entries[] = {{"sum", {Op::kSum}},
                           {"min", {Op::kMin}},
                           {"max", {Op::kMax}},
                           {"sum+min+max+mean", {Op::kSum, Op::kMin, Op::kMax, Op::kMean}}};
  for (const Entry& entry : entries) {
    const warpfold::cuda::Job job{
        Types<T>::kDType, warpfold::BundleFor(entry.ops), {.sm_count = sm_count}};
    DeviceBuffer scratch(warpfold::cuda::ElementsScratchBytes(job, extent) + 1);
    warpfold::Output output;
    output.overflow = static_cast<warpfold::Overflow*>(results.data);
    output.targets.reduced_count = n;
    output.targets.count = static_cast<int>(entry.ops.size());
    for (std::size_t i = 0; i < entry.ops.size(); ++i) {
      output.targets.ops[i] = entry.ops[i];
      output.targets.arrays[i] = static_cast<char*>(results.data) + 256 + 64 * i;
    }
    const Launch ours = [&](int i, cudaStream_t s) {
      CHECK(warpfold::cuda::FoldElements(job, input(i), extent, output, scratch.data, s));
    };

    std::size_t cub_bytes = 0;
    const auto cub_call = [&](void* temp, std::size_t& size, const T* in, cudaStream_t s) {
      T* out = static_cast<T*>(cub_result.data);
      if (entry.ops[0] == Op::kMin) return cub::DeviceReduce::Min(temp, size, in, out, n, s);
      if (entry.ops[0] == Op::kMax) return cub::DeviceReduce::Max(temp, size, in, out, n, s);
      return cub::DeviceReduce::Sum(temp, size, in, out, n, s);
    };
    CHECK(cub_call(nullptr, cub_bytes, input(0), stream));
    DeviceBuffer cub_temp(cub_bytes + 1);
    const Launch cubs = [&](int i, cudaStream_t s) {
      CHECK(cub_call(cub_temp.data, cub_bytes, input(i), s));
    };

    // The answers first. CUB sums f32 in f32 in another order: equal within n * 2^-24 of the
    // magnitude's sum is far too loose to matter; equal within 1e-3 relative catches a wrong
    // kernel.
    ours(0, stream);
    cubs(0, stream);
    CHECK(cudaStreamSynchronize(stream));
    T a{}, b{};
    CHECK(cudaMemcpy(&b, cub_result.data, sizeof(T), cudaMemcpyDeviceToHost));
    double mine = 0;
    if (entry.ops[0] == Op::kSum && std::is_integral_v<T>) {
      std::int64_t sum = 0;
      CHECK(cudaMemcpy(&sum, static_cast<char*>(results.data) + 256, 8, cudaMemcpyDeviceToHost));
      mine = static_cast<double>(static_cast<T>(sum));  // CUB wraps; so does this
    } else {
      CHECK(cudaMemcpy(&a, static_cast<char*>(results.data) + 256, sizeof(T),
                       cudaMemcpyDeviceToHost));
      mine = static_cast<double>(a);
    }
    const double scale = entry.ops[0] == Op::kSum && std::is_floating_point_v<T>
                             ? 150.0 * std::sqrt(static_cast<double>(n)) + std::fabs(mine)
                             : 0;
    if (std::fabs(mine - static_cast<double>(b)) > 1e-3 * scale) {
      std::fprintf(stderr, "bench: wrong answer: %s n=2^%d: ours %.17g, cub %.17g\n", entry.name,
                   log2, mine, static_cast<double>(b));
      std::exit(1);
    }

    Timed timed_ours(ours, inputs, launches, stream), timed_cub(cubs, inputs, launches, stream);
    std::vector<double> seconds_ours, seconds_cub;
    for (int repeat = 0; repeat < 2; ++repeat) {  // warm-up
      timed_ours.Once(stream);
      timed_cub.Once(stream);
    }
    for (int repeat = 0; repeat < 15; ++repeat) {
      seconds_ours.push_back(timed_ours.Once(stream));
      seconds_cub.push_back(timed_cub.Once(stream));
    }
    const double mine_s = Median(seconds_ours), cub_s = Median(seconds_cub);
    rows.push_back({{"dtype", warpfold::Name(Types<T>::kDType)},
                    {"ops", entry.name},
                    {"elements", n},
                    {"bytes", bytes},
                    {"warpfold_us", mine_s * 1e6},
                    {"cub_us", cub_s * 1e6},
                    {"warpfold_gbps", bytes / mine_s * 1e-9},
                    {"cub_gbps", bytes / cub_s * 1e-9},
                    {"ratio", cub_s / mine_s}});
    std::printf("%-4s %-17s 2^%-2d  %9.2f us %7.0f GB/s   cub %9.2f us %7.0f GB/s   x%.3f\n",
                warpfold::Name(Types<T>::kDType), entry.name, log2, mine_s * 1e6,
                bytes / mine_s * 1e-9, cub_s * 1e6, bytes / cub_s * 1e-9, cub_s / mine_s);
    std::fflush(stdout);
  }
  CHECK(cudaStreamDestroy(stream));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Times warpfold's kernels against CUB on one GPU."};
  int max_log2 = 28;
  std::string json_path, commit = "unknown", date = "unknown";
  app.add_option("--max-log2", max_log2, "largest size, as the logarithm of the f32 element count")
      ->check(CLI::Range(10, 32));
  app.add_option("--json", json_path, "write the results here");
  app.add_option("--commit", commit, "recorded in the results");
  app.add_option("--date", date, "recorded in the results");
  CLI11_PARSE(app, argc, argv);

  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    std::fprintf(stderr, "bench: no GPU answers\n");
    return 1;
  }
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  int driver = 0;
  CHECK(cudaDriverGetVersion(&driver));
  nlohmann::json rows = nlohmann::json::array();
  for (const int log2 : {10, 14, 17, 20, 22, 24, 26, 28, 30, 32}) {
    if (log2 > max_log2) break;
    Measure<float>(log2, properties.multiProcessorCount, rows);
    Measure<std::int32_t>(log2, properties.multiProcessorCount, rows);
    Measure<double>(log2 - 1, properties.multiProcessorCount, rows);
    Measure<std::int64_t>(log2 - 1, properties.multiProcessorCount, rows);
  }
  if (!json_path.empty()) {
    std::string command;
    for (int i = 0; i < argc; ++i) command += (i ? " " : "") + std::string(argv[i]);
    const nlohmann::json out = {
        {"gpu", properties.name}, {"driver_cuda", driver}, {"runtime_cuda", CUDART_VERSION},
        {"cub", CUB_VERSION},     {"date", date},          {"commit", commit},
        {"command", command},     {"results", rows}};
    std::ofstream(json_path) << out.dump(1) << "\n";
  }
  return 0;
}
