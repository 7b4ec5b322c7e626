#include "server/core/part_run.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "server/core/node_values.h"
#include "server/core/stage.h"
#include "server/device/host_bytes.h"

namespace warpfold {
namespace {

// So many bytes of small planes are gathered: one piece of most lanes.
constexpr std::int64_t kGatherBytes = std::int64_t{4} << 20;

// Of planes in memory the rows of one node.
class GatheredRows final : public PayloadSource {
 public:
  GatheredRows(const std::byte* first, std::size_t plane_bytes, std::size_t row_bytes)
      : at_(first), plane_bytes_(plane_bytes), row_bytes_(row_bytes) {}

  void Open() override {}
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

class PartRun {
 public:
  PartRun(Lane& lane, Work& work, const Part& part, NodeValues values)
      : lane_(lane), work_(work), part_(part), values_(std::move(values)) {}

  absl::StatusOr<Outcome> Run() {
    absl::Status status = values_.nodes().empty() ? absl::OkStatus() : ReducePlanes();
    if (!status.ok()) return status;
    Open();
    if (status = work_.payload().ExpectEnd(); !status.ok()) return status;
    return Outcome{.results = values_.Take(), .times = times_, .charge = values_.TakeCharge()};
  }

 private:
  // As late as can be: what the lane refuses is not read.
  void Open() {
    if (!std::exchange(opened_, true)) work_.payload().Open();
  }

  absl::Status ReducePlanes() {
    const std::int64_t all = PlaneCount(part_.whole);
    const std::int64_t plane_bytes = RowBytes() * part_.range.length();
    std::int64_t step =
        nodes().size() == 1 ? all : std::max<std::int64_t>(1, kGatherBytes / plane_bytes);
    step = std::min(step, all);
    const bool gathers = nodes().size() > 1 && step > 1;
    HostBytes gathered;
    if (gathers) {
      absl::StatusOr<HostBytes> taken =
          HostBytes::Take(static_cast<std::size_t>(step * plane_bytes));
      if (!taken.ok()) return taken.status();
      gathered = *std::move(taken);
    }
    for (std::int64_t plane = 0; plane < all; plane += step) {
      const std::int64_t planes = std::min(step, all - plane);
      if (gathers) {
        if (absl::Status wanted = work_.Wanted(); !wanted.ok()) return wanted;
        Open();
        absl::Status read = work_.payload().ReadInto(
            absl::MakeSpan(gathered.get(), static_cast<std::size_t>(planes * plane_bytes)));
        if (!read.ok()) return read;
      }
      for (std::size_t n = 0; n < nodes().size(); ++n) {
        const std::int64_t begin_bytes = (nodes()[n].begin - part_.range.begin) * RowBytes();
        GatheredRows rows(gathered.get() + begin_bytes, static_cast<std::size_t>(plane_bytes),
                          static_cast<std::size_t>(nodes()[n].length() * RowBytes()));
        absl::Status status = ReduceNode(n, plane, planes, gathers ? rows : work_.payload());
        if (!status.ok()) return status;
      }
    }
    return absl::OkStatus();
  }

  // Node `n` of `planes` planes from `plane` on.
  absl::Status ReduceNode(std::size_t n, std::int64_t plane, std::int64_t planes,
                          PayloadSource& source) {
    const Plan plan = SlicePlan(part_.whole, planes, nodes()[n]);
    absl::Status status = lane_.Begin(plan);
    if (status.ok()) {
      Open();
      status = Stage(lane_, work_, source, plan.input_bytes);
    }
    if (!status.ok()) {
      lane_.Abandon();
      return status;
    }
    absl::StatusOr<Outcome> node = lane_.Finish();
    if (!node.ok()) return node.status();
    times_ += node->times;
    values_.Keep(plan, node->results.front(), n, plane);
    return absl::OkStatus();
  }

  const std::vector<Range>& nodes() const { return values_.nodes(); }

  std::int64_t RowBytes() const {
    return RowElements(part_.whole) * static_cast<std::int64_t>(ElementBytes(part_.whole.dtype));
  }

  Lane& lane_;
  Work& work_;
  const Part& part_;
  NodeValues values_;
  bool opened_ = false;
  DeviceTimes times_;
};

}  // namespace

absl::StatusOr<Outcome> RunPart(Lane& lane, Work& work, const Part& part) {
  absl::StatusOr<NodeValues> values = NodeValues::Make(part.whole, NodesOf(part.whole, part.range));
  if (!values.ok()) return values.status();
  return PartRun(lane, work, part, *std::move(values)).Run();
}

}  // namespace warpfold
