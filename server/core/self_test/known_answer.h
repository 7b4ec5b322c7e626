// Reductions whose answers are known to the bit: what a device has to give before it serves.
//
// Step of a request: none; they run once at the start, through the same queue, workers and kernels
// that requests take: every op of every dtype, by tensors of several tiles through a worker and by
// tensors that are small enough for a batch, by every fusion of accumulators that is compiled. The
// answers were computed elsewhere, in exact arithmetic (tests/server/known_answers.py). Two f64
// tensors are such that no additions in float64 give their sums. Safe from any thread.
#ifndef WARPFOLD_SERVER_CORE_SELF_TEST_KNOWN_ANSWER_H_
#define WARPFOLD_SERVER_CORE_SELF_TEST_KNOWN_ANSWER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "kernels/plan.h"
#include "server/core/scheduling/submitter.h"

namespace warpfold {

// What is asked, of which bytes, and the bytes of each op's result.
struct KnownReduction {
  ReduceSpec question;
  std::shared_ptr<const std::string> elements;
  std::vector<std::string> answer;
};
std::vector<KnownReduction> KnownReductions(DType dtype);
// Of f64, magnitudes over 32 binary orders.
std::vector<KnownReduction> KnownWideReductions();

// Asks `device` all of a dtype and waits for its answers, however long that takes. INTERNAL: its
// bits are wrong; otherwise the device's own status. The message names dtype and op.
absl::Status CheckKnownAnswers(Submitter& device, DType dtype);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_SELF_TEST_KNOWN_ANSWER_H_
