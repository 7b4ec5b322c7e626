// What ModelStatistics answers: how many of the protocol's requests each model has had since the
// start, and where their time went.
//
// Step of a request: 4, report. Safe from any thread; the numbers of one answer may be a request
// apart.
#ifndef WARPFOLD_SERVER_FRONTEND_KSERVE_MODEL_COUNTS_H_
#define WARPFOLD_SERVER_FRONTEND_KSERVE_MODEL_COUNTS_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "inference/grpc_service.pb.h"
#include "server/frontend/kserve/models.h"
#include "server/frontend/requests/codec.h"

namespace warpfold::kserve {

class ModelCounts {
 public:
  ModelCounts() : models_(AllModels().size()) {}

  void CountSuccess(const Model& model, const AnswerTimes& times);
  void CountFailure(const Model& model, std::chrono::nanoseconds took);

  void Fill(const Model& model, inference::ModelStatistics* statistics) const;

 private:
  // Stages have the successes' count: each request passes each stage once, if only for 0 ns. A
  // client that finds no growing count of the queue takes the model for another version.
  struct Counts {
    std::atomic<std::uint64_t> success{0};
    std::atomic<std::uint64_t> success_ns{0};
    std::atomic<std::uint64_t> fail{0};
    std::atomic<std::uint64_t> fail_ns{0};
    std::atomic<std::uint64_t> queue_ns{0};
    std::atomic<std::uint64_t> input_ns{0};
    std::atomic<std::uint64_t> infer_ns{0};
    std::atomic<std::uint64_t> output_ns{0};
    std::atomic<std::uint64_t> last_ms{0};
  };

  std::vector<Counts> models_;  // as AllModels
};

}  // namespace warpfold::kserve

#endif  // WARPFOLD_SERVER_FRONTEND_KSERVE_MODEL_COUNTS_H_
