// A device that tests control: its workers add up int64 elements and wait where they are told to.
#ifndef WARPFOLD_TESTS_SERVER_FAKE_DEVICE_H_
#define WARPFOLD_TESTS_SERVER_FAKE_DEVICE_H_

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "kernels/field_error.h"
#include "server/device/executor.h"
#include "tests/server/fake_batches.h"

namespace warpfold {

// What a fake device saw.
struct FakeCounts {
  int begun = 0;
  int finished = 0;
  int abandoned = 0;
  int suspended = 0;
  int in_place = 0;  // buffers that were read where they lay
};

class FakeDevice final : public Executor {
 public:
  explicit FakeDevice(std::string name = "fake:0", std::size_t staging_buffer_bytes = 64)
      : info_{std::move(name), "fake", 0}, staging_buffer_bytes_(staging_buffer_bytes) {}

  const DeviceInfo& info() const override { return info_; }
  std::int64_t inline_bytes_max() const override { return inline_bytes_max_; }
  // For schedulers made from now on.
  void RunInlineUpTo(std::int64_t bytes) { inline_bytes_max_ = bytes; }
  absl::StatusOr<std::unique_ptr<Worker>> MakeWorker() override {
    return std::make_unique<FakeWorker>(*this);
  }

  absl::StatusOr<std::unique_ptr<TensorMemory>> AllocateTensor(std::size_t size_bytes) override {
    absl::MutexLock lock(&mutex_);
    if (!allocation_status_.ok()) return std::exchange(allocation_status_, absl::OkStatus());
    tensor_bytes_ += static_cast<std::int64_t>(size_bytes);
    return std::make_unique<FakeMemory>(*this, size_bytes);
  }
  // Where the device maps memory (MapsShared), in ordinary pages: it is not for what is truncated.
  absl::StatusOr<std::unique_ptr<TensorMemory>> MapShared(int descriptor, std::int64_t offset_bytes,
                                                          std::size_t size_bytes) override {
    absl::MutexLock lock(&mutex_);
    if (!map_status_.ok()) return std::exchange(map_status_, absl::OkStatus());
    if (!maps_shared_) return nullptr;
    mapped_bytes_ += static_cast<std::int64_t>(size_bytes);
    return std::make_unique<FakeMapping>(*this, descriptor, offset_bytes, size_bytes);
  }
  void MapsShared() {
    absl::MutexLock lock(&mutex_);
    maps_shared_ = true;
  }
  // Memory whose handle is its bytes.
  absl::StatusOr<std::unique_ptr<PeerMemory>> OpenPeer(absl::string_view handle,
                                                       std::int64_t size_bytes) override {
    if (handle.empty()) return InvalidField(Field::kHandle, "is none");
    if (size_bytes > std::ssize(handle)) return InvalidField(Field::kSizeBytes, "too many");
    absl::MutexLock lock(&mutex_);
    peer_bytes_ += std::ssize(handle);
    return std::make_unique<FakePeer>(*this, handle);
  }
  // From now on writing to it and closing it wait for `gate`.
  void HoldPeers(std::shared_ptr<const absl::Notification> gate) {
    absl::MutexLock lock(&mutex_);
    peer_gate_ = std::move(gate);
  }
  // Of what is open now.
  std::int64_t peer_bytes() const {
    absl::MutexLock lock(&mutex_);
    return peer_bytes_;
  }
  // The next MapShared answers `status`.
  void FailMap(absl::Status status) {
    absl::MutexLock lock(&mutex_);
    map_status_ = std::move(status);
  }
  // Of what is mapped now.
  std::int64_t mapped_bytes() const {
    absl::MutexLock lock(&mutex_);
    return mapped_bytes_;
  }

  // The next AllocateTensor answers `status`.
  void FailAllocation(absl::Status status) {
    absl::MutexLock lock(&mutex_);
    allocation_status_ = std::move(status);
  }
  // Of the tensors that are there now.
  std::int64_t tensor_bytes() const {
    absl::MutexLock lock(&mutex_);
    return tensor_bytes_;
  }

