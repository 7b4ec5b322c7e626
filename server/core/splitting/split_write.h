// A write split over the devices on which its range's shards lie, one after the other. See
// split_run.h.
#ifndef WARPFOLD_SERVER_CORE_SPLITTING_SPLIT_WRITE_H_
#define WARPFOLD_SERVER_CORE_SPLITTING_SPLIT_WRITE_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <utility>

#include "server/core/request/task.h"
#include "server/core/splitting/split_run.h"

namespace warpfold {

class SplitWrite final : public SplitRun, private TaskOwner, private PayloadSource {
 public:
  SplitWrite(SplitHost& host, Task& task);

  absl::Status Submit() override;
  bool Withdraw() override;

 private:
  const Shard& shard() const { return whole_.shards[at_]; }
  bool is_last() const { return at_ + 1 == whole_.shards.size(); }

  absl::Status MayRun(std::chrono::nanoseconds waited) override {
    return whole_.owner.MayRun(report_.queue + waited);
  }
  void OnDone(TaskReport report) override;

  // The whole's own payload, of which the end comes with the last shard's.
  bool AwaitBytes(std::size_t byte_count, std::chrono::steady_clock::time_point until) override {
    return whole_.payload->AwaitBytes(byte_count, until);
  }
  bool WakeWhenHere(std::size_t byte_count, std::function<void()>&& wake) override {
    return whole_.payload->WakeWhenHere(byte_count, std::move(wake));
  }
  absl::Status ReadInto(absl::Span<std::byte> out) override {
    return whole_.payload->ReadInto(out);
  }
  absl::Status ExpectEnd() override {
    return is_last() ? whole_.payload->ExpectEnd() : absl::OkStatus();
  }

  SplitHost& host_;
  Task& whole_;
  std::size_t at_ = 0;  // the shard that is written
  Task task_;           // writes it; changed while no device has it
  TaskReport report_;   // of the shards so far
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_SPLITTING_SPLIT_WRITE_H_
