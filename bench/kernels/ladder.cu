// The steps of examples/reduce/reduce.cu, reduce0 ... reduce10, in every block size: first checks
// each kernel's sums, then times it, beside warpfold's own kernel and CUB's.
//
//   warpfold_bench_ladder [--log2 N...] [--json FILE] [--commit SHA] [--date DATE]
//
// A time is that of a whole reduction to one value, all passes of it, measured as timing.h says.
// The default sizes are 2^22, the published one, and 2^28, where launches no longer count. The
// table shows each step with its best block size, the JSON all of them; docs/reduce6.md quotes the
// JSON beside the published figures.
#include <cuda_runtime.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/kernels/contestants.cuh"
#include "bench/kernels/report.h"
#include "bench/kernels/timing.h"
#define REDUCE_WITHOUT_MAIN
#include "examples/reduce/reduce.cu"

namespace warpfold::bench {
namespace {

struct Gpu {
  std::string name;
  cuda::DeviceShape shape;
  double peak_gbps;  // 0 when the driver does not say
};

double PeakGbps() {
  int clock_khz = 0, bus_bits = 0;
  Check(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrMemoryClockRate, 0));
  Check(cudaDeviceGetAttribute(&bus_bits, cudaDevAttrGlobalMemoryBusWidth, 0));
  return 2.0 * clock_khz * 1e3 * bus_bits / 8 * 1e-9;  // double data rate
}

// A step of the example in one of its block sizes, with memory of its own.
class Example {
 public:
  Example(const reduction::Step& step, int size, std::size_t n, const Gpu& gpu)
      : reduction_(step, size, n, ResidentBlocks(step, size, gpu)),
        scratch_(reduction_.scratch_ints() * sizeof(int)) {
    Check(reduction_.Prepare(Scratch()));
  }

  void Enqueue(const int* d_in, cudaStream_t stream) const {
    Check(reduction_.Enqueue(d_in, Scratch(), stream));
  }
  // Of a launch that has ended.
  int Answer() const {
    int answer = 0;
    Check(cudaMemcpy(&answer, reduction_.Answer(Scratch()), sizeof(int), cudaMemcpyDeviceToHost));
    return answer;
  }

 private:
  static unsigned ResidentBlocks(const reduction::Step& step, int size, const Gpu& gpu) {
    const unsigned threads = reduction::kBlockSizes[size];
    int blocks_per_sm = 0;
    Check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_per_sm, step.kernels[size],
                                                        static_cast<int>(threads),
                                                        threads * step.shared * sizeof(int)));
    return static_cast<unsigned>(blocks_per_sm * gpu.shape.sm_count);
  }
  int* Scratch() const { return static_cast<int*>(scratch_.data); }

  reduction::Reduction reduction_;
  DeviceBuffer scratch_;
};

// A row of the table in one of its block sizes, ready to sum n ints.
struct Contestant {
  std::string name, idea;
  unsigned threads;  // of a block; 0: its own choice, and not a step of the example
  std::function<void(const int* d_in, cudaStream_t stream)> enqueue;
  std::function<double()> answer;
};

template <typename Sum>
Contestant Enter(std::string name, std::string idea, unsigned threads, std::shared_ptr<Sum> sum) {
  return {std::move(name), std::move(idea), threads,
          [sum](const int* d_in, cudaStream_t stream) { sum->Enqueue(d_in, stream); },
          [sum] { return static_cast<double>(sum->Answer()); }};
}

// In the order of the table: a step's block sizes are neighbours.
std::vector<Contestant> Contestants(std::size_t n, const Gpu& gpu) {
  std::vector<Contestant> contestants;
  for (const reduction::Step& step : reduction::kSteps) {
    for (int size = 0; size < static_cast<int>(std::size(reduction::kBlockSizes)); ++size) {
      contestants.push_back(Enter(step.name, step.idea, reduction::kBlockSizes[size],
                                  std::make_shared<Example>(step, size, n, gpu)));
    }
  }
  const auto count = static_cast<std::int64_t>(n);
  contestants.push_back(Enter(
      "warpfold", "sum in int64", 0,
      std::make_shared<Warpfold<int>>(std::vector<Op>{Op::kSum}, Extent{1, count, 1}, gpu.shape)));
  contestants.push_back(
      Enter("CUB", "DeviceReduce::Sum", 0, std::make_shared<Cub<int>>(Op::kSum, count)));
  return contestants;
}

// Ends the process when a contestant's sum of the first n ints is wrong.
void Verify(const std::vector<Contestant>& contestants, const std::vector<int>& ints, std::size_t n,
            const int* d_in, cudaStream_t stream) {
  std::int64_t expected = 0;
  for (std::size_t i = 0; i < n; ++i) expected += ints[i];
  for (const Contestant& contestant : contestants) contestant.enqueue(d_in, stream);
  Check(cudaStreamSynchronize(stream));
  for (const Contestant& contestant : contestants) {
    const double answer = contestant.answer();
    if (answer == static_cast<double>(expected)) continue;
    std::fprintf(stderr, "bench: wrong answer: %s, blocks of %u, n = %zu: %.17g, not %lld\n",
                 contestant.name.c_str(), contestant.threads, n, answer,
                 static_cast<long long>(expected));
    std::exit(1);
  }
}

// Sizes around every edge of a block, a pass and the grid.
std::vector<std::size_t> SizesToVerify() {
  std::vector<std::size_t> sizes{1, 1'000'003};
  for (std::size_t power = 2; power <= std::size_t{1} << 21; power *= 2) {
    sizes.insert(sizes.end(), {power - 1, power, power + 1});
  }
  return sizes;
}

