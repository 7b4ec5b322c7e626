#include "server/core/split_work.h"

#include <variant>

#include "server/core/split_reduction.h"
#include "server/core/split_write.h"

namespace warpfold {

std::unique_ptr<SplitWork> Split(SplitHost& host, Work& work) {
  const SplitTask task = work.split_task();
  if (const auto* reduction = std::get_if<ReduceShards>(&task)) {
    return std::make_unique<SplitReduction>(host, work, *reduction);
  }
  if (const auto* write = std::get_if<WriteShards>(&task)) {
    return std::make_unique<SplitWrite>(host, work, *write);
  }
  return nullptr;
}

}  // namespace warpfold
