// inference.GRPCInferenceService on gRPC's callback API: the same reductions for clients of the
// Open Inference Protocol.
//
// Step of a request: 1. All methods are raw, as ReductionService's. No reaction waits for anything.
// region_methods.cc has the methods of shared memory.
#ifndef WARPFOLD_SERVER_FRONTEND_METHODS_INFERENCE_SERVICE_H_
#define WARPFOLD_SERVER_FRONTEND_METHODS_INFERENCE_SERVICE_H_

#include <atomic>
#include <string>

#include "inference/grpc_service.pb.h"
#include "server/frontend/calls/raw_service.h"
#include "server/frontend/kserve/model_counts.h"
#include "server/frontend/requests/services.h"

namespace warpfold::kserve {

class InferenceServiceImpl final : public RawService {
 public:
  // `serving` says whether the server wants requests; it and `counts` outlive this.
  InferenceServiceImpl(const Services& services, std::string version,
                       const std::atomic<bool>& serving, ModelCounts& counts);

 private:
  void ServeInference();
  void ServeServer();
  void ServeModels();
  void ServeSystemMemory();
  void ServeCudaMemory();
  void FillIndex(const inference::RepositoryIndexRequest& request,
                 inference::RepositoryIndexResponse* response) const;
  absl::Status FillStatistics(const inference::ModelStatisticsRequest& request,
                              inference::ModelStatisticsResponse* response) const;

  const std::string version_;
  const std::atomic<bool>& serving_;
  ModelCounts& counts_;
};

}  // namespace warpfold::kserve

#endif  // WARPFOLD_SERVER_FRONTEND_METHODS_INFERENCE_SERVICE_H_