std::string Percent(double gbps, double peak_gbps) {
  char text[16];
  std::snprintf(text, sizeof(text), "%.1f", 100 * gbps / peak_gbps);
  return peak_gbps > 0 ? text : "-";
}
std::string Gain(double gbps, double previous_gbps) {
  char text[16];
  std::snprintf(text, sizeof(text), "x%.2f", gbps / previous_gbps);
  return previous_gbps > 0 ? text : "-";
}

// One row. `previous_gbps`: of the row that the gain is over; 0 for none.
void PrintRow(const Contestant& contestant, double us, double gbps, double previous_gbps,
              const Gpu& gpu) {
  const std::string threads = contestant.threads > 0 ? std::to_string(contestant.threads) : "-";
  std::printf("%-8s %-31s %5s %9.2f %7.0f %6s %6s\n", contestant.name.c_str(),
              contestant.idea.c_str(), threads.c_str(), us, gbps,
              Percent(gbps, gpu.peak_gbps).c_str(), Gain(gbps, previous_gbps).c_str());
}

// Times every contestant over 2^log2 ints at d_in and prints the table.
void Time(const std::vector<Contestant>& contestants, int log2, const int* d_in, const Gpu& gpu,
          cudaStream_t stream, Report& report) {
  const std::size_t n = std::size_t{1} << log2, bytes = n * sizeof(int);
  std::vector<Launch> launches;
  for (const Contestant& contestant : contestants) {
    launches.push_back([&contestant, d_in, n](int input, cudaStream_t s) {
      contestant.enqueue(d_in + static_cast<std::size_t>(input) * n, s);
    });
  }
  const std::vector<double> seconds = MedianSeconds(launches, Rotation(bytes), stream);
  const auto gbps = [&](std::size_t i) { return static_cast<double>(bytes) / seconds[i] * 1e-9; };

  std::printf("\nsum of 2^%d ints%s, %s, peak %.0f GB/s\n", log2,
              log2 == 22 ? " (the published size)" : "", gpu.name.c_str(), gpu.peak_gbps);
  std::printf("%-8s %-31s %5s %9s %7s %6s %6s\n", "step", "idea", "block", "us", "GB/s", "% peak",
              "gain");
  double previous_gbps = 0;
  for (std::size_t first = 0, end = 0; first < contestants.size(); first = end) {
    std::size_t best = first;
    for (end = first; end < contestants.size() && contestants[end].name == contestants[first].name;
         ++end) {
      if (seconds[end] < seconds[best]) best = end;
      report.results.push_back({{"dtype", "i32"},
                                {"elements", n},
                                {"bytes", bytes},
                                {"name", contestants[end].name},
                                {"idea", contestants[end].idea},
                                {"threads", contestants[end].threads},
                                {"us", seconds[end] * 1e6},
                                {"gbps", gbps(end)}});
    }
    PrintRow(contestants[best], seconds[best] * 1e6, gbps(best), previous_gbps, gpu);
    // Those that close the table are both measured against the last step.
    if (contestants[best].threads > 0) previous_gbps = gbps(best);
  }
  std::fflush(stdout);
}

void VerifyAndTime(const std::vector<int>& log2s, const Gpu& gpu, Report& report) {
  const std::vector<std::size_t> sizes = SizesToVerify();
  const std::size_t largest = *std::max_element(sizes.begin(), sizes.end());
  // More than any size to verify, so that what is read past n is an int and not the pool's end.
  std::size_t pool = 2 * largest;
  for (const int log2 : log2s) {
    const std::size_t n = std::size_t{1} << log2;
    pool = std::max(pool, n * static_cast<std::size_t>(Rotation(n * sizeof(int)).inputs));
  }
  const std::vector<int> ints = reduction::Ints(pool);
  const DeviceBuffer data(pool * sizeof(int));
  const int* d_in = static_cast<const int*>(data.data);
  Check(cudaMemcpy(data.data, ints.data(), pool * sizeof(int), cudaMemcpyHostToDevice));
  cudaStream_t stream;
  Check(cudaStreamCreate(&stream));

  for (const std::size_t n : sizes) Verify(Contestants(n, gpu), ints, n, d_in, stream);
  std::printf("every step and block size is right for %zu values of n from 1 to %zu\n",
              sizes.size(), largest);
  for (const int log2 : log2s) {
    const std::size_t n = std::size_t{1} << log2;
    const std::vector<Contestant> contestants = Contestants(n, gpu);
    Verify(contestants, ints, n, d_in, stream);
    Time(contestants, log2, d_in, gpu, stream, report);
  }
  Check(cudaStreamDestroy(stream));
}

}  // namespace
}  // namespace warpfold::bench

int main(int argc, char** argv) {
  CLI::App app{"Times the steps reduce0 ... reduce10 on one GPU, each checked first."};
  std::vector<int> log2s{22, 28};
  warpfold::bench::Report report;
  app.add_option("--log2", log2s, "the sizes, as logarithms of the element count")
      ->check(CLI::Range(10, 30));
  report.AddFlags(app);
  CLI11_PARSE(app, argc, argv);

  const cudaDeviceProp properties = warpfold::bench::RequireGpu();
  const warpfold::bench::Gpu gpu{properties.name, warpfold::bench::ShapeOfGpu(),
                                 warpfold::bench::PeakGbps()};
  warpfold::bench::VerifyAndTime(log2s, gpu, report);
  std::printf("\nGain: over the step before; of warpfold and CUB: over reduce10.\n");
  report.Write(properties, argc, argv, {{"peak_gbps", gpu.peak_gbps}});
  return 0;
}
