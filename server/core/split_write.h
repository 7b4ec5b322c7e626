// A write split over the devices on which its range's shards lie, one after the other. See
// split_work.h.
#ifndef WARPFOLD_SERVER_CORE_SPLIT_WRITE_H_
#define WARPFOLD_SERVER_CORE_SPLIT_WRITE_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <utility>

#include "server/core/split_work.h"
#include "server/core/work.h"

namespace warpfold {

class SplitWrite final : public SplitWork, private Work, private PayloadSource {
 public:
  SplitWrite(SplitHost& host, Work& work, const WriteShards& task);

  absl::Status Submit() override;
  bool Withdraw() override;

 private:
  const Shard& shard() const { return task_.shards[at_]; }
  bool is_last() const { return at_ + 1 == task_.shards.size(); }

  LaneTask task() override { return WriteTensor{shard().data, shard().size_bytes}; }
  const Plan& plan() const override { return work_.plan(); }
  PayloadSource& payload() override { return *this; }
  bool waits_for_client() const override { return work_.waits_for_client(); }
  absl::Status MayRun(std::chrono::nanoseconds waited) override {
    return work_.MayRun(report_.queue + waited);
  }
  void Done(WorkReport report) override;

  // The work's own payload, of which the end comes with the last shard's.
  bool AwaitBytes(std::size_t byte_count, std::chrono::steady_clock::time_point until) override {
    return work_.payload().AwaitBytes(byte_count, until);
  }
  bool WakeWhenHere(std::size_t byte_count, std::function<void()>&& wake) override {
    return work_.payload().WakeWhenHere(byte_count, std::move(wake));
  }
  absl::Status ReadInto(absl::Span<std::byte> out) override {
    return work_.payload().ReadInto(out);
  }
  absl::Status ExpectEnd() override {
    return is_last() ? work_.payload().ExpectEnd() : absl::OkStatus();
  }

  SplitHost& host_;
  Work& work_;
  const WriteShards task_;
  std::size_t at_ = 0;  // the shard that is written; changed while no device has this work
  WorkReport report_;   // of the shards so far
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_SPLIT_WRITE_H_
