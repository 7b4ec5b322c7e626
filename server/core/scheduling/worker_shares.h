// Whose turn it is where the tasks of several callers wait for the same workers: that of the caller
// who has had the least of them. So one who asks for more than its share keeps its own tasks
// waiting, and who asks for less waits for one turn at most.
//
// Step of a request: 2, decide. A plain value for its owner's lock. What turns cost is known at
// their ends only: until then a turn is charged as the caller's last one.
//
// Source: start-time fair queueing (P. Goyal, H. Vin, H. Cheng, SIGCOMM 1996).
#ifndef WARPFOLD_SERVER_CORE_SCHEDULING_WORKER_SHARES_H_
#define WARPFOLD_SERVER_CORE_SCHEDULING_WORKER_SHARES_H_

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/core/request/task.h"

namespace warpfold {

class WorkerShares {
 public:
  // What it has had. In whatever unit turns are charged.
  double had(Task::Line line) const {
    const auto found = uses_.find(line);
    return found == uses_.end() ? forgotten_ : found->second.had;
  }

  // Tasks of it wait, and none did: what it left to others meanwhile it does not get back.
  void Join(Task::Line line) {
    Use& use = Of(line);
    use.had = std::max(use.had, now_);
  }

  void Charge(Task::Line line, double cost) { Charge(Of(line), cost); }

  // A turn begins; what it is charged until its end.
  double Begin(Task::Line line) {
    Use& use = Of(line);
    const double charged = use.last;
    Charge(use, charged);
    return charged;
  }
  void End(Task::Line line, double charged, double cost) {
    Use& use = Of(line);
    use.had += cost - charged;
    use.last = cost;
  }

  std::size_t size() const { return uses_.size(); }

 private:
  // Callers come and go where addresses tell them apart.
  static constexpr std::size_t kUsesKept = 256;
  // Of the first turn, in seconds: so that even the first ones go round.
  static constexpr double kFirstCharge = 1e-4;

  struct Use {
    double had = 0;
    double last = kFirstCharge;
  };
  void Charge(Use& use, double cost) {
    now_ = std::max(now_, use.had);
    use.had += cost;
  }

  Use& Of(Task::Line line) {
    const auto found = uses_.find(line);
    if (found != uses_.end()) return found->second;
    if (uses_.size() >= kUsesKept) Forget();
    return uses_.emplace(line, Use{.had = forgotten_}).first->second;
  }

  // Half of them, who have had the least: as if each had had as much as the last of these. They
  // are the next still, and before those that are kept.
  void Forget() {
    std::vector<double> had;
    for (const auto& [line, use] : uses_) had.push_back(use.had);
    const auto middle = had.begin() + static_cast<std::ptrdiff_t>(had.size() / 2);
    std::nth_element(had.begin(), middle, had.end());
    forgotten_ = *middle;
    absl::erase_if(uses_, [this](const auto& entry) { return entry.second.had <= forgotten_; });
  }

  absl::flat_hash_map<Task::Line, Use> uses_;
  double forgotten_ = 0;  // what those that are not in it have had
  double now_ = 0;        // what whoever had the last turn had had before it
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_SCHEDULING_WORKER_SHARES_H_
