// Measures the exact sums against CUB's and against the sums that are served, in one run: of data
// that one window holds and of data that none does, which may cost a little more and no more than
// that.
//
//   warpfold_bench_exact [--max-log2 N] [--json FILE] [--commit SHA] [--date DATE]
//
// Timed as bench_kernels.cu times. That the sums are right is the tests' business (GpuSumTest).
#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/kernels/contestants.cuh"
#include "bench/kernels/hard_elements.cuh"
#include "bench/kernels/report.h"
#include "bench/kernels/timing.h"
#include "kernels/cuda/exact_sum.h"
#include "kernels/dtypes/catalogue.h"
#include "kernels/types.h"

namespace warpfold::bench {
namespace {

template <typename T>
class ExactContestant {
 public:
  ExactContestant(std::int64_t count, const cuda::DeviceShape& device)
      : count_(count), device_(device) {
    Check(cudaMemset(scratch_.data, 0, cuda::ExactSumScratchBytes<T>()));
  }
  void Enqueue(const T* d_in, cudaStream_t stream) const {
    Check(cuda::ExactSum(d_in, count_, device_, scratch_.data,
                         static_cast<FloatOf<T>*>(result_.data), stream));
  }

 private:
  std::int64_t count_;
  cuda::DeviceShape device_;
  DeviceBuffer scratch_{cuda::ExactSumScratchBytes<T>()};
  DeviceBuffer result_{sizeof(FloatOf<T>)};
};

template <typename T>
void Measure(const NamedData& data, int log2_bytes, const cuda::DeviceShape& device,
             Report& report) {
  const std::int64_t count = (std::int64_t{1} << log2_bytes) / static_cast<std::int64_t>(sizeof(T));
  const std::size_t bytes = std::size_t{1} << log2_bytes;
  const Rotation rotation(bytes);
  const DeviceBuffer buffer(bytes * static_cast<std::size_t>(rotation.inputs));
  T* const d_elements = static_cast<T*>(buffer.data);
  Fill(d_elements, count * rotation.inputs, data.data);
  cudaStream_t stream;
  Check(cudaStreamCreate(&stream));
  const ExactContestant<T> exact(count, device);
  const Warpfold<T> served({Op::kSum}, {1, count, 1}, device);
  const Cub<T> cub(Op::kSum, count);
  const auto input = [&](int i) { return d_elements + i * count; };
  exact.Enqueue(input(0), stream);
  served.Enqueue(input(0), stream);
  cub.Enqueue(input(0), stream);
  Check(cudaStreamSynchronize(stream));
  const std::vector<double> seconds =
      MedianSecondsOf(d_elements, count, rotation, stream, exact, served, cub);
  Check(cudaStreamDestroy(stream));
  const char* dtype = Name(kDTypeOf<T>);
  std::printf(
      "%-4s %-15s %11zu B  exact %9.2f us %5.0f GB/s  served %9.2f us  cub %9.2f us x%.3f\n", dtype,
      data.name, bytes, seconds[0] * 1e6, bytes / seconds[0] * 1e-9, seconds[1] * 1e6,
      seconds[2] * 1e6, seconds[2] / seconds[0]);
  std::fflush(stdout);
  report.results.push_back({{"dtype", dtype},
                            {"data", data.name},
                            {"bytes", bytes},
                            {"exact_us", seconds[0] * 1e6},
                            {"served_us", seconds[1] * 1e6},
                            {"cub_us", seconds[2] * 1e6},
                            {"ratio", seconds[2] / seconds[0]}});
}

template <typename T>
void MeasureAll(int max_log2, const cuda::DeviceShape& device, Report& report) {
  for (const NamedData& data : kAllData) {
    for (const int log2_bytes : {12, 16, 20, 22, 24, 26, 28, 30}) {
      // What a window costs is seen of every size, and what wide data do of the large ones.
      if (log2_bytes > max_log2 || (data.data != Data::kNormal && log2_bytes < 26)) continue;
      Measure<T>(data, log2_bytes, device, report);
    }
  }
}

}  // namespace
}  // namespace warpfold::bench

int main(int argc, char** argv) {
  using namespace warpfold;
  using namespace warpfold::bench;
  Report report;
  int max_log2 = 28;
  CLI::App app{"Measures the exact sums of floats against CUB's."};
  app.add_option("--max-log2", max_log2, "the largest tensor's bytes, as a power of two")
      ->capture_default_str()
      ->check(CLI::Range(12, 34));
  report.AddFlags(app);
  CLI11_PARSE(app, argc, argv);
  const cudaDeviceProp gpu = RequireGpu();
  const warpfold::cuda::DeviceShape device = ShapeOfGpu();
  std::printf("%s\n", gpu.name);
  MeasureAll<float>(max_log2, device, report);
  MeasureAll<double>(max_log2, device, report);
  MeasureAll<Half>(max_log2, device, report);
  MeasureAll<BFloat16>(max_log2, device, report);
  MeasureAll<F8E4M3>(max_log2, device, report);
  MeasureAll<F8E5M2>(max_log2, device, report);
  report.Write(gpu, argc, argv);
  return 0;
}
