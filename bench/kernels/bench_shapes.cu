// Measures reductions of one axis of a matrix, over shapes from few long rows to many short ones:
// how far each is from the flat SUM of the same bytes, and rows against CUB's segmented sum, all in
// one run.
//
//   warpfold_bench_shapes [--log2-bytes N] [--json FILE] [--commit SHA] [--date DATE]
#include <cuda_runtime.h>

#include <CLI/CLI.hpp>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <type_traits>
#include <vector>

#include "bench/kernels/contestants.cuh"
#include "bench/kernels/fill.cuh"
#include "bench/kernels/report.h"
#include "bench/kernels/timing.h"
#include "kernels/dtypes/catalogue.h"

namespace {

using warpfold::Extent;
using warpfold::Op;
using warpfold::bench::Check;
using warpfold::bench::Launch;

struct Entry {
  const char* name;
  std::vector<Op> ops;
};

const Entry kSum{"sum", {Op::kSum}};
const Entry kEntries[] = {
    kSum,
    {"argmin", {Op::kArgMin}},
    {"describe",
     {Op::kSum, Op::kMean, Op::kVar, Op::kMin, Op::kMax, Op::kNanCount, Op::kInfCount, Op::kL1Norm,
      Op::kL2Norm}},
};

// The first, a middle and the last sum against a plain loop on the host.
template <typename T>
void CheckSums(const warpfold::bench::Warpfold<T>& ours, const Extent& extent, const T* d_data) {
  for (const std::int64_t output : {std::int64_t{0}, extent.outputs() / 2, extent.outputs() - 1}) {
    const std::int64_t first =
        output / extent.inner * extent.count * extent.inner + output % extent.inner;
    std::vector<T> elements(static_cast<std::size_t>(extent.count));
    Check(cudaMemcpy2D(elements.data(), sizeof(T), d_data + first, extent.inner * sizeof(T),
                       sizeof(T), elements.size(), cudaMemcpyDeviceToHost));
    double sum = 0;
    for (const T x : elements) sum += static_cast<double>(warpfold::Widen(x));
    const double mine = ours.Answer(output);
    bool is_right;
    if constexpr (std::is_integral_v<T>) {
      is_right = mine == static_cast<double>(static_cast<T>(std::llround(sum)));
    } else {
      // Of 16 bits an infinity answers a sum past them.
      is_right = std::fabs(mine - sum) <= 1e-3 * (1 + std::fabs(sum)) ||
                 (sizeof(T) == 2 && std::fabs(sum) > 65504);
    }
    if (!is_right) {
      std::fprintf(stderr, "bench: wrong sum %lld of [%lld, %lld, %lld]: %.17g, not %.17g\n",
                   static_cast<long long>(output), static_cast<long long>(extent.outer),
                   static_cast<long long>(extent.count), static_cast<long long>(extent.inner), mine,
                   sum);
      std::exit(1);
    }
  }
}

template <typename T>
void Measure(int log2_bytes, const warpfold::cuda::DeviceShape& device,
             warpfold::bench::Report& report) {
  const int log2_count = log2_bytes - std::countr_zero(sizeof(T));
  const std::int64_t count = std::int64_t{1} << log2_count;
  const double bytes = static_cast<double>(count) * sizeof(T);
  const warpfold::bench::Rotation rotation(static_cast<std::size_t>(bytes));
  const warpfold::bench::DeviceBuffer data(static_cast<std::size_t>(bytes) *
                                           static_cast<std::size_t>(rotation.inputs));
  T* const d_data = static_cast<T*>(data.data);
  warpfold::bench::Fill(d_data, count * rotation.inputs);
  cudaStream_t stream;
  Check(cudaStreamCreate(&stream));
  const warpfold::bench::Warpfold<T> flat(kSum.ops, {1, count, 1}, device);
  flat.Enqueue(d_data, stream);
  const char* dtype = warpfold::Name(warpfold::kDTypeOf<T>);
  for (int log2_columns = 2; log2_columns <= log2_count; log2_columns += 3) {
    const std::int64_t columns = std::int64_t{1} << log2_columns;
    const std::int64_t rows = count / columns;
    for (const bool is_inner : {true, false}) {
      if (!is_inner && columns == count) continue;  // nothing to add up
      const Extent extent = is_inner ? Extent{rows, columns, 1} : Extent{1, rows, columns};
      std::optional<warpfold::bench::CubRowSums<T>> cub;
      if (is_inner && sizeof(T) >= 4) cub.emplace(rows, columns);
      for (const Entry& entry : kEntries) {
        const warpfold::bench::Warpfold<T> ours(entry.ops, extent, device);
        ours.Enqueue(d_data, stream);
        if (cub) cub->Enqueue(d_data, stream);
        Check(cudaStreamSynchronize(stream));
        const bool is_sum = entry.ops == kSum.ops;
        if (is_sum) CheckSums(ours, extent, d_data);
        std::vector<Launch> contestants = {
            [&](int i, cudaStream_t s) { ours.Enqueue(d_data + i * count, s); },
            [&](int i, cudaStream_t s) { flat.Enqueue(d_data + i * count, s); }};
        const bool has_cub = cub && is_sum;
        if (has_cub) {
          contestants.push_back(
              [&](int i, cudaStream_t s) { cub->Enqueue(d_data + i * count, s); });
        }
        const std::vector<double> seconds =
            warpfold::bench::MedianSeconds(contestants, rotation, stream);
        nlohmann::json row = {{"dtype", dtype},
                              {"ops", entry.name},
                              {"rows", rows},
                              {"columns", columns},
                              {"axis", is_inner ? 1 : 0},
                              {"warpfold_us", seconds[0] * 1e6},
                              {"warpfold_gbps", bytes / seconds[0] * 1e-9},
                              {"times_flat_sum", seconds[0] / seconds[1]}};
        std::printf("%-4s %-8s 2^%-2d x 2^%-2d axis %d  %9.2f us %6.0f GB/s %7.3f x flat sum",
                    dtype, entry.name, log2_count - log2_columns, log2_columns, is_inner ? 1 : 0,
                    seconds[0] * 1e6, bytes / seconds[0] * 1e-9, seconds[0] / seconds[1]);
        if (has_cub) {
          row.update({{"cub_us", seconds[2] * 1e6}, {"ratio", seconds[2] / seconds[0]}});
          std::printf("   cub %9.2f us  x%.3f", seconds[2] * 1e6, seconds[2] / seconds[0]);
        }
        std::printf("\n");
        std::fflush(stdout);
        report.results.push_back(row);
      }
    }
  }
  Check(cudaStreamDestroy(stream));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Times warpfold's reductions of one axis of a matrix on one GPU."};
  int log2_bytes = 28;
  warpfold::bench::Report report;
  app.add_option("--log2-bytes", log2_bytes, "size of the matrix, as the logarithm of its bytes")
      ->check(CLI::Range(20, 34))
      ->capture_default_str();
  report.AddFlags(app);
  CLI11_PARSE(app, argc, argv);

  const cudaDeviceProp gpu = warpfold::bench::RequireGpu();
  const warpfold::cuda::DeviceShape device = warpfold::bench::ShapeOfGpu();
  Measure<float>(log2_bytes, device, report);
  Measure<double>(log2_bytes, device, report);
  Measure<std::int32_t>(log2_bytes, device, report);
  Measure<warpfold::Half>(log2_bytes, device, report);
  Measure<std::int8_t>(log2_bytes, device, report);
  report.Write(gpu, argc, argv);
  return 0;
}
