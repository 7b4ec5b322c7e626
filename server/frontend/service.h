// warpfold.v1.ReductionService on gRPC's callback API.
//
// Step of a request: 1. The methods that carry tensors are raw: they see the bytes as they came.
// gRPC runs all reactions on cores / 2 threads for the whole server: none waits, but for the batch
// that it has launched, and that for 50 us at most (SchedulerOptions::caller_wait_max).
#ifndef WARPFOLD_SERVER_FRONTEND_SERVICE_H_
#define WARPFOLD_SERVER_FRONTEND_SERVICE_H_

#include <utility>

#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/frontend/services.h"
#include "warpfold/v1/reduction.grpc.pb.h"

namespace warpfold {

class ReductionServiceImpl final
    : public v1::ReductionService::WithRawCallbackMethod_Reduce<
          v1::ReductionService::WithRawCallbackMethod_ReduceStream<
              v1::ReductionService::WithRawCallbackMethod_ReduceMany<
                  v1::ReductionService::WithCallbackMethod_Merge<
                      v1::ReductionService::WithCallbackMethod_GetServerInfo<
                          v1::ReductionService::Service>>>>> {
 public:
  // `info` is what GetServerInfo answers beside the limits in force.
  ReductionServiceImpl(Services services, v1::GetServerInfoResponse info)
      : services_(services), info_(std::move(info)) {}

  grpc::ServerUnaryReactor* Reduce(grpc::CallbackServerContext* context,
                                   const grpc::ByteBuffer* request,
                                   grpc::ByteBuffer* response) override;
  grpc::ServerReadReactor<grpc::ByteBuffer>* ReduceStream(grpc::CallbackServerContext* context,
                                                          grpc::ByteBuffer* response) override;
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* ReduceMany(
      grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* Merge(grpc::CallbackServerContext* context,
                                  const v1::MergeRequest* request,
                                  v1::ReduceResponse* response) override;
  grpc::ServerUnaryReactor* GetServerInfo(grpc::CallbackServerContext* context,
                                          const v1::GetServerInfoRequest* request,
                                          v1::GetServerInfoResponse* response) override;

 private:
  Services services_;
  const v1::GetServerInfoResponse info_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_SERVICE_H_
