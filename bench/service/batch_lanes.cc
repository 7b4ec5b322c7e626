// How a GPU should take small tensors together: the numbers behind BatchLimits::in_place_bytes_max
// and SchedulerOptions::batch_lanes. No gRPC: what it measures is what those two decide.
//
// First one batch of 4 KiB tensors after the other, read by the kernel where they were staged, or
// brought to the device by a copy: the median time of one. Then threads that each submit one tensor
// after the other to a scheduler with 1, 2, 3 ... batch lanes: tensors a second, and the median
// time of one. Ends with exit code 1 where there is no GPU.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <semaphore>
#include <thread>
#include <vector>

#include "server/core/device_scheduler.h"
#include "server/device/backend.h"

namespace warpfold::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kTensorBytes = 4096;

const Plan& SumOfOneTensor() {
  static const Plan plan =
      *MakePlan({.dtype = DType::kF32, .shape = {kTensorBytes / 4}, .ops = {Op::kSum}, .axes = {}});
  return plan;
}

double MedianUs(std::vector<Clock::duration>& times) {
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return std::chrono::duration<double, std::micro>(times[times.size() / 2]).count();
}

LaneOptions OptionsFor(std::size_t in_place_bytes_max) {
  return {.slab_bytes = 64 << 10,
          .slabs_per_lane = 2,
          .scratch_bytes = 1 << 20,
          .batch = {.tensors = 256, .bytes = 2 << 20, .in_place_bytes_max = in_place_bytes_max}};
}

// Batches of `tensors` tensors, filled and finished: the median of `repeats`. Negative: one failed.
double BatchUs(BatchLane& lane, int tensors, int repeats) {
  std::vector<Clock::duration> times;
  for (int i = 0; i < repeats; ++i) {
    const Clock::time_point begin = Clock::now();
    for (int t = 0; t < tensors; ++t) {
      const auto bytes = lane.Add(SumOfOneTensor());
      if (!bytes.has_value()) return -1;
      std::memset(bytes->data(), 0, bytes->size());
    }
    lane.Launch();
    while (!lane.Poll()) {
    }
    for (const auto& outcome : lane.Collect()) {
      if (!outcome.ok()) return -1;
    }
    times.push_back(Clock::now() - begin);
  }
  return MedianUs(times);
}

nlohmann::json InPlaceOrCopied(int repeats) {
  nlohmann::json rows = nlohmann::json::array();
  for (const int tensors : {1, 2, 4, 8, 12, 16, 24, 32, 64, 128, 256}) {
    double us[2] = {};
    for (const bool copied : {false, true}) {
      absl::StatusOr<Devices> devices =
          OpenDevices(Backend::kCuda, OptionsFor(copied ? 0 : std::size_t{1} << 30));
      if (!devices.ok()) continue;
      const auto lane = devices->executors[0]->MakeBatchLane();
      if (lane.ok()) us[copied ? 1 : 0] = BatchUs(**lane, tensors, repeats);
    }
    std::cout << tensors << " of 4 KiB: in place " << us[0] << " us, copied " << us[1] << " us\n";
    rows.push_back({{"tensors", tensors}, {"in_place_us", us[0]}, {"copied_us", us[1]}});
  }
  return rows;
}

// One tensor at a time, as a call of the service brings it.
class OneTensor final : public Work, private PayloadSource {
 public:
  // False when it was refused or failed.
  bool Run(DeviceScheduler& scheduler) {
    if (!scheduler.Submit(this).ok()) return false;
    done_.acquire();
    return ok_;
  }

 private:
  const Plan& plan() const override { return SumOfOneTensor(); }
  PayloadSource& payload() override { return *this; }
  bool waits_for_client() const override { return false; }
  bool may_run_inline() const override { return true; }
  absl::Status Wanted() const override { return absl::OkStatus(); }
  void Done(WorkReport report) override {
    ok_ = report.outcome.ok();
    done_.release();
  }
  void Open() override {}
  absl::Status ReadInto(absl::Span<std::byte> out) override {
    std::memset(out.data(), 0, out.size());
    return absl::OkStatus();
  }
  absl::Status ExpectEnd() override { return absl::OkStatus(); }

  bool ok_ = false;
  std::binary_semaphore done_{0};
};

nlohmann::json LanesAndThreads(Executor& gpu, double seconds) {
  nlohmann::json rows = nlohmann::json::array();
  for (const int lanes : {1, 2, 3, 4}) {
    for (const int threads : {1, 4, 8, 16, 64}) {
      const auto scheduler =
          DeviceScheduler::Create(gpu, {.lanes = 2, .batch_lanes = lanes, .on_batch = {}});
      if (!scheduler.ok()) return rows;
      std::vector<std::vector<Clock::duration>> times(static_cast<std::size_t>(threads));
      const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                       std::chrono::duration<double>(seconds));
      {
        std::vector<std::jthread> clients;
        for (auto& own : times) {
          clients.emplace_back([&own, &scheduler, end] {
            OneTensor tensor;
            for (auto begin = Clock::now(); begin < end && tensor.Run(**scheduler);) {
              const auto now = Clock::now();
              own.push_back(now - begin);
              begin = now;
            }
          });
        }
      }
      std::vector<Clock::duration> all;
      for (const auto& own : times) all.insert(all.end(), own.begin(), own.end());
      if (all.empty()) continue;
      const double rps = static_cast<double>(all.size()) / seconds;
      const double p50_us = MedianUs(all);
      std::cout << lanes << " batch lanes, " << threads << " threads: " << rps << " tensors/s, p50 "
                << p50_us << " us\n";
      rows.push_back(
          {{"batch_lanes", lanes}, {"threads", threads}, {"rps", rps}, {"p50_us", p50_us}});
    }
  }
  return rows;
}

int Main(int argc, char** argv) {
  double seconds = 0.3;
  int repeats = 500;
  std::string output;
  CLI::App app("How a GPU should take small tensors together");
  app.add_option("--seconds", seconds, "Of each load by threads")->capture_default_str();
  app.add_option("--repeats", repeats, "Of each batch")->capture_default_str();
  app.add_option("--json", output, "Write the results here");
  CLI11_PARSE(app, argc, argv);
  absl::StatusOr<Devices> devices =
      OpenDevices(Backend::kCuda, OptionsFor(BatchLimits().in_place_bytes_max));
  if (!devices.ok()) {
    std::cerr << devices.status() << "\n";
    return 1;
  }
  Executor& gpu = *devices->executors[0];
  const nlohmann::json results = {{"gpu", gpu.info().model},
                                  {"batches", InPlaceOrCopied(repeats)},
                                  {"loads", LanesAndThreads(gpu, seconds)}};
  if (!output.empty()) std::ofstream(output) << results.dump(1) << "\n";
  return 0;
}

}  // namespace
}  // namespace warpfold::bench

int main(int argc, char** argv) { return warpfold::bench::Main(argc, argv); }
