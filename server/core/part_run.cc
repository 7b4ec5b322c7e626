#include "server/core/part_run.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace warpfold {
namespace {

// So many bytes of small planes are gathered: one piece of most lanes.
constexpr std::int64_t kGatherBytes = std::int64_t{4} << 20;

// Of planes in memory the rows of one node.
class GatheredRows final : public PayloadSource {
 public:
  GatheredRows(const std::byte* first, std::size_t plane_bytes, std::size_t row_bytes)
      : at_(first), plane_bytes_(plane_bytes), row_bytes_(row_bytes) {}

  absl::Status ReadInto(absl::Span<std::byte> out) override {
    while (!out.empty()) {
      const std::size_t bytes = std::min(out.size(), row_bytes_ - done_);
      std::memcpy(out.data(), at_ + done_, bytes);
      out.remove_prefix(bytes);
      done_ += bytes;
      if (done_ < row_bytes_) continue;
      at_ += plane_bytes_;
      done_ = 0;
    }
    return absl::OkStatus();
  }
  absl::Status ExpectEnd() override { return absl::OkStatus(); }

 private:
  const std::byte* at_;  // the node's first byte in the plane
  const std::size_t plane_bytes_;
  const std::size_t row_bytes_;  // of the node in a plane
  std::size_t done_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PartRun>> PartRun::Make(Work& work, const Part& part) {
  absl::StatusOr<NodeValues> values = NodeValues::Make(part.whole, NodesOf(part.whole, part.range));
  if (!values.ok()) return values.status();
  std::unique_ptr<PartRun> run(new PartRun(work, part, *std::move(values)));
  if (run->gathers_) {
    absl::StatusOr<HostBytes> taken =
        HostBytes::Take(static_cast<std::size_t>(run->step_ * run->plane_bytes()));
    if (!taken.ok()) return taken.status();
    run->gathered_ = *std::move(taken);
  }
  return run;
}

PartRun::PartRun(Work& work, const Part& part, NodeValues values)
    : work_(work), part_(part), values_(std::move(values)) {
  if (nodes().empty()) return;
  plane_count_ = PlaneCount(part_.whole);
  step_ = plane_count_;
  if (nodes().size() > 1) {
    step_ = std::min(step_, std::max<std::int64_t>(1, kGatherBytes / plane_bytes()));
    gathers_ = step_ > 1;
  }
}

Outcome PartRun::Take() {
  return {.results = values_.Take(), .times = times_, .charge = values_.TakeCharge()};
}

absl::StatusOr<bool> PartRun::Turn(Lane& lane, Patience patience) {
  for (; plane_ < plane_count_; plane_ += step_, node_ = 0) {
    const std::int64_t planes = std::min(step_, plane_count_ - plane_);
    if (gathers_) {  // then no node waits for bytes
      absl::StatusOr<bool> gathered = Gather(planes, patience);
      if (!gathered.ok() || !*gathered) return gathered;
    }
    for (; node_ < nodes().size(); ++node_) {
      const Range& node = nodes()[node_];
      GatheredRows rows(gathered_.get() + (node.begin - part_.range.begin) * row_bytes(),
                        static_cast<std::size_t>(plane_bytes()),
                        static_cast<std::size_t>(node.length() * row_bytes()));
      absl::StatusOr<bool> reduced = gathers_ ? ReduceNode(lane, planes, rows, patience)
                                              : ReduceNode(lane, planes, work_.payload(), patience);
      if (!reduced.ok() || !*reduced) return reduced;
    }
  }
  if (absl::Status end = work_.payload().ExpectEnd(); !end.ok()) return end;
  return true;
}

absl::StatusOr<bool> PartRun::Gather(std::int64_t planes, Patience patience) {
  if (absl::Status why = work_.token().CheckCancelled(); !why.ok()) return why;
  awaited_bytes_ = static_cast<std::size_t>(planes * plane_bytes());
  PayloadSource& payload = work_.payload();
  if (!AwaitBytes(payload, awaited_bytes_, patience)) return false;
  absl::Status read = payload.ReadInto(absl::MakeSpan(gathered_.get(), awaited_bytes_));
  if (!read.ok()) return read;
  return true;
}

absl::StatusOr<bool> PartRun::ReduceNode(Lane& lane, std::int64_t planes, PayloadSource& source,
                                         Patience patience) {
  if (!staging_.has_value()) {
    node_plan_ = SlicePlan(part_.whole, planes, nodes()[node_]);
    staging_.emplace(work_.token(), source, node_plan_->input_bytes);
  }
  absl::StatusOr<bool> staged = staging_->Turn(
      lane, [&] { return lane.Begin(*node_plan_); }, patience);
  awaited_bytes_ = staging_->awaited_bytes();
  if (!staged.ok() || !*staged) return staged;
  staging_.reset();
  absl::StatusOr<Outcome> node = lane.Finish();
  if (!node.ok()) return node.status();
  times_ += node->times;
  values_.Keep(*node_plan_, node->results.front(), node_, plane_);
  return true;
}

std::int64_t PartRun::row_bytes() const {
  return RowElements(part_.whole) * static_cast<std::int64_t>(ElementBytes(part_.whole.dtype));
}

}  // namespace warpfold
