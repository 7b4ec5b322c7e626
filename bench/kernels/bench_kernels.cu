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
#include <iterator>
#include <vector>

#include "bench/kernels/contestants.cuh"
#include "bench/kernels/fill.cuh"
#include "bench/kernels/report.h"
#include "bench/kernels/timing.h"

namespace {

using warpfold::Op;
using warpfold::bench::Check;
using warpfold::bench::DeviceBuffer;
using warpfold::bench::Report;
using warpfold::bench::Rotation;

// What one request asks for, and, where it is one op, the op that CUB is asked for.
struct Entry {
  const char* name;
  std::vector<Op> ops;
  bool has_cub = true;
};

template <typename T>
std::vector<Entry> Entries() {
  std::vector<Entry> entries = {{"sum", {Op::kSum}},
                                {"min", {Op::kMin}},
                                {"max", {Op::kMax}},
                                {"sum+min+max+mean", {Op::kSum, Op::kMin, Op::kMax, Op::kMean}}};
  if (sizeof(T) == 4) {
    entries.push_back({"argmin", {Op::kArgMin}});
    entries.push_back({"argmax", {Op::kArgMax}});
  }
  entries.push_back({"describe",
                     {Op::kSum, Op::kMean, Op::kVar, Op::kMin, Op::kMax, Op::kNanCount,
                      Op::kInfCount, Op::kL1Norm, Op::kL2Norm},
                     false});
  entries.push_back({"all", {std::begin(warpfold::kAllOps), std::end(warpfold::kAllOps)}, false});
  return entries;
}

// CUB sums f32 in f32 in another order: within that the answers agree, and a wrong kernel does not.
// It sums 16-bit floats in 16 bits, which overflow or stop growing; their sums cannot be compared.
template <typename T>
void CheckAnswer(const Entry& entry, double mine, double cubs, std::int64_t n) {
  const bool is_float_sum = entry.ops[0] == Op::kSum && warpfold::kIsFloat<T>;
  if (is_float_sum && sizeof(T) == 2) return;
  const double scale = 150.0 * std::sqrt(static_cast<double>(n)) + std::fabs(mine);
  if (!(std::fabs(mine - cubs) <= (is_float_sum ? 1e-3 * scale : 0))) {
    std::fprintf(stderr, "bench: wrong answer: %s of %s, n=%lld: ours %.17g, cub %.17g\n",
                 entry.name, warpfold::Name(warpfold::bench::kDType<T>), static_cast<long long>(n),
                 mine, cubs);
    std::exit(1);
  }
}

// Measures one dtype at one size, each entry against CUB where CUB has it and against our own sum.
template <typename T>
void Measure(int log2, const warpfold::cuda::DeviceShape& device, Report& report) {
  const std::int64_t n = std::int64_t{1} << log2;
  const std::size_t bytes = static_cast<std::size_t>(n) * sizeof(T);
  const Rotation rotation(bytes);
  DeviceBuffer data(bytes * static_cast<std::size_t>(rotation.inputs));
  const auto input = [&](int i) { return static_cast<T*>(data.data) + i * n; };
  warpfold::bench::Fill(static_cast<T*>(data.data), n * rotation.inputs);
  cudaStream_t stream;
  Check(cudaStreamCreate(&stream));
  const warpfold::bench::Warpfold<T> sum({Op::kSum}, {1, n, 1}, device);
  sum.Enqueue(input(0), stream);
  for (const Entry& entry : Entries<T>()) {
    const warpfold::bench::Warpfold<T> ours(entry.ops, {1, n, 1}, device);
    const warpfold::bench::Cub<T> cub(entry.has_cub ? entry.ops[0] : Op::kSum, n);
    ours.Enqueue(input(0), stream);
    cub.Enqueue(input(0), stream);
    Check(cudaStreamSynchronize(stream));
    if (entry.has_cub) CheckAnswer<T>(entry, ours.Answer(), cub.Answer(), n);

    const std::vector<double> seconds =
        warpfold::bench::MedianSeconds({[&](int i, cudaStream_t s) { ours.Enqueue(input(i), s); },
                                        [&](int i, cudaStream_t s) { sum.Enqueue(input(i), s); },
                                        [&](int i, cudaStream_t s) { cub.Enqueue(input(i), s); }},
                                       rotation, stream);
    const char* dtype = warpfold::Name(warpfold::bench::kDType<T>);
    nlohmann::json row = {{"dtype", dtype},
                          {"ops", entry.name},
                          {"elements", n},
                          {"bytes", bytes},
                          {"warpfold_us", seconds[0] * 1e6},
                          {"warpfold_gbps", bytes / seconds[0] * 1e-9},
                          {"times_own_sum", seconds[0] / seconds[1]}};
    std::printf("%-4s %-17s 2^%-2d  %9.2f us %7.0f GB/s  %6.3f x own sum", dtype, entry.name, log2,
                seconds[0] * 1e6, bytes / seconds[0] * 1e-9, seconds[0] / seconds[1]);
    if (entry.has_cub) {
      row.update({{"cub_us", seconds[2] * 1e6},
                  {"cub_gbps", bytes / seconds[2] * 1e-9},
                  {"ratio", seconds[2] / seconds[0]}});
      std::printf("   cub %9.2f us %7.0f GB/s  x%.3f", seconds[2] * 1e6, bytes / seconds[2] * 1e-9,
                  seconds[2] / seconds[0]);
    }
    std::printf("\n");
    std::fflush(stdout);
    report.results.push_back(row);
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
  const warpfold::cuda::DeviceShape device = warpfold::bench::ShapeOf(gpu);
  for (const int log2 : {10, 14, 17, 20, 22, 24, 26, 28, 30, 32}) {
    if (log2 > max_log2) break;
    Measure<float>(log2, device, report);
    Measure<std::int32_t>(log2, device, report);
    Measure<double>(log2 - 1, device, report);
    Measure<std::int64_t>(log2 - 1, device, report);
    Measure<warpfold::Half>(log2 + 1, device, report);
    Measure<std::int8_t>(log2 + 2, device, report);
  }
  report.Write(gpu, argc, argv);
  return 0;
}
