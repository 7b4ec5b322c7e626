// The protocol's methods of shared memory, on the regions of warpfold.v1.
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/core/regions/region_table.h"
#include "server/frontend/kserve/field_names.h"
#include "server/frontend/kserve/models.h"
#include "server/frontend/methods/inference_service.h"
#include "server/frontend/methods/small_handler.h"

namespace warpfold::kserve {
namespace {

// Calls `add` with the caller's regions of `kind`, or with the one of that name. NOT_FOUND: a name,
// and there is none. The protocol has no owners: of an administrator, too, only its own.
template <typename Add>
absl::Status ForEach(const RegionTable& regions, const Caller& caller, RegionKind kind,
                     const std::string& name, const Add& add) {
  bool is_there = name.empty();
  for (const RegionReport& region : regions.List(caller)) {
    if (region.kind != kind || region.name.owner != caller.name) continue;
    if (!name.empty() && region.name.name != name) continue;
    add(region);
    is_there = true;
  }
  if (is_there) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat("name: there is no region ", Quoted(name)));
}

}  // namespace

void InferenceServiceImpl::ServeSystemMemory() {
  using inference::SystemSharedMemoryStatusRequest, inference::SystemSharedMemoryStatusResponse,
      inference::SystemSharedMemoryRegisterRequest, inference::SystemSharedMemoryRegisterResponse,
      inference::SystemSharedMemoryUnregisterRequest,
      inference::SystemSharedMemoryUnregisterResponse;
  Serve(SmallHandler::Here<SystemSharedMemoryStatusRequest, SystemSharedMemoryStatusResponse>(
      services_, Method::kSystemSharedMemoryStatus,
      [this](const Asker& asker, const auto& request, auto* response) {
        const auto add = [response](const RegionReport& region) {
          auto& status = (*response->mutable_regions())[region.name.name];
          status.set_name(region.name.name);
          status.set_key(region.key);
          status.set_offset(static_cast<std::uint64_t>(region.offset_bytes));
          status.set_byte_size(static_cast<std::uint64_t>(region.size_bytes));
        };
        return ForEach(services_.regions, asker.caller, RegionKind::kSystem, request.name(), add);
      }));
  // Sizes above 2^63 become negative, and are refused as such.
  Serve(
      SmallHandler::OnWorker<SystemSharedMemoryRegisterRequest, SystemSharedMemoryRegisterResponse>(
          services_, Method::kSystemSharedMemoryRegister,
          [this](const Asker& asker, const auto& request, auto* /*response*/) {
            asker.subject.region = request.name();
            const Caller& caller = asker.caller;
            return Renamed(services_.regions.RegisterShared(
                {caller.name, request.name()}, request.key(),
                static_cast<std::int64_t>(request.offset()),
                static_cast<std::int64_t>(request.byte_size()), caller.quotas));
          }));
  // As in Triton, a name that is not there is no error.
  Serve(SmallHandler::Later<SystemSharedMemoryUnregisterRequest,
                            SystemSharedMemoryUnregisterResponse>(
      services_, Method::kSystemSharedMemoryUnregister,
      [this](const Asker& asker, const auto& request, auto* /*response*/, const SmallDone& done) {
        asker.subject.region = request.name();
        const Caller& caller = asker.caller;
        services_.regions.UnregisterAll(RegionKind::kSystem, {caller.name, request.name()}, done);
      }));
}

void InferenceServiceImpl::ServeCudaMemory() {
  using inference::CudaSharedMemoryStatusRequest, inference::CudaSharedMemoryStatusResponse,
      inference::CudaSharedMemoryRegisterRequest, inference::CudaSharedMemoryRegisterResponse,
      inference::CudaSharedMemoryUnregisterRequest, inference::CudaSharedMemoryUnregisterResponse;
  Serve(SmallHandler::Here<CudaSharedMemoryStatusRequest, CudaSharedMemoryStatusResponse>(
      services_, Method::kCudaSharedMemoryStatus,
      [this](const Asker& asker, const auto& request, auto* response) {
        const auto add = [response](const RegionReport& region) {
          auto& status = (*response->mutable_regions())[region.name.name];
          status.set_name(region.name.name);
          status.set_device_id(static_cast<std::uint64_t>(region.device_ordinal));
          status.set_byte_size(static_cast<std::uint64_t>(region.size_bytes));
        };
        return ForEach(services_.regions, asker.caller, RegionKind::kCuda, request.name(), add);
      }));
  Serve(SmallHandler::OnWorker<CudaSharedMemoryRegisterRequest, CudaSharedMemoryRegisterResponse>(
      services_, Method::kCudaSharedMemoryRegister,
      [this](const Asker& asker, const auto& request, auto* /*response*/) {
        asker.subject.region = request.name();
        const Caller& caller = asker.caller;
        return Renamed(services_.regions.RegisterCuda(
            {caller.name, request.name()}, request.raw_handle(), request.device_id(),
            static_cast<std::int64_t>(request.byte_size()), caller.quotas));
      }));
  Serve(SmallHandler::Later<CudaSharedMemoryUnregisterRequest, CudaSharedMemoryUnregisterResponse>(
      services_, Method::kCudaSharedMemoryUnregister,
      [this](const Asker& asker, const auto& request, auto* /*response*/, const SmallDone& done) {
        asker.subject.region = request.name();
        const Caller& caller = asker.caller;
        services_.regions.UnregisterAll(RegionKind::kCuda, {caller.name, request.name()}, done);
      }));
}

}  // namespace warpfold::kserve
