// The protocol's methods of shared memory, on the regions of warpfold.v1.
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/core/region_table.h"
#include "server/frontend/host_call.h"
#include "server/frontend/kserve/inference_service.h"
#include "server/frontend/kserve/models.h"
#include "server/frontend/kserve/renamed.h"

namespace warpfold::kserve {
namespace {

constexpr char kNoCuda[] = "CUDA shared memory is not in this server yet";

// Fields of RegisterSharedMemoryRequest.
constexpr std::pair<absl::string_view, absl::string_view> kFieldNames[] = {
    {"offset_bytes:", "offset:"}, {"size_bytes:", "byte_size:"}};

absl::Status NoRegion(const std::string& name) {
  return absl::NotFoundError(absl::StrCat("name: there is no region ", Quoted(name)));
}

}  // namespace

using Reactor = InferenceServiceImpl::Reactor;

Reactor* InferenceServiceImpl::SystemSharedMemoryStatus(
    Context* context, const inference::SystemSharedMemoryStatusRequest* request,
    inference::SystemSharedMemoryStatusResponse* response) {
  for (const RegionReport& region : services_.regions.List()) {
    if (!request->name().empty() && region.name != request->name()) continue;
    auto& status = (*response->mutable_regions())[region.name];
    status.set_name(region.name);
    status.set_key(region.key);
    status.set_offset(static_cast<std::uint64_t>(region.offset_bytes));
    status.set_byte_size(static_cast<std::uint64_t>(region.size_bytes));
  }
  const bool is_missing = !request->name().empty() && response->regions().empty();
  return Answer(context, Method::kSystemSharedMemoryStatus,
                is_missing ? NoRegion(request->name()) : absl::OkStatus());
}

Reactor* InferenceServiceImpl::SystemSharedMemoryRegister(
    Context* context, const inference::SystemSharedMemoryRegisterRequest* request,
    inference::SystemSharedMemoryRegisterResponse* /*response*/) {
  // Sizes above 2^63 become negative, and are refused as such.
  return HostCall::Begin(
      services_, context, Method::kSystemSharedMemoryRegister, "", [this, request] {
        return Renamed(
            services_.regions.RegisterShared(request->name(), request->key(),
                                             static_cast<std::int64_t>(request->offset()),
                                             static_cast<std::int64_t>(request->byte_size())),
            kFieldNames);
      });
}

// As in Triton, a name that is not there is no error.
Reactor* InferenceServiceImpl::SystemSharedMemoryUnregister(
    Context* context, const inference::SystemSharedMemoryUnregisterRequest* request,
    inference::SystemSharedMemoryUnregisterResponse* /*response*/) {
  if (request->name().empty()) {
    services_.regions.UnregisterAll();
  } else {
    services_.regions.Unregister(request->name()).IgnoreError();
  }
  return Answer(context, Method::kSystemSharedMemoryUnregister);
}

Reactor* InferenceServiceImpl::CudaSharedMemoryStatus(
    Context* context, const inference::CudaSharedMemoryStatusRequest* request,
    inference::CudaSharedMemoryStatusResponse* /*response*/) {
  return Answer(context, Method::kCudaSharedMemoryStatus,
                request->name().empty() ? absl::OkStatus() : NoRegion(request->name()));
}

Reactor* InferenceServiceImpl::CudaSharedMemoryRegister(
    Context* context, const inference::CudaSharedMemoryRegisterRequest* /*request*/,
    inference::CudaSharedMemoryRegisterResponse* /*response*/) {
  return AnswerNotHere(context, Method::kCudaSharedMemoryRegister, kNoCuda);
}

Reactor* InferenceServiceImpl::CudaSharedMemoryUnregister(
    Context* context, const inference::CudaSharedMemoryUnregisterRequest* /*request*/,
    inference::CudaSharedMemoryUnregisterResponse* /*response*/) {
  return Answer(context, Method::kCudaSharedMemoryUnregister);
}

}  // namespace warpfold::kserve
