// A work that is a part of a tensor on one lane: every node of the canonical tree in the part is a
// reduction of its own, which leaves states, and those are packed as they travel.
//
// Step of a request: 3, on the lane's thread.
//
// A node is a range of the outermost reduced run. Where kept elements lie outside of that run, the
// part's bytes come plane by plane and hold all nodes of each; small planes are gathered, so that a
// node of many planes is one reduction.
#ifndef WARPFOLD_SERVER_CORE_PART_RUN_H_
#define WARPFOLD_SERVER_CORE_PART_RUN_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/part.h"
#include "server/core/node_values.h"
#include "server/core/stage.h"
#include "server/core/work.h"
#include "server/device/executor.h"
#include "server/device/host_bytes.h"

namespace warpfold {

// Belongs to one thread at a time.
class PartRun {
 public:
  // Of `part`, which is `work`'s; both must outlive it. RESOURCE_EXHAUSTED: no memory for its
  // values.
  static absl::StatusOr<std::unique_ptr<PartRun>> Make(Work& work, const Part& part);

  // Reduces the part from its payload on the idle `lane`, and leaves that idle. False: the next
  // bytes were not here for as long as `patience` allows.
  absl::StatusOr<bool> Turn(Lane& lane, Patience patience);

  // REQUIRES: the last turn has said false. What the next one needs.
  std::size_t awaited_bytes() const { return awaited_bytes_; }

  // REQUIRES: the last turn has said true. Once. One string for each of ValueKindsOf(part.whole):
  // the kind's values, [node][output].
  Outcome Take();

 private:
  PartRun(Work& work, const Part& part, NodeValues values);

  // The planes from plane_ on, `planes` of them, into gathered_. False: they are not here.
  absl::StatusOr<bool> Gather(std::int64_t planes, Patience patience);
  // Node node_ of `planes` planes from plane_ on.
  absl::StatusOr<bool> ReduceNode(Lane& lane, std::int64_t planes, PayloadSource& source,
                                  Patience patience);
  std::int64_t row_bytes() const;
  std::int64_t plane_bytes() const { return row_bytes() * part_.range.length(); }
  const std::vector<Range>& nodes() const { return values_.nodes(); }

  Work& work_;
  const Part& part_;
  NodeValues values_;
  std::int64_t plane_count_ = 0;
  std::int64_t step_ = 1;  // planes at a time
  bool gathers_ = false;   // these, before the first node
  HostBytes gathered_;
  DeviceTimes times_;
  std::size_t awaited_bytes_ = 0;

  // Where it is.
  std::int64_t plane_ = 0;
  std::size_t node_ = 0;
  std::optional<Plan> node_plan_;
  std::optional<Staging> staging_;  // of the node
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_PART_RUN_H_
