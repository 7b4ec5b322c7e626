#include "server/frontend/methods/tensor_service.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "kernels/field_error.h"
#include "server/frontend/calls/upload_call.h"
#include "server/frontend/methods/small_handler.h"
#include "server/frontend/methods/tensor_write.h"
#include "server/frontend/native/decode.h"

namespace warpfold {
namespace {

constexpr int kReadersMax = 64;

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
  out->set_owner(report.access.owner);
  out->mutable_readers()->Add(report.access.readers.begin(), report.access.readers.end());
}

absl::Status CheckReaders(const v1::CreateTensorRequest& request) {
  if (request.readers_size() > kReadersMax) {
    return InvalidField(Field::kReaders,
                        absl::StrCat("are ", request.readers_size(), ", above ", kReadersMax));
  }
  for (int i = 0; i < request.readers_size(); ++i) {
    const absl::Status status = CheckCallerName(request.readers(i));
    if (!status.ok()) return FieldStatus(Field::kReaders, i, status);
  }
  return absl::OkStatus();
}

void Fill(const RegionReport& report, v1::MemoryRegion* out) {
  out->set_name(report.name.name);
  out->set_owner(report.name.owner);
  out->set_size_bytes(report.size_bytes);
  out->set_uses(report.uses);
  out->set_key(report.key);
  out->set_offset_bytes(report.offset_bytes);
  out->set_in_place(report.in_place);
  out->set_device(report.device);
}

}  // namespace

TensorServiceImpl::TensorServiceImpl(const Services& services) : RawService(services) {
  ServeTensors();
  ServeRegions();
}

void TensorServiceImpl::ServeTensors() {
  Serve(SmallHandler::OnWorker<v1::CreateTensorRequest, v1::CreateTensorResponse>(
      services_, Method::kCreateTensor,
      [this](const Asker& asker, const auto& request, auto* response) {
        return Create(asker, request, response);
      }));
  Serve({Method::kWriteTensor, [this](ArrivedCall arrived) {
           UploadCall::Begin(
               services_, Method::kWriteTensor, std::move(arrived),
               [this](UploadCall& call) { return std::make_unique<TensorWrite>(services_, call); });
         }});
  Serve(SmallHandler::Here<v1::DeleteTensorRequest, v1::DeleteTensorResponse>(
      services_, Method::kDeleteTensor,
      [this](const Asker& asker, const auto& request, auto* /*response*/) {
        asker.subject.tensor_id = request.tensor_id();
        const absl::StatusOr<std::string> owner =
            services_.tensors.Delete(asker.caller, request.tensor_id());
        if (owner.ok()) asker.subject.owner = *owner;
        return owner.status();
      }));
  Serve(SmallHandler::Here<v1::ListTensorsRequest, v1::ListTensorsResponse>(
      services_, Method::kListTensors,
      [this](const Asker& asker, const auto& /*request*/, auto* response) {
        for (const TensorReport& report : services_.tensors.List(asker.caller)) {
          Fill(report, response->add_tensors());
        }
        return absl::OkStatus();
      }));
}

absl::Status TensorServiceImpl::Create(const Asker& asker, const v1::CreateTensorRequest& request,
                                       v1::CreateTensorResponse* response) {
  if (!request.has_tensor()) return InvalidField(Field::kTensor, "is not given");
  absl::StatusOr<TensorShape> shape = DecodeTensor(request.tensor(), services_.limits.Get());
  if (!shape.ok()) return shape.status();
  if (absl::Status status = CheckReaders(request); !status.ok()) return status;
  const Caller& caller = asker.caller;
  Access access{caller.name, {request.readers().begin(), request.readers().end()}};
  absl::StatusOr<TensorTable::Created> created =
      services_.tensors.Create(std::move(access), *std::move(shape),
                               std::chrono::milliseconds(request.ttl_ms()), caller.quotas);
  if (!created.ok()) return created.status();
  asker.subject.tensor_id = created->id;
  response->set_tensor_id(created->id);
  response->set_ttl_ms(created->ttl.count());
  return absl::OkStatus();
}

void TensorServiceImpl::ServeRegions() {
  Serve(SmallHandler::OnWorker<v1::RegisterSharedMemoryRequest, v1::RegisterSharedMemoryResponse>(
      services_, Method::kRegisterSharedMemory,
      [this](const Asker& asker, const auto& request, auto* /*response*/) {
        asker.subject.region = request.name();
        const Caller& caller = asker.caller;
        return services_.regions.RegisterShared({caller.name, request.name()}, request.key(),
                                                request.offset_bytes(), request.size_bytes(),
                                                caller.quotas);
      }));
  Serve(SmallHandler::OnWorker<v1::RegisterCudaMemoryRequest, v1::RegisterCudaMemoryResponse>(
      services_, Method::kRegisterCudaMemory,
      [this](const Asker& asker, const auto& request, auto* /*response*/) {
        asker.subject.region = request.name();
        const Caller& caller = asker.caller;
        return services_.regions.RegisterCuda({caller.name, request.name()}, request.handle(),
                                              request.device_ordinal(), request.size_bytes(),
                                              caller.quotas);
      }));
  Serve(SmallHandler::Later<v1::UnregisterMemoryRequest, v1::UnregisterMemoryResponse>(
      services_, Method::kUnregisterMemory,
      [this](const Asker& asker, const auto& request, auto* /*response*/, const SmallDone& done) {
        const std::string& owner = request.owner().empty() ? asker.caller.name : request.owner();
        asker.subject = {.region = request.name(), .owner = owner};
        services_.regions.Unregister(asker.caller, {owner, request.name()}, done);
      }));
  Serve(SmallHandler::Here<v1::ListMemoryRequest, v1::ListMemoryResponse>(
      services_, Method::kListMemory,
      [this](const Asker& asker, const auto& /*request*/, auto* response) {
        for (const RegionReport& report : services_.regions.List(asker.caller)) {
          Fill(report, response->add_regions());
        }
        return absl::OkStatus();
      }));
}

}  // namespace warpfold
