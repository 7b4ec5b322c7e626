// Measures batches: many small tensors, each at an address of its own, in one launch; against one
// tensor of their total size, against as many launches of one each, and against CUB, which has to
// launch for each too. All in one run.
//
//   warpfold_bench_batch [--tensors N] [--json FILE] [--commit SHA] [--date DATE]
#include <cuda_runtime.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "bench/kernels/contestants.cuh"
#include "bench/kernels/fill.cuh"
#include "bench/kernels/report.h"
#include "bench/kernels/timing.h"
#include "kernels/dtypes/catalogue.h"
#include "kernels/ops/catalogue.h"

namespace {

using warpfold::Op;
using warpfold::bench::Check;
using warpfold::bench::DeviceBuffer;
using warpfold::bench::Launch;
using warpfold::cuda::BatchItem;

// `tensors` tensors of `count` elements each, in a random order of places, for each input of the
// rotation.
template <typename T>
class Batch {
 public:
  Batch(std::vector<Op> ops, const T* d_data, std::int64_t tensors, std::int64_t count,
        std::int64_t inputs)
      : job_{warpfold::kDTypeOf<T>,
             FusedOpSetFor(warpfold::kDTypeOf<T>, ops, warpfold::NanPolicy::kPropagate),
             {}},
        tensors_(tensors),
        results_(static_cast<std::size_t>(tensors) * kResultBytes),
        table_(static_cast<std::size_t>(tensors * inputs) * sizeof(BatchItem)) {
    std::vector<std::int64_t> places(static_cast<std::size_t>(tensors));
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<std::int64_t>(i);
    std::shuffle(places.begin(), places.end(), std::mt19937_64(2026));
    for (std::int64_t input = 0; input < inputs; ++input) {
      std::vector<BatchItem> items(places.size());
      for (std::size_t i = 0; i < items.size(); ++i) {
        items[i].d_data = d_data + (input * tensors + places[i]) * count;
        items[i].d_out = static_cast<char*>(results_.data) + kResultBytes * i;
        items[i].count = static_cast<std::int32_t>(count);
        items[i].op_count = static_cast<std::int32_t>(ops.size());
        std::copy(ops.begin(), ops.end(), items[i].ops);
      }
      if (input == 0) first_place_ = places[0];
      launch_ = PlanBatch(job_.dtype, items);
      Check(cudaMemcpy(Table(input), items.data(), items.size() * sizeof(BatchItem),
                       cudaMemcpyHostToDevice));
    }
  }

  void Enqueue(std::int64_t input, cudaStream_t stream) const {
    Check(FoldBatch(job_, Table(input), launch_, stream));
  }
  // The first result of the table's first tensor, and where that lies. REQUIRES: PlanBatch left the
  // table as it was, as it does where all tensors are of one size.
  double Answer() const {
    return warpfold::VisitDType(ResultDType(Op::kSum, job_.dtype), [&](auto tag) {
      typename decltype(tag)::type result{};
      Check(cudaMemcpy(&result, results_.data, sizeof(result), cudaMemcpyDeviceToHost));
      return static_cast<double>(warpfold::Widen(result));
    });
  }
  std::int64_t first_place() const { return first_place_; }

 private:
  static constexpr std::size_t kResultBytes = 256;
  BatchItem* Table(std::int64_t input) const {
    return static_cast<BatchItem*>(table_.data) + input * tensors_;
  }

