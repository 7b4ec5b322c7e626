// Measures the engines whose sums are exact against those that are served, in one run: the sum, the
// statistics and all ops along the shapes that a tensor is reduced in. Outputs that are left in
// doubt are counted; that they are summed again is not in the time.
//
//   warpfold_bench_exact_shapes [--bytes-log2 N] [--json FILE] [--commit SHA] [--date DATE]
//
// Needs a build with -DWARPFOLD_EXACT_ENGINES=ON. Timed as bench_kernels.cu times.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "bench/kernels/contestants.cuh"
#include "bench/kernels/hard_elements.cuh"
#include "bench/kernels/report.h"
#include "bench/kernels/timing.h"
#include "kernels/types.h"

namespace warpfold::bench {
namespace {

struct Work {
  const char* name;
  std::vector<Op> ops;
};

template <typename T>
void Measure(std::int64_t bytes_log2, bool wide, const cuda::DeviceShape& device, Report& report) {
  const std::int64_t count = (std::int64_t{1} << bytes_log2) / static_cast<std::int64_t>(sizeof(T));
  const std::size_t bytes = std::size_t{1} << bytes_log2;
  const Rotation rotation(bytes);
  const DeviceBuffer buffer(bytes * static_cast<std::size_t>(rotation.inputs));
  T* const d_elements = static_cast<T*>(buffer.data);
  cudaStream_t stream;
  Check(cudaStreamCreate(&stream));
  const Work works[] = {
      {"sum", {Op::kSum}},
      {"statistics", {Op::kMean, Op::kStd, Op::kMin, Op::kMax, Op::kL1Norm, Op::kNanCount}},
      {"all", {std::begin(kAllOps), std::end(kAllOps)}}};
  for (const bool is_wide : {false, true}) {
    if (is_wide && !wide) continue;
    Fill(d_elements, count * rotation.inputs, is_wide ? Data::kEightyBinades : Data::kNormal);
    for (const Extent& extent :
         {Extent{1, count, 1}, Extent{count >> 16, 1 << 16, 1}, Extent{count >> 10, 1 << 10, 1},
          Extent{count >> 7, 1 << 7, 1}, Extent{count >> 4, 1 << 4, 1}, Extent{1, 64, count >> 6},
          Extent{1, 1 << 10, count >> 10}, Extent{1, 1 << 13, count >> 13},
          Extent{1, count >> 6, 1 << 6}}) {
      for (const Work& work : works) {
        const Warpfold<T> exact(work.ops, extent, device, Numerics::kExact);
        // Of one launch, before many of them add up.
        exact.Enqueue(d_elements, stream);
        Check(cudaStreamSynchronize(stream));
        const std::int64_t doubts = exact.Doubts();
        const Warpfold<T> served(work.ops, extent, device);
        const Cub<T> cub(Op::kSum, count);
        const std::vector<double> seconds =
            MedianSecondsOf(d_elements, count, rotation, stream, exact, served, cub);
        const char* dtype = Name(kDType<T>);
        std::printf(
            "%-4s %-10s %-6s [%lld, %lld, %lld]  exact %9.2f us  served %9.2f us x%.3f  "
            "cub's flat sum %9.2f us x%.3f  %lld in doubt\n",
            dtype, work.name, is_wide ? "wide" : "normal", static_cast<long long>(extent.outer),
            static_cast<long long>(extent.count), static_cast<long long>(extent.inner),
            seconds[0] * 1e6, seconds[1] * 1e6, seconds[1] / seconds[0], seconds[2] * 1e6,
            seconds[2] / seconds[0], static_cast<long long>(doubts));
        std::fflush(stdout);
        report.results.push_back({{"dtype", dtype},
                                  {"work", work.name},
                                  {"data", is_wide ? "80 binades" : "normal"},
                                  {"extent", {extent.outer, extent.count, extent.inner}},
                                  {"bytes", bytes},
                                  {"doubts", doubts},
                                  {"exact_us", seconds[0] * 1e6},
                                  {"served_us", seconds[1] * 1e6},
                                  {"cub_flat_sum_us", seconds[2] * 1e6}});
      }
    }
  }
  Check(cudaStreamDestroy(stream));
}

}  // namespace
}  // namespace warpfold::bench

int main(int argc, char** argv) {
  using namespace warpfold;
  using namespace warpfold::bench;
  Report report;
  int bytes_log2 = 28;
  bool wide = false;
  CLI::App app{"Measures the engines whose sums are exact against those that are served."};
  app.add_option("--bytes-log2", bytes_log2, "the tensors' bytes, as a power of two")
      ->capture_default_str()
      ->check(CLI::Range(22, 32));
  app.add_flag("--wide", wide, "also elements of 80 binades");
  report.AddFlags(app);
  CLI11_PARSE(app, argc, argv);
  const cudaDeviceProp gpu = RequireGpu();
  const warpfold::cuda::DeviceShape device = ShapeOfGpu();
  std::printf("%s\n", gpu.name);
  Measure<float>(bytes_log2, wide, device, report);
  Measure<double>(bytes_log2, wide, device, report);
  report.Write(gpu, argc, argv);
  return 0;
}
