// warpfold.v1.TensorService on gRPC's callback API.
//
// Step of a request: 1. WriteTensor alone is raw. It needs a lane, as do the calls that take memory
// or register it, for which the system or a GPU's driver may need its time; the others are answered
// where they come in.
#ifndef WARPFOLD_SERVER_FRONTEND_TENSOR_SERVICE_H_
#define WARPFOLD_SERVER_FRONTEND_TENSOR_SERVICE_H_

#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/frontend/layers.h"
#include "server/frontend/services.h"
#include "warpfold/v1/tensor.grpc.pb.h"

namespace warpfold {

using TensorServiceBase = Layers<v1::TensorService::Service,  //
                                 v1::TensorService::WithCallbackMethod_CreateTensor,
                                 v1::TensorService::WithRawCallbackMethod_WriteTensor,
                                 v1::TensorService::WithCallbackMethod_DeleteTensor,
                                 v1::TensorService::WithCallbackMethod_ListTensors,
                                 v1::TensorService::WithCallbackMethod_RegisterSharedMemory,
                                 v1::TensorService::WithCallbackMethod_RegisterCudaMemory,
                                 v1::TensorService::WithCallbackMethod_UnregisterMemory,
                                 v1::TensorService::WithCallbackMethod_ListMemory>::Type;

class TensorServiceImpl final : public TensorServiceBase {
 public:
  explicit TensorServiceImpl(Services services) : services_(services) {}

  grpc::ServerUnaryReactor* CreateTensor(grpc::CallbackServerContext* context,
                                         const v1::CreateTensorRequest* request,
                                         v1::CreateTensorResponse* response) override;
  grpc::ServerReadReactor<grpc::ByteBuffer>* WriteTensor(grpc::CallbackServerContext* context,
                                                         grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* DeleteTensor(grpc::CallbackServerContext* context,
                                         const v1::DeleteTensorRequest* request,
                                         v1::DeleteTensorResponse* response) override;
  grpc::ServerUnaryReactor* ListTensors(grpc::CallbackServerContext* context,
                                        const v1::ListTensorsRequest* request,
                                        v1::ListTensorsResponse* response) override;
  grpc::ServerUnaryReactor* RegisterSharedMemory(
      grpc::CallbackServerContext* context, const v1::RegisterSharedMemoryRequest* request,
      v1::RegisterSharedMemoryResponse* response) override;
  grpc::ServerUnaryReactor* RegisterCudaMemory(grpc::CallbackServerContext* context,
                                               const v1::RegisterCudaMemoryRequest* request,
                                               v1::RegisterCudaMemoryResponse* response) override;
  grpc::ServerUnaryReactor* UnregisterMemory(grpc::CallbackServerContext* context,
                                             const v1::UnregisterMemoryRequest* request,
                                             v1::UnregisterMemoryResponse* response) override;
  grpc::ServerUnaryReactor* ListMemory(grpc::CallbackServerContext* context,
                                       const v1::ListMemoryRequest* request,
                                       v1::ListMemoryResponse* response) override;

 private:
  absl::Status Create(const v1::CreateTensorRequest& request, v1::CreateTensorResponse* response);

  Services services_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_TENSOR_SERVICE_H_