  warpfold::cuda::Job job_;
  std::int64_t tensors_;
  std::int64_t first_place_ = 0;
  warpfold::cuda::BatchLaunch launch_;
  DeviceBuffer results_;
  DeviceBuffer table_;
};

template <typename T>
void CheckAnswer(const Batch<T>& batch, const T* d_data, std::int64_t count) {
  std::vector<T> elements(static_cast<std::size_t>(count));
  Check(cudaMemcpy(elements.data(), d_data + batch.first_place() * count,
                   elements.size() * sizeof(T), cudaMemcpyDeviceToHost));
  double sum = 0;
  for (const T x : elements) sum += static_cast<double>(warpfold::Widen(x));
  if (std::fabs(batch.Answer() - sum) <= 1e-3 * (1 + std::fabs(sum))) return;
  std::fprintf(stderr, "bench: wrong sum of a batch's tensor: %.17g, not %.17g\n", batch.Answer(),
               sum);
  std::exit(1);
}

struct Entry {
  const char* name;
  std::vector<Op> ops;
};
const Entry kEntries[] = {
    {"sum", {Op::kSum}},
    {"sum_min_max_mean", {Op::kSum, Op::kMin, Op::kMax, Op::kMean}},
    {"describe",
     {Op::kSum, Op::kMean, Op::kVar, Op::kMin, Op::kMax, Op::kNanCount, Op::kInfCount, Op::kL1Norm,
      Op::kL2Norm}},
};

// Launches of one tensor each: a graph of all of them would measure graphs, so a few stand for all.
constexpr int kSingles = 64;

template <typename T>
void Measure(std::int64_t tensors, std::int64_t count, const warpfold::cuda::DeviceShape& device,
             warpfold::bench::Report& report) {
  const std::int64_t total = tensors * count;
  const warpfold::bench::Rotation rotation(static_cast<std::size_t>(total) * sizeof(T));
  const DeviceBuffer data(static_cast<std::size_t>(total * rotation.inputs) * sizeof(T));
  const T* const d_data = static_cast<T*>(data.data);
  warpfold::bench::Fill(static_cast<T*>(data.data), total * rotation.inputs);
  cudaStream_t stream;
  Check(cudaStreamCreate(&stream));
  for (const Entry& entry : kEntries) {
    const Batch<T> batch(entry.ops, d_data, tensors, count, rotation.inputs);
    const warpfold::bench::Warpfold<T> whole(entry.ops, {1, total, 1}, device);
    const warpfold::bench::Warpfold<T> one(entry.ops, {1, count, 1}, device);
    const warpfold::bench::Cub<T> cub(Op::kSum, count);
    const auto singles = [&](const auto& contestant) -> Launch {
      return [&](int i, cudaStream_t s) {
        for (int k = 0; k < kSingles; ++k) {
          contestant.Enqueue(d_data + (std::int64_t{i} * tensors + k) * count, s);
        }
      };
    };
    const std::vector<Launch> contestants = {
        [&](int i, cudaStream_t s) { batch.Enqueue(i, s); },
        [&](int i, cudaStream_t s) { whole.Enqueue(d_data + std::int64_t{i} * total, s); },
        singles(one), singles(cub)};
    for (const Launch& launch : contestants) launch(0, stream);
    Check(cudaStreamSynchronize(stream));
    CheckAnswer(batch, d_data, count);
    const std::vector<double> seconds =
        warpfold::bench::MedianSeconds(contestants, rotation, stream);
    const double scale = static_cast<double>(tensors) / kSingles;
    const double single_s = seconds[2] * scale, cub_s = seconds[3] * scale;
    const char* dtype = warpfold::Name(warpfold::kDTypeOf<T>);
    report.results.push_back({{"dtype", dtype},
                              {"ops", entry.name},
                              {"tensors", tensors},
                              {"elements", count},
                              {"batch_us", seconds[0] * 1e6},
                              {"whole_us", seconds[1] * 1e6},
                              {"singles_us", single_s * 1e6},
                              {"cub_singles_us", cub_s * 1e6},
                              {"times_whole", seconds[0] / seconds[1]},
                              {"singles_over_batch", single_s / seconds[0]}});
    std::printf(
        "%-4s %-16s %6lld x %-6lld  %9.2f us  %6.3f x whole   singles / batch %8.1f, CUB's "
        "%8.1f\n",
        dtype, entry.name, static_cast<long long>(tensors), static_cast<long long>(count),
        seconds[0] * 1e6, seconds[0] / seconds[1], single_s / seconds[0], cub_s / seconds[0]);
    std::fflush(stdout);
  }
  Check(cudaStreamDestroy(stream));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Times warpfold's batches of small tensors on one GPU."};
  std::int64_t tensors = 10000;
  warpfold::bench::Report report;
  app.add_option("--tensors", tensors, "of a batch")
      ->check(CLI::Range(100, 1000000))
      ->capture_default_str();
  report.AddFlags(app);
  CLI11_PARSE(app, argc, argv);

  const cudaDeviceProp gpu = warpfold::bench::RequireGpu();
  const warpfold::cuda::DeviceShape device = warpfold::bench::ShapeOfGpu();
  for (const std::int64_t count : {16, 256, 1001, 1024, 10000}) {
    Measure<float>(tensors, count, device, report);
  }
  Measure<double>(tensors, 1024, device, report);
  Measure<std::int32_t>(tensors, 1024, device, report);
  Measure<warpfold::Half>(tensors, 1024, device, report);
  report.Write(gpu, argc, argv);
  return 0;
}