  // Its batches, for schedulers made from now on.
  FakeBatches& fake_batches() { return fake_batches_; }
  BatchLimits batch_limits() const override { return fake_batches_.limits(); }
  bool Batches(const Plan& plan) const override { return fake_batches_.Batches(plan); }
  absl::StatusOr<std::unique_ptr<BatchWorker>> MakeBatchWorker() override {
    return fake_batches_.MakeWorker();
  }

  // The next Begin answers `status`.
  void FailBegin(absl::Status status) {
    absl::MutexLock lock(&mutex_);
    begin_status_ = std::move(status);
  }
  FakeCounts counts() const {
    absl::MutexLock lock(&mutex_);
    return counts_;
  }

 private:
  void AwaitPeerGate() const {
    std::shared_ptr<const absl::Notification> gate;
    {
      absl::MutexLock lock(&mutex_);
      gate = peer_gate_;
    }
    if (gate != nullptr) gate->WaitForNotification();
  }

  class FakeMemory final : public TensorMemory {
   public:
    FakeMemory(FakeDevice& device, std::size_t size_bytes) : device_(device), bytes_(size_bytes) {}
    ~FakeMemory() override {
      absl::MutexLock lock(&device_.mutex_);
      device_.tensor_bytes_ -= static_cast<std::int64_t>(bytes_.size());
    }
    std::byte* data() const override { return bytes_.data(); }

   private:
    FakeDevice& device_;
    mutable std::vector<std::byte> bytes_;
  };

  class FakeMapping final : public TensorMemory {
   public:
    FakeMapping(FakeDevice& device, int descriptor, std::int64_t offset_bytes,
                std::size_t size_bytes)
        : device_(device),
          begin_(static_cast<std::size_t>(offset_bytes)),
          size_bytes_(size_bytes),
          pages_(mmap(nullptr, begin_ + size_bytes, PROT_READ, MAP_SHARED, descriptor, 0)) {}
    ~FakeMapping() override {
      munmap(pages_, begin_ + size_bytes_);
      absl::MutexLock lock(&device_.mutex_);
      device_.mapped_bytes_ -= static_cast<std::int64_t>(size_bytes_);
    }
    std::byte* data() const override { return static_cast<std::byte*>(pages_) + begin_; }

   private:
    FakeDevice& device_;
    const std::size_t begin_;
    const std::size_t size_bytes_;
    void* const pages_;
  };

  class FakePeer final : public PeerMemory {
   public:
    FakePeer(FakeDevice& device, absl::string_view bytes) : device_(device), bytes_(bytes) {}
    ~FakePeer() override {
      device_.AwaitPeerGate();
      absl::MutexLock lock(&device_.mutex_);
      device_.peer_bytes_ -= std::ssize(bytes_);
    }
    std::byte* data() const override { return reinterpret_cast<std::byte*>(bytes_.data()); }
    absl::Status Write(std::int64_t offset_bytes, absl::string_view bytes) override {
      device_.AwaitPeerGate();
      bytes_.replace(static_cast<std::size_t>(offset_bytes), bytes.size(), bytes.data(),
                     bytes.size());
      return absl::OkStatus();
    }

   private:
    FakeDevice& device_;
    mutable std::string bytes_;
  };

