// What several devices must do with tensors that lie split over them: take the bytes in any ranges,
// and reduce them to the bits of one device. Shared by the CPU tests and the GPU tests.
#ifndef WARPFOLD_TESTS_DEVICE_SPLIT_CASES_H_
#define WARPFOLD_TESTS_DEVICE_SPLIT_CASES_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "server/core/scheduling/scheduler.h"
#include "server/core/tensors/tensor_table.h"
#include "tests/device/tensor_cases.h"
#include "tests/server/owned_task.h"

namespace warpfold::testing {

// A task on a resident tensor, as the front end's are: it holds the tensor until it is done.
class ResidentTask final : public OwnedTask, private PayloadSource {
 public:
  ResidentTask(TensorReadLease tensor, Plan of_tensor)
      : read_(std::move(tensor)), plan_(std::move(of_tensor)) {
    plan = &plan_;
    action = ReduceTensor{read_.shards().front().data};
    LieOn(read_.shards(), read_.devices());
  }
  // Writes `bytes`, which live until it is done.
  ResidentTask(TensorWriteLease range, absl::Span<const std::byte> bytes)
      : write_(std::move(range)), bytes_(bytes) {
    payload = this;
    waits_for_client = true;
    action = WriteTensor{write_.shards().front().data, write_.size_bytes()};
    LieOn(write_.shards(), *write_.shards().front().device);
  }

  // The payload breaks off after so many bytes.
  void FailAfter(std::size_t bytes) { fail_after_ = bytes; }
  void RefuseToQueue() { queues_ = absl::ResourceExhaustedError("too many"); }
  // How often it was asked whether it may queue.
  int queue_asks() const { return queue_asks_; }
  TaskReport& Await() {
    done_.WaitForNotification();
    return report_;
  }
  // The task is the caller's again.
  void Release() {
    read_.Release();
    write_.Release();
  }

  absl::Status MayQueue() override {
    ++queue_asks_;
    return queues_;
  }
  void OnDone(TaskReport report) override {
    report_ = std::move(report);
    if (report_.device != nullptr) device_names_ = report_.device->name;
    if (!read_ && report_.outcome.ok()) {
      if (const auto missing = write_.Commit(); !missing.ok()) report_.outcome = missing.status();
    }
    Release();
    done_.Notify();  // fails a check when it comes twice
  }
  // REQUIRES: it is done.
  const std::string& device_names() const { return device_names_; }

 private:
  void LieOn(absl::Span<const Shard> all, const DeviceInfo& devices) {
    device = all.front().device;
    if (all.size() == 1) return;
    shards = all;
    shard_devices = &devices;
  }

  absl::Status ReadInto(absl::Span<std::byte> out) override {
    if (at_ + out.size() > fail_after_) return absl::InvalidArgumentError("chunk: broke off");
    std::memcpy(out.data(), bytes_.data() + at_, out.size());
    at_ += out.size();
    return absl::OkStatus();
  }
  absl::Status ExpectEnd() override {
    return at_ == bytes_.size() ? absl::OkStatus() : absl::InternalError("asked for the end early");
  }

  TensorReadLease read_;
  TensorWriteLease write_;
  const Plan plan_;
  const absl::Span<const std::byte> bytes_;
  std::size_t at_ = 0;
  std::size_t fail_after_ = std::numeric_limits<std::size_t>::max();
  absl::Status queues_;
  int queue_asks_ = 0;
  TaskReport report_;
  std::string device_names_;
  absl::Notification done_;
};

// Devices with a scheduler and a table that lays every tensor out over all of them, where it can.
class SplitDevices {
 public:
  explicit SplitDevices(const std::vector<std::unique_ptr<Executor>>& executors,
                        SchedulerOptions options = {.workers = 2})
      : table(executors, {.split_bytes_min = 1}) {
    options.on_lost = [this](const DeviceInfo& device, const absl::Status&) {
      table.DropDevice(device);
    };
    scheduler = *Scheduler::Create(executors, options);
  }

  std::string Create(DType dtype, std::vector<std::int64_t> lengths) {
    std::int64_t bytes = static_cast<std::int64_t>(ElementBytes(dtype));
    for (const std::int64_t length : lengths) bytes *= length;
    const auto created = table.Create({}, {dtype, std::move(lengths), bytes}, {});
    EXPECT_TRUE(created.ok()) << created.status();
    return created->id;
  }
  absl::Status Write(const std::string& id, std::int64_t offset,
                     absl::Span<const std::byte> bytes) {
    auto range = table.Write(Everyone(), id, offset, static_cast<std::int64_t>(bytes.size()));
    if (!range.ok()) return range.status();
    ResidentTask task(*std::move(range), bytes);
    if (absl::Status queued = scheduler->Submit(&task); !queued.ok()) return queued;
    return task.Await().outcome.status();
  }
  // In three ranges of random sizes, the last one first.
  std::string Put(DType dtype, const std::vector<std::int64_t>& lengths,
                  absl::Span<const std::byte> bytes, std::mt19937_64& random) {
    std::string id = Create(dtype, lengths);
    std::size_t cuts[] = {0, random() % (bytes.size() + 1), random() % (bytes.size() + 1),
                          bytes.size()};
    std::sort(std::begin(cuts), std::end(cuts));
    for (int part = 2; part >= 0; --part) {
      if (cuts[part] == cuts[part + 1]) continue;
      const absl::Status written = Write(id, static_cast<std::int64_t>(cuts[part]),
                                         bytes.subspan(cuts[part], cuts[part + 1] - cuts[part]));
      EXPECT_TRUE(written.ok()) << written;
    }
    return id;
  }
  // Also of a tensor that has no bytes yet.
  std::size_t ShardCount(const std::string& id) {
    const std::vector<TensorReport> reports = table.List(Everyone());
    const auto found = std::find_if(reports.begin(), reports.end(),
                                    [&id](const TensorReport& report) { return report.id == id; });
    if (found == reports.end()) return 0;
    return 1 +
           static_cast<std::size_t>(std::count(found->device.begin(), found->device.end(), ','));
  }
  absl::StatusOr<Outcome> Reduce(const std::string& id, const Plan& plan) {
    auto tensor = table.Read(Everyone(), id, false);
    if (!tensor.ok()) return tensor.status();
    ResidentTask task(*std::move(tensor), plan);
    if (absl::Status queued = scheduler->Submit(&task); !queued.ok()) return queued;
    return std::move(task.Await().outcome);
  }

