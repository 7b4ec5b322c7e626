// Measures the exact sums of many outputs (kernels/cuda/output_sums.h): what a piece of 4 MiB takes
// that a client has sent, by the shapes that pieces have, beside what a bus of 50 GB/s brings
// meanwhile.
//
//   warpfold_bench_output_sums [--json FILE] [--commit SHA] [--date DATE]
//
// Timed as bench_kernels.cu times.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "bench/kernels/contestants.cuh"
#include "bench/kernels/hard_elements.cuh"
#include "bench/kernels/report.h"
#include "bench/kernels/timing.h"
#include "kernels/cuda/output_sums.h"
#include "kernels/dtypes/catalogue.h"
#include "kernels/types.h"

namespace warpfold::bench {
namespace {

constexpr std::int64_t kPieceBytes = 4 << 20;

// Adds pieces to sums that are kept, or of rows that end in a piece also finishes them.
template <typename T>
class OutputSums {
 public:
  OutputSums(const Extent& extent, exact::Sums sums, bool ends_rows,
             const cuda::DeviceShape& device)
      : extent_(extent),
        job_{.dtype = kDTypeOf<T>, .sums = sums, .device = device},
        ends_rows_(ends_rows),
        bytes_(static_cast<std::size_t>(extent.outputs()) * cuda::OutputSumsBytes(job_)),
        sums_(bytes_),
        results_(static_cast<std::size_t>(extent.outputs()) * sizeof(T)) {
    Check(cudaMemset(sums_.data, 0, bytes_));
    targets_.count = 1;
    targets_.ops[0] = sums == exact::Sums::kSum ? Op::kSum : Op::kVar;
    targets_.arrays[0] = results_.data;
    targets_.reduced_count = extent.count;
  }

  void Enqueue(const T* d_in, cudaStream_t stream) const {
    if (ends_rows_) Check(cudaMemsetAsync(sums_.data, 0, bytes_, stream));
    Check(cuda::AddRows(job_, {d_in, extent_}, {}, 0, sums_.data, stream));
    if (!ends_rows_) return;
    Check(cuda::FinishSums(job_, sums_.data, {.count = extent_.outputs()}, targets_, stream));
  }

 private:
  Extent extent_;
  cuda::SumsJob job_;
  bool ends_rows_;
  std::size_t bytes_;
  DeviceBuffer sums_;
  DeviceBuffer results_;
  ResultTargets targets_;
};

template <typename T>
void Measure(const NamedData& data, const cuda::DeviceShape& device, Report& report) {
  constexpr std::int64_t kCount = kPieceBytes / std::int64_t{sizeof(T)};
  const Rotation rotation(kPieceBytes);
  const DeviceBuffer buffer(static_cast<std::size_t>(kPieceBytes) *
                            static_cast<std::size_t>(rotation.inputs));
  T* const d_elements = static_cast<T*>(buffer.data);
  Fill(d_elements, kCount * rotation.inputs, data.data);
  cudaStream_t stream;
  Check(cudaStreamCreate(&stream));
  struct Shape {
    Extent extent;
    bool ends_rows;
  };
  for (const Shape& shape :
       {Shape{{1, kCount, 1}, false}, Shape{{kCount >> 12, 1 << 12, 1}, true},
        Shape{{kCount >> 4, 1 << 4, 1}, true}, Shape{{1, kCount >> 10, 1 << 10}, false},
        Shape{{1, 8, kCount >> 3}, false}, Shape{{1, 1, kCount}, false}}) {
    for (const exact::Sums sums : {exact::Sums::kSum, exact::Sums::kStatistics}) {
      const OutputSums<T> work(shape.extent, sums, shape.ends_rows, device);
      work.Enqueue(d_elements, stream);
      Check(cudaStreamSynchronize(stream));
      const double seconds = MedianSecondsOf(d_elements, kCount, rotation, stream, work)[0];
      const char* name = sums == exact::Sums::kSum ? "sum" : "statistics";
      const Extent& e = shape.extent;
      std::printf("%-4s %-10s %-15s [%lld, %lld, %lld]%s  %8.2f us  %6.1f GB/s\n",
                  Name(kDTypeOf<T>), name, data.name, static_cast<long long>(e.outer),
                  static_cast<long long>(e.count), static_cast<long long>(e.inner),
                  shape.ends_rows ? " finished" : "", seconds * 1e6,
                  static_cast<double>(kPieceBytes) / seconds * 1e-9);
      std::fflush(stdout);
      report.results.push_back({{"dtype", Name(kDTypeOf<T>)},
                                {"sums", name},
                                {"data", data.name},
                                {"extent", {e.outer, e.count, e.inner}},
                                {"finished", shape.ends_rows},
                                {"bytes", kPieceBytes},
                                {"us", seconds * 1e6}});
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
  CLI::App app{"Measures the exact sums of pieces of 4 MiB."};
  report.AddFlags(app);
  CLI11_PARSE(app, argc, argv);
  const cudaDeviceProp gpu = RequireGpu();
  const warpfold::cuda::DeviceShape device = ShapeOfGpu();
  std::printf("%s\n", gpu.name);
  for (const NamedData& data : {kAllData[0], kAllData[2]}) {
    Measure<float>(data, device, report);
    Measure<double>(data, device, report);
  }
  report.Write(gpu, argc, argv);
  return 0;
}
