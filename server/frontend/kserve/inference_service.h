// inference.GRPCInferenceService on gRPC's callback API: the same reductions for clients of the
// Open Inference Protocol.
//
// Step of a request: 1. The methods that carry tensors are raw, as ReductionService's. No reaction
// waits for anything. region_methods.cc has the methods of shared memory.
#ifndef WARPFOLD_SERVER_FRONTEND_KSERVE_INFERENCE_SERVICE_H_
#define WARPFOLD_SERVER_FRONTEND_KSERVE_INFERENCE_SERVICE_H_

#include <atomic>
#include <string>
#include <utility>

#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "inference/grpc_service.grpc.pb.h"
#include "server/frontend/kserve/model_counts.h"
#include "server/frontend/layers.h"
#include "server/frontend/services.h"

namespace warpfold::kserve {

using Generated = inference::GRPCInferenceService;
using InferenceServiceBase =
    Layers<Generated::Service,                                 //
           Generated::WithRawCallbackMethod_ModelInfer,        //
           Generated::WithRawCallbackMethod_ModelStreamInfer,  //
           Generated::WithCallbackMethod_ServerLive,           //
           Generated::WithCallbackMethod_ServerReady, Generated::WithCallbackMethod_ServerMetadata,
           Generated::WithCallbackMethod_ModelReady, Generated::WithCallbackMethod_ModelMetadata,
           Generated::WithCallbackMethod_ModelConfig, Generated::WithCallbackMethod_ModelStatistics,
           Generated::WithCallbackMethod_RepositoryIndex,
           Generated::WithCallbackMethod_SystemSharedMemoryStatus,
           Generated::WithCallbackMethod_SystemSharedMemoryRegister,
           Generated::WithCallbackMethod_SystemSharedMemoryUnregister,
           Generated::WithCallbackMethod_CudaSharedMemoryStatus,
           Generated::WithCallbackMethod_CudaSharedMemoryRegister,
           Generated::WithCallbackMethod_CudaSharedMemoryUnregister>::Type;

class InferenceServiceImpl final : public InferenceServiceBase {
 public:
  using Reactor = grpc::ServerUnaryReactor;
  using Context = grpc::CallbackServerContext;

  // `serving` says whether the server wants requests and outlives this.
  InferenceServiceImpl(Services services, std::string version, const std::atomic<bool>& serving)
      : services_(services), version_(std::move(version)), serving_(serving) {}

  Reactor* ModelInfer(Context* context, const grpc::ByteBuffer* request,
                      grpc::ByteBuffer* response) override;
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* ModelStreamInfer(
      Context* context) override;

  Reactor* ServerLive(Context* context, const inference::ServerLiveRequest* request,
                      inference::ServerLiveResponse* response) override;
  Reactor* ServerReady(Context* context, const inference::ServerReadyRequest* request,
                       inference::ServerReadyResponse* response) override;
  Reactor* ServerMetadata(Context* context, const inference::ServerMetadataRequest* request,
                          inference::ServerMetadataResponse* response) override;
  Reactor* ModelReady(Context* context, const inference::ModelReadyRequest* request,
                      inference::ModelReadyResponse* response) override;
  Reactor* ModelMetadata(Context* context, const inference::ModelMetadataRequest* request,
                         inference::ModelMetadataResponse* response) override;
  Reactor* ModelConfig(Context* context, const inference::ModelConfigRequest* request,
                       inference::ModelConfigResponse* response) override;
  Reactor* ModelStatistics(Context* context, const inference::ModelStatisticsRequest* request,
                           inference::ModelStatisticsResponse* response) override;
  Reactor* RepositoryIndex(Context* context, const inference::RepositoryIndexRequest* request,
                           inference::RepositoryIndexResponse* response) override;
  Reactor* SystemSharedMemoryStatus(Context* context,
                                    const inference::SystemSharedMemoryStatusRequest* request,
                                    inference::SystemSharedMemoryStatusResponse* response) override;
  Reactor* SystemSharedMemoryRegister(
      Context* context, const inference::SystemSharedMemoryRegisterRequest* request,
      inference::SystemSharedMemoryRegisterResponse* response) override;
  Reactor* SystemSharedMemoryUnregister(
      Context* context, const inference::SystemSharedMemoryUnregisterRequest* request,
      inference::SystemSharedMemoryUnregisterResponse* response) override;
  Reactor* CudaSharedMemoryStatus(Context* context,
                                  const inference::CudaSharedMemoryStatusRequest* request,
                                  inference::CudaSharedMemoryStatusResponse* response) override;
  Reactor* CudaSharedMemoryRegister(Context* context,
                                    const inference::CudaSharedMemoryRegisterRequest* request,
                                    inference::CudaSharedMemoryRegisterResponse* response) override;
  Reactor* CudaSharedMemoryUnregister(
      Context* context, const inference::CudaSharedMemoryUnregisterRequest* request,
      inference::CudaSharedMemoryUnregisterResponse* response) override;

 private:
  Reactor* Answer(Context* context, Method method, const absl::Status& status = absl::OkStatus());

  Services services_;
  const std::string version_;
  const std::atomic<bool>& serving_;
  ModelCounts counts_;
};

}  // namespace warpfold::kserve

#endif  // WARPFOLD_SERVER_FRONTEND_KSERVE_INFERENCE_SERVICE_H_
