#include "server/frontend/tensor_service.h"

#include <chrono>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "kernels/field_error.h"
#include "server/frontend/decode.h"
#include "server/frontend/small_call.h"
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

TensorServiceImpl::TensorServiceImpl(Services services) : RawService(services) {
  ServeTensors();
  ServeRegions();
}

void TensorServiceImpl::ServeTensors() {
  Serve(SmallCall::OnLane<v1::CreateTensorRequest, v1::CreateTensorResponse>(
      services_, Method::kCreateTensor,
      [this](const auto& request, auto* response) { return Create(request, response); }));
  Serve({Method::kWriteTensor, [this](ArrivedCall arrived) {
           AnsweredCall::Begin(std::make_shared<WriteTensorCall>(services_, std::move(arrived)));
         }});
  Serve(SmallCall::Here<v1::DeleteTensorRequest, v1::DeleteTensorResponse>(
      services_, Method::kDeleteTensor, [this](const auto& request, auto* /*response*/) {
        return services_.tensors.Delete(request.tensor_id());
      }));
  Serve(SmallCall::Here<v1::ListTensorsRequest, v1::ListTensorsResponse>(
      services_, Method::kListTensors, [this](const auto& /*request*/, auto* response) {
        for (const TensorReport& report : services_.tensors.List()) {
          Fill(report, response->add_tensors());
        }
        return absl::OkStatus();
      }));
}

absl::Status TensorServiceImpl::Create(const v1::CreateTensorRequest& request,
                                       v1::CreateTensorResponse* response) {
  if (!request.has_tensor()) return InvalidField(Field::kTensor, "is not given");
  absl::StatusOr<TensorShape> shape = DecodeTensor(request.tensor(), services_.limits.Get());
  if (!shape.ok()) return shape.status();
  absl::StatusOr<TensorTable::Created> created =
      services_.tensors.Create(*std::move(shape), std::chrono::milliseconds(request.ttl_ms()));
  if (!created.ok()) return created.status();
  response->set_tensor_id(created->id);
  response->set_ttl_ms(created->ttl.count());
  return absl::OkStatus();
}

void TensorServiceImpl::ServeRegions() {
  Serve(SmallCall::OnLane<v1::RegisterSharedMemoryRequest, v1::RegisterSharedMemoryResponse>(
      services_, Method::kRegisterSharedMemory, [this](const auto& request, auto* /*response*/) {
        return services_.regions.RegisterShared(request.name(), request.key(),
                                                request.offset_bytes(), request.size_bytes());
      }));
  Serve(SmallCall::OnLane<v1::RegisterCudaMemoryRequest, v1::RegisterCudaMemoryResponse>(
      services_, Method::kRegisterCudaMemory, [this](const auto& request, auto* /*response*/) {
        return services_.regions.RegisterCuda(request.name(), request.handle(),
                                              request.device_ordinal(), request.size_bytes());
      }));
  Serve(SmallCall::Later<v1::UnregisterMemoryRequest, v1::UnregisterMemoryResponse>(
      services_, Method::kUnregisterMemory,
      [this](const auto& request, auto* /*response*/, const SmallDone& done) {
        services_.regions.Unregister(request.name(), done);
      }));
  Serve(SmallCall::Here<v1::ListMemoryRequest, v1::ListMemoryResponse>(
      services_, Method::kListMemory, [this](const auto& /*request*/, auto* response) {
        for (const RegionReport& report : services_.regions.List()) {
          Fill(report, response->add_regions());
        }
        return absl::OkStatus();
      }));
}

}  // namespace warpfold