  // Sums int64 elements, whatever the plan says.
  class FakeWorker final : public Worker {
   public:
    explicit FakeWorker(FakeDevice& device)
        : device_(device), staging_buffer_(device.staging_buffer_bytes_) {}
    absl::Status Begin(const Plan& plan) override {
      missing_bytes_ = plan.input_bytes;
      sum_ = 0;
      absl::MutexLock lock(&device_.mutex_);
      ++device_.counts_.begun;
      return std::exchange(device_.begin_status_, absl::OkStatus());
    }
    absl::StatusOr<absl::Span<std::byte>> Buffer() override {
      return absl::MakeSpan(staging_buffer_);
    }
    absl::Status Commit(std::size_t byte_count) override {
      if (to_ == nullptr) {
        Add(staging_buffer_.data(), byte_count);
      } else {
        std::memcpy(to_, staging_buffer_.data(), byte_count);
        to_ += byte_count;
      }
      return absl::OkStatus();
    }
    absl::Status CommitInPlace(const std::byte* data) override {
      Add(data, std::min(staging_buffer_.size(), static_cast<std::size_t>(missing_bytes_)));
      absl::MutexLock lock(&device_.mutex_);
      ++device_.counts_.in_place;
      return absl::OkStatus();
    }
    absl::StatusOr<Outcome> Finish() override {
      if (missing_bytes_ != 0) return absl::InternalError("Finish before all bytes came");
      absl::MutexLock lock(&device_.mutex_);
      ++device_.counts_.finished;
      std::string bytes(8, '\0');
      std::memcpy(bytes.data(), &sum_, 8);
      return Outcome{.results = {bytes}, .times = {}};
    }
    void Abandon() override {
      to_ = nullptr;
      absl::MutexLock lock(&device_.mutex_);
      ++device_.counts_.abandoned;
    }
    absl::StatusOr<std::unique_ptr<Suspended>> Suspend() override {
      auto task = std::make_unique<FakeSuspended>();
      task->to = std::exchange(to_, nullptr);
      task->missing_bytes = std::exchange(missing_bytes_, 0);
      task->sum = std::exchange(sum_, 0);
      absl::MutexLock lock(&device_.mutex_);
      ++device_.counts_.suspended;
      return task;
    }
    absl::Status Resume(std::unique_ptr<Suspended> suspended) override {
      const FakeSuspended& task = dynamic_cast<FakeSuspended&>(*suspended);
      to_ = task.to;
      missing_bytes_ = task.missing_bytes;
      sum_ = task.sum;
      return absl::OkStatus();
    }
    absl::StatusOr<Outcome> Reduce(const Plan& plan, const std::byte* data) override {
      if (absl::Status begun = Begin(plan); !begun.ok()) return begun;
      Add(data, static_cast<std::size_t>(plan.input_bytes));
      return Finish();
    }
    absl::Status BeginWrite(std::byte* to, std::size_t /*size_bytes*/) override {
      to_ = to;
      absl::MutexLock lock(&device_.mutex_);
      ++device_.counts_.begun;
      return std::exchange(device_.begin_status_, absl::OkStatus());
    }
    absl::Status FinishWrite() override {
      to_ = nullptr;
      absl::MutexLock lock(&device_.mutex_);
      ++device_.counts_.finished;
      return absl::OkStatus();
    }

   private:
    struct FakeSuspended final : Suspended {
      std::byte* to = nullptr;
      std::int64_t missing_bytes = 0;
      std::int64_t sum = 0;
    };

    void Add(const std::byte* data, std::size_t byte_count) {
      missing_bytes_ -= static_cast<std::int64_t>(byte_count);
      for (std::size_t i = 0; i + 8 <= byte_count; i += 8) {
        std::int64_t element;
        std::memcpy(&element, data + i, sizeof(element));
        sum_ += element;
      }
    }

    FakeDevice& device_;
    std::byte* to_ = nullptr;  // of a write: where the next bytes go
    std::vector<std::byte> staging_buffer_;
    std::int64_t missing_bytes_ = 0;
    std::int64_t sum_ = 0;
  };

  const DeviceInfo info_;
  const std::size_t staging_buffer_bytes_;
  FakeBatches fake_batches_;
  std::int64_t inline_bytes_max_ = 0;
  mutable absl::Mutex mutex_;
  FakeCounts counts_ ABSL_GUARDED_BY(mutex_);
  absl::Status begin_status_ ABSL_GUARDED_BY(mutex_);
  absl::Status allocation_status_ ABSL_GUARDED_BY(mutex_);
  std::int64_t tensor_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool maps_shared_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status map_status_ ABSL_GUARDED_BY(mutex_);
  std::int64_t mapped_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::int64_t peer_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<const absl::Notification> peer_gate_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace warpfold

#endif  // WARPFOLD_TESTS_SERVER_FAKE_DEVICE_H_
