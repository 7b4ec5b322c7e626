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
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bench/kernels/contestants.cuh"
#include "bench/kernels/report.h"
#include "bench/kernels/timing.h"

namespace {

using warpfold::Op;
using warpfold::bench::Check;
using warpfold::bench::DeviceBuffer;
using warpfold::bench::Report;
using warpfold::bench::Rotation;

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

// Measures one dtype at one size for SUM, MIN, MAX and all four ops in one pass.
template <typename T>
void Measure(int log2, int sm_count, Report& report) {
  const std::int64_t n = std::int64_t{1} << log2;
  const std::size_t bytes = static_cast<std::size_t>(n) * sizeof(T);
  const Rotation rotation(bytes);
  DeviceBuffer data(bytes * static_cast<std::size_t>(rotation.inputs));
  const auto input = [&](int i) { return static_cast<T*>(data.data) + i * n; };
  FillKernel<<<1024, 256>>>(static_cast<T*>(data.data),
                            static_cast<std::size_t>(n * rotation.inputs), 12345u);
  Check(cudaGetLastError());
  Check(cudaDeviceSynchronize());
  cudaStream_t stream;
  Check(cudaStreamCreate(&stream));

  struct Entry {
    const char* name;
    std::vector<Op> ops;
  };
  const Entry entries[] = {{"sum", {Op::kSum}},
                           {"min", {Op::kMin}},
                           {"max", {Op::kMax}},
                           {"sum+min+max+mean", {Op::kSum, Op::kMin, Op::kMax, Op::kMean}}};
  for (const Entry& entry : entries) {
    const warpfold::bench::Warpfold<T> ours(entry.ops, n, sm_count);
    const warpfold::bench::Cub<T> cub(entry.ops[0], n);

    // The answers first. CUB sums f32 in f32 in another order: equal within n * 2^-24 of the
    // magnitude's sum is far too loose to matter; equal within 1e-3 relative catches a wrong
    // kernel.
    ours.Enqueue(input(0), stream);
    cub.Enqueue(input(0), stream);
    Check(cudaStreamSynchronize(stream));
    const auto mine = static_cast<double>(ours.Answer());
    const auto cubs = static_cast<double>(cub.Answer());
    const double scale = entry.ops[0] == Op::kSum && std::is_floating_point_v<T>
                             ? 150.0 * std::sqrt(static_cast<double>(n)) + std::fabs(mine)
                             : 0;
    if (std::fabs(mine - cubs) > 1e-3 * scale) {
      std::fprintf(stderr, "bench: wrong answer: %s n=2^%d: ours %.17g, cub %.17g\n", entry.name,
                   log2, mine, cubs);
      std::exit(1);
    }

    const std::vector<double> seconds =
        warpfold::bench::MedianSeconds({[&](int i, cudaStream_t s) { ours.Enqueue(input(i), s); },
                                        [&](int i, cudaStream_t s) { cub.Enqueue(input(i), s); }},
                                       rotation, stream);
    const double mine_s = seconds[0], cub_s = seconds[1];
    const char* dtype = warpfold::Name(warpfold::bench::kDType<T>);
    report.results.push_back({{"dtype", dtype},
                              {"ops", entry.name},
                              {"elements", n},
                              {"bytes", bytes},
                              {"warpfold_us", mine_s * 1e6},
                              {"cub_us", cub_s * 1e6},
                              {"warpfold_gbps", bytes / mine_s * 1e-9},
                              {"cub_gbps", bytes / cub_s * 1e-9},
                              {"ratio", cub_s / mine_s}});
    std::printf("%-4s %-17s 2^%-2d  %9.2f us %7.0f GB/s   cub %9.2f us %7.0f GB/s   x%.3f\n", dtype,
                entry.name, log2, mine_s * 1e6, bytes / mine_s * 1e-9, cub_s * 1e6,
                bytes / cub_s * 1e-9, cub_s / mine_s);
    std::fflush(stdout);
  }
  Check(cudaStreamDestroy(stream));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Times warpfold's kernels against CUB on one GPU."};
  int max_log2 = 28;
  Report report;
  app.add_option("--max-log2", max_log2, "largest size, as the logarithm of the f32 element count")
      ->check(CLI::Range(10, 32));
  report.AddFlags(app);
  CLI11_PARSE(app, argc, argv);

  const cudaDeviceProp gpu = warpfold::bench::RequireGpu();
  for (const int log2 : {10, 14, 17, 20, 22, 24, 26, 28, 30, 32}) {
    if (log2 > max_log2) break;
    Measure<float>(log2, gpu.multiProcessorCount, report);
    Measure<std::int32_t>(log2, gpu.multiProcessorCount, report);
    Measure<double>(log2 - 1, gpu.multiProcessorCount, report);
    Measure<std::int64_t>(log2 - 1, gpu.multiProcessorCount, report);
  }
  report.Write(gpu, argc, argv);
  return 0;
}
