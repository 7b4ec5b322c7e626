// Measures the kernels against CUB in one run: first checks the answer, then times both,
// interleaved, on inputs rotated past the L2, and writes JSON.
//
//   warpfold_bench_kernels [--max-log2 N] [--dtypes f32,i64] [--ops sum,describe] [--json FILE]
//                          [--commit SHA] [--date DATE]
//
// Times are medians over repetitions of a CUDA graph that holds several launches, so that a
// launch's cost on the host is not counted; each size gets enough launches to make a repetition
// last about 2 ms. Launches follow each other, so that ours may overlap (dependent_launch.cuh).
#include <CLI/CLI.hpp>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "bench/kernels/measure.h"
#include "bench/kernels/report.h"
#include "bench/kernels/timing.h"
#include "kernels/types.h"

namespace warpfold::bench {

std::vector<Entry> Entries() {
  return {{"sum", {Op::kSum}},
          {"min", {Op::kMin}},
          {"max", {Op::kMax}},
          {"max_abs", {Op::kMaxAbs}, false},
          {"sum+min+max+mean", {Op::kSum, Op::kMin, Op::kMax, Op::kMean}},
          {"argmin", {Op::kArgMin}},
          {"argmax", {Op::kArgMax}},
          {"describe",
           {Op::kSum, Op::kMean, Op::kVar, Op::kMin, Op::kMax, Op::kNanCount, Op::kInfCount,
            Op::kL1Norm, Op::kL2Norm},
           false},
          {"all", {kAllOps.begin(), kAllOps.begin() + kRequestOpsMax}, false}};
}

namespace {

std::vector<std::string> EntryNames() {
  std::vector<std::string> names;
  for (const Entry& entry : Entries()) names.push_back(entry.name);
  return names;
}

// Of the dtypes that CUB has.
std::vector<std::string> DTypeNames() {
  std::vector<std::string> names;
  for (const DType dtype : kAllDTypes) {
    if (dtype != DType::kBool) names.push_back(Name(dtype));
  }
  return names;
}

}  // namespace

void KernelReport::Add(const Entry& entry, DType dtype, std::int64_t elements, std::size_t bytes,
                       const Seconds& seconds) {
  const double us = seconds.ours * 1e6, gbps = bytes / seconds.ours * 1e-9;
  const double times_own_sum = seconds.ours / seconds.our_sum;
  nlohmann::json row = {{"dtype", Name(dtype)},
                        {"ops", entry.name},
                        {"elements", elements},
                        {"bytes", bytes},
                        {"warpfold_us", us},
                        {"warpfold_gbps", gbps},
                        {"times_own_sum", times_own_sum}};
  std::printf("%-4s %-17s 2^%-2d  %9.2f us %7.0f GB/s  %6.3f x own sum", Name(dtype), entry.name,
              std::countr_zero(static_cast<std::uint64_t>(elements)), us, gbps, times_own_sum);
  if (entry.has_cub) {
    const double cub_us = seconds.cub * 1e6, cub_gbps = bytes / seconds.cub * 1e-9;
    const double ratio = seconds.cub / seconds.ours;
    row.update({{"cub_us", cub_us}, {"cub_gbps", cub_gbps}, {"ratio", ratio}});
    std::printf("   cub %9.2f us %7.0f GB/s  x%.3f", cub_us, cub_gbps, ratio);
  }
  std::printf("\n");
  std::fflush(stdout);
  results.push_back(row);
}

}  // namespace warpfold::bench

int main(int argc, char** argv) {
  CLI::App app{"Times warpfold's kernels against CUB on one GPU."};
  int max_log2 = 28;
  warpfold::bench::KernelReport report;
  app.add_option("--max-log2", max_log2, "largest size, as the logarithm of the f32 element count")
      ->check(CLI::Range(10, 32));
  app.add_option("--dtypes", report.dtypes, "only these, such as f32,i64")
      ->delimiter(',')
      ->check(CLI::IsMember(warpfold::bench::DTypeNames()));
  app.add_option("--ops", report.ops, "only these, such as sum,describe")
      ->delimiter(',')
      ->check(CLI::IsMember(warpfold::bench::EntryNames()));
  report.AddFlags(app);
  CLI11_PARSE(app, argc, argv);

  const cudaDeviceProp gpu = warpfold::bench::RequireGpu();
  const warpfold::cuda::DeviceShape device = warpfold::bench::ShapeOfGpu();
  for (const int log2 : {10, 14, 17, 20, 22, 24, 26, 28, 30, 32}) {
    if (log2 > max_log2) break;
    warpfold::bench::MeasureFloats(log2 + 2, device, report);
    warpfold::bench::MeasureSigned(log2 + 2, device, report);
    warpfold::bench::MeasureUnsigned(log2 + 2, device, report);
  }
  report.Write(gpu, argc, argv);
  return 0;
}
