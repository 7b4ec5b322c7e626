// Measures reductions by the library (kernels/cuda/reduction.h), which recompute on the device what
// bounded sums leave undecided, against the fold alone, which only counts that, and against CUB's
// sum, in one run. N(0, 1), all of a tensor and along the last axis.
//
//   warpfold_bench_library [--max-log2 N] [--json FILE] [--commit SHA] [--date DATE]
#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "bench/kernels/contestants.cuh"
#include "bench/kernels/hard_elements.cuh"
#include "bench/kernels/report.h"
#include "bench/kernels/timing.h"
#include "kernels/cuda/reduction.h"

namespace warpfold::bench {
namespace {

struct OpSet {
  const char* name;
  std::vector<Op> ops;
};
const OpSet kOpSets[] = {{"sum", {Op::kSum}},
                         {"mean", {Op::kMean}},
                         {"describe",
                          {Op::kSum, Op::kMean, Op::kVar, Op::kMin, Op::kMax, Op::kNanCount,
                           Op::kInfCount, Op::kL1Norm, Op::kL2Norm}}};

template <typename T>
class Library {
 public:
  Library(const std::vector<Op>& ops, std::int64_t rows, std::int64_t columns,
          const cuda::DeviceShape& device)
      : reduction_(*cuda::Reduction::Make(
            {.dtype = kDTypeOf<T>, .shape = {rows, columns}, .ops = ops, .axes = {1}}, device)),
        results_(ops.size() * static_cast<std::size_t>(rows) * 8),
        workspace_(reduction_.workspace_bytes()) {
    for (std::size_t i = 0; i < ops.size(); ++i) {
      arrays_.push_back(static_cast<char*>(results_.data) + i * static_cast<std::size_t>(rows) * 8);
    }
    Check(reduction_.Prepare(workspace_.data, nullptr));
    Check(cudaDeviceSynchronize());
  }
  void Enqueue(const T* d_in, cudaStream_t stream) const {
    Check(reduction_.Enqueue(d_in, arrays_, nullptr, workspace_.data, stream));
  }
  std::size_t workspace_bytes() const { return reduction_.workspace_bytes(); }

 private:
  cuda::Reduction reduction_;
  DeviceBuffer results_;
  DeviceBuffer workspace_;
  std::vector<void*> arrays_;
};

// Of all rows, or of the one that there is.
template <typename T>
void Measure(const OpSet& set, int log2_bytes, std::int64_t columns,
             const cuda::DeviceShape& device, Report& report) {
  const std::int64_t count = (std::int64_t{1} << log2_bytes) / static_cast<std::int64_t>(sizeof(T));
  if (columns == 0) columns = count;
  const std::int64_t rows = count / columns;
  const std::size_t bytes = std::size_t{1} << log2_bytes;
  const Rotation rotation(bytes);
  const DeviceBuffer buffer(bytes * static_cast<std::size_t>(rotation.inputs));
  T* const d_elements = static_cast<T*>(buffer.data);
  Fill(d_elements, count * rotation.inputs, Data::kNormal);
  cudaStream_t stream;
  Check(cudaStreamCreate(&stream));
  const Library<T> library(set.ops, rows, columns, device);
  const Warpfold<T> fold(set.ops, {rows, columns, 1}, device);
  const Cub<T> cub(Op::kSum, count);
  library.Enqueue(d_elements, stream);
  fold.Enqueue(d_elements, stream);
  cub.Enqueue(d_elements, stream);
  Check(cudaStreamSynchronize(stream));
  const std::vector<double> seconds =
      MedianSecondsOf(d_elements, count, rotation, stream, library, fold, cub);
  Check(cudaStreamDestroy(stream));
  const char* dtype = Name(kDTypeOf<T>);
  std::printf("%-4s %-8s %11zu B, rows of %11lld  library %9.2f us  fold %9.2f us x%.3f", dtype,
              set.name, bytes, static_cast<long long>(columns), seconds[0] * 1e6, seconds[1] * 1e6,
              seconds[1] / seconds[0]);
  nlohmann::json row = {{"dtype", dtype},
                        {"ops", set.name},
                        {"bytes", bytes},
                        {"rows", rows},
                        {"columns", columns},
                        {"workspace_bytes", library.workspace_bytes()},
                        {"library_us", seconds[0] * 1e6},
                        {"fold_us", seconds[1] * 1e6}};
  if (rows == 1) {
    std::printf("  cub's sum %9.2f us x%.3f", seconds[2] * 1e6, seconds[2] / seconds[0]);
    row.update({{"cub_sum_us", seconds[2] * 1e6}, {"ratio", seconds[2] / seconds[0]}});
  }
  std::printf("\n");
  std::fflush(stdout);
  report.results.push_back(row);
}

}  // namespace
}  // namespace warpfold::bench

int main(int argc, char** argv) {
  using namespace warpfold;
  using namespace warpfold::bench;
  Report report;
  int max_log2 = 28;
  CLI::App app{"Measures reductions by the library on one GPU."};
  app.add_option("--max-log2", max_log2, "the largest tensor's bytes, as a power of two")
      ->capture_default_str()
      ->check(CLI::Range(12, 34));
  report.AddFlags(app);
  CLI11_PARSE(app, argc, argv);
  const cudaDeviceProp gpu = RequireGpu();
  const warpfold::cuda::DeviceShape device = ShapeOfGpu();
  std::printf("%s\n", gpu.name);
  for (const OpSet& set : kOpSets) {
    for (const std::int64_t columns : {0, 1024, 16}) {
      for (const int log2_bytes : {12, 16, 20, 24, 28, 30}) {
        if (log2_bytes > max_log2 || (columns != 0 && log2_bytes < 20)) continue;
        Measure<float>(set, log2_bytes, columns, device, report);
        if (columns == 0) Measure<double>(set, log2_bytes, columns, device, report);
      }
    }
  }
  report.Write(gpu, argc, argv);
  return 0;
}