  TensorTable table;
  std::unique_ptr<Scheduler> scheduler;  // first to go: its tasks use the table
};

// Every dtype; shapes that are cut in elements, in rows and in planes, and every choice of axes.
// REQUIRES: 2 to 4 devices.
inline void SplitTensorsReduceToTheBitsOfOneDevice(
    const std::vector<std::unique_ptr<Executor>>& executors, int rounds) {
  SplitDevices devices(executors);
  const std::unique_ptr<Worker> worker = *executors[0]->MakeWorker();
  std::mt19937_64 random(51);
  const auto between = [&random](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  const auto expect_equal = [&](auto tag, DType dtype, const std::vector<std::int64_t>& shape) {
    using T = typename decltype(tag)::type;
    std::int64_t count = 1;
    for (const std::int64_t length : shape) count *= length;
    std::vector<T> elements = RandomElements<T>(static_cast<std::size_t>(count), random);
    if (random() % 2 == 0) StrewNan(elements, random);
    const auto bytes = absl::MakeSpan(reinterpret_cast<const std::byte*>(elements.data()),
                                      elements.size() * sizeof(T));
    const std::string id = devices.Put(dtype, shape, bytes, random);
    EXPECT_GT(devices.ShardCount(id), 1U);
    const auto whole = Upload(*executors[0], *worker, bytes, random);
    int compared = 0;
    for (unsigned axes = 0; axes < 1U << shape.size(); ++axes) {
      Case c = RandomCase(dtype, 2, random);
      c.spec.shape = shape;
      c.spec.axes.clear();
      for (std::size_t d = 0; d < shape.size(); ++d) {
        if ((axes >> d & 1) != 0) c.spec.axes.push_back(static_cast<std::int64_t>(d));
      }
      const Plan plan = *MakePlan(c.spec);
      const absl::StatusOr<Outcome> expected = worker->Reduce(plan, whole->data());
      const absl::StatusOr<Outcome> outcome = devices.Reduce(id, plan);
      ASSERT_EQ(outcome.status(), expected.status()) << c.ToString();
      if (expected.ok()) {
        ASSERT_EQ(outcome->results, expected->results) << c.ToString();
        ++compared;
      }
    }
    EXPECT_GT(compared, 0) << "every case was refused";
    EXPECT_TRUE(devices.table.Delete(Everyone(), id).ok());
  };
  for (const DType dtype : DTypesToTest()) {
    VisitDType(dtype, [&](auto tag) {
      const std::int64_t tile = 4096 / static_cast<std::int64_t>(ElementBytes(dtype));
      for (int round = 0; round < rounds && !::testing::Test::HasFatalFailure(); ++round) {
        expect_equal(tag, dtype, {between(16 * tile, 60 * tile)});
        expect_equal(tag, dtype, {between(60, 200), tile / 8});
        expect_equal(tag, dtype, {between(20, 60) * 8, 3, tile / 8});
        expect_equal(tag, dtype, {between(64, 100), 6, tile / 2});
      }
    });
  }
}

// Of sums that do not fit the first is named, with its place in the whole, whichever device comes
// to its own first.
inline void SplitSumsThatDoNotFitAreNamedAsOnOneDevice(
    const std::vector<std::unique_ptr<Executor>>& executors) {
  constexpr std::int64_t kRows = 96, kRowElements = 512;
  SplitDevices devices(executors);
  const std::unique_ptr<Worker> worker = *executors[0]->MakeWorker();
  std::mt19937_64 random(52);
  const Plan plan = *MakePlan(
      {.dtype = DType::kI64, .shape = {kRows, kRowElements}, .ops = {Op::kSum}, .axes = {1}});
  for (const std::vector<std::int64_t>& rows :
       {std::vector<std::int64_t>{10}, {50}, {90}, {50, 90}, {10, 50, 90}}) {
    std::vector<std::int64_t> elements(kRows * kRowElements, 1);
    for (const std::int64_t row : rows) {
      for (const std::int64_t i : {row, row + 1}) {
        elements[static_cast<std::size_t>(row * kRowElements + i)] =
            std::numeric_limits<std::int64_t>::max() - i;
      }
    }
    const auto bytes = absl::MakeSpan(reinterpret_cast<const std::byte*>(elements.data()),
                                      elements.size() * sizeof(elements[0]));
    const std::string id = devices.Put(DType::kI64, {kRows, kRowElements}, bytes, random);
    EXPECT_GT(devices.ShardCount(id), 1U);
    const auto whole = Upload(*executors[0], *worker, bytes, random);
    const absl::Status expected = worker->Reduce(plan, whole->data()).status();
    ASSERT_EQ(expected.code(), absl::StatusCode::kOutOfRange);
    for (int round = 0; round < 20; ++round) {
      ASSERT_EQ(devices.Reduce(id, plan).status(), expected);
    }
    EXPECT_TRUE(devices.table.Delete(Everyone(), id).ok());
  }
}

}  // namespace warpfold::testing

#endif  // WARPFOLD_TESTS_DEVICE_SPLIT_CASES_H_
