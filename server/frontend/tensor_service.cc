#include "server/frontend/tensor_service.h"

#include <chrono>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/frontend/call_record.h"
#include "server/frontend/decode.h"
#include "server/frontend/host_call.h"
#include "server/frontend/plain_call.h"
#include "server/frontend/write_tensor_call.h"

namespace warpfold {
namespace {

void Fill(const TensorReport& report, v1::ResidentTensor* out) {
  out->set_tensor_id(report.id);
  FillTensor(report.shape, out->mutable_tensor());
  out->set_size_bytes(report.shape.size_bytes);
  out->set_missing_bytes(report.missing_bytes);
  out->set_device(report.device);
  out->set_reductions(report.reductions);
  out->set_writes(report.writes);
  out->set_ttl_ms(report.ttl.count());
  out->set_idle_ms(report.idle.count());
}

void Fill(const RegionReport& report, v1::MemoryRegion* out) {
  out->set_name(report.name);
  out->set_size_bytes(report.size_bytes);
  out->set_uses(report.uses);
  out->set_key(report.key);
  out->set_offset_bytes(report.offset_bytes);
  out->set_in_place(report.in_place);
  out->set_device(report.device);
}

}  // namespace

grpc::ServerUnaryReactor* TensorServiceImpl::CreateTensor(grpc::CallbackServerContext* context,
                                                          const v1::CreateTensorRequest* request,
                                                          v1::CreateTensorResponse* response) {
  return HostCall::Begin(services_, context, Method::kCreateTensor, *request, request->request_id(),
                         [this, request, response] { return Create(*request, response); });
}

absl::Status TensorServiceImpl::Create(const v1::CreateTensorRequest& request,
                                       v1::CreateTensorResponse* response) {
  if (!request.has_tensor()) return absl::InvalidArgumentError("tensor: is not given");
  absl::StatusOr<TensorShape> shape = DecodeTensor(request.tensor(), services_.limits.Get());
  if (!shape.ok()) return shape.status();
  absl::StatusOr<TensorTable::Created> created =
      services_.tensors.Create(*std::move(shape), std::chrono::milliseconds(request.ttl_ms()));
  if (!created.ok()) return created.status();
  response->set_tensor_id(created->id);
  response->set_ttl_ms(created->ttl.count());
  return absl::OkStatus();
}

grpc::ServerReadReactor<grpc::ByteBuffer>* TensorServiceImpl::WriteTensor(
    grpc::CallbackServerContext* context, grpc::ByteBuffer* response) {
  return WriteTensorCall::Begin(services_, context, response);
}

grpc::ServerUnaryReactor* TensorServiceImpl::DeleteTensor(grpc::CallbackServerContext* context,
                                                          const v1::DeleteTensorRequest* request,
                                                          v1::DeleteTensorResponse* /*response*/) {
  CallRecord record(services_.metrics, Method::kDeleteTensor);
  absl::Status status = CheckRequestId(request->request_id(), services_.limits.Get());
  if (status.ok()) status = services_.tensors.Delete(request->tensor_id());
  return AnswerPlainCall(services_, context, Method::kDeleteTensor, record, request->request_id(),
                         status);
}

grpc::ServerUnaryReactor* TensorServiceImpl::ListTensors(grpc::CallbackServerContext* context,
                                                         const v1::ListTensorsRequest* /*request*/,
                                                         v1::ListTensorsResponse* response) {
  CallRecord record(services_.metrics, Method::kListTensors);
  for (const TensorReport& report : services_.tensors.List()) Fill(report, response->add_tensors());
  return AnswerPlainCall(services_, context, Method::kListTensors, record, "", absl::OkStatus());
}

grpc::ServerUnaryReactor* TensorServiceImpl::RegisterSharedMemory(
    grpc::CallbackServerContext* context, const v1::RegisterSharedMemoryRequest* request,
    v1::RegisterSharedMemoryResponse* /*response*/) {
  return HostCall::Begin(services_, context, Method::kRegisterSharedMemory, *request,
                         request->request_id(), [this, request] {
                           return services_.regions.RegisterShared(request->name(), request->key(),
                                                                   request->offset_bytes(),
                                                                   request->size_bytes());
                         });
}

grpc::ServerUnaryReactor* TensorServiceImpl::RegisterCudaMemory(
    grpc::CallbackServerContext* context, const v1::RegisterCudaMemoryRequest* request,
    v1::RegisterCudaMemoryResponse* /*response*/) {
  return HostCall::Begin(services_, context, Method::kRegisterCudaMemory, *request,
                         request->request_id(), [this, request] {
                           return services_.regions.RegisterCuda(request->name(), request->handle(),
                                                                 request->device_ordinal(),
                                                                 request->size_bytes());
                         });
}

grpc::ServerUnaryReactor* TensorServiceImpl::UnregisterMemory(
    grpc::CallbackServerContext* context, const v1::UnregisterMemoryRequest* request,
    v1::UnregisterMemoryResponse* /*response*/) {
  CallRecord record(services_.metrics, Method::kUnregisterMemory);
  absl::Status status = CheckRequestId(request->request_id(), services_.limits.Get());
  if (status.ok()) status = services_.regions.Unregister(request->name());
  return AnswerPlainCall(services_, context, Method::kUnregisterMemory, record,
                         request->request_id(), status);
}

grpc::ServerUnaryReactor* TensorServiceImpl::ListMemory(grpc::CallbackServerContext* context,
                                                        const v1::ListMemoryRequest* /*request*/,
                                                        v1::ListMemoryResponse* response) {
  CallRecord record(services_.metrics, Method::kListMemory);
  for (const RegionReport& report : services_.regions.List()) {
    Fill(report, response->add_regions());
  }
  return AnswerPlainCall(services_, context, Method::kListMemory, record, "", absl::OkStatus());
}

}  // namespace warpfold
