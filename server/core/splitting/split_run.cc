#include "server/core/splitting/split_run.h"

#include <variant>

#include "server/core/splitting/split_reduction.h"
#include "server/core/splitting/split_write.h"

namespace warpfold {

std::unique_ptr<SplitRun> Split(SplitHost& host, Task& task) {
  if (task.shards.empty()) return nullptr;
  if (std::holds_alternative<WriteTensor>(task.action)) {
    return std::make_unique<SplitWrite>(host, task);
  }
  return std::make_unique<SplitReduction>(host, task);
}

}  // namespace warpfold
