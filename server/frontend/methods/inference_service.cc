#include "server/frontend/methods/inference_service.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/frontend/calls/reduce_many_call.h"
#include "server/frontend/calls/unary_call.h"
#include "server/frontend/kserve/infer_codec.h"
#include "server/frontend/kserve/models.h"
#include "server/frontend/methods/small_handler.h"
#include "server/frontend/requests/reduction.h"

namespace warpfold::kserve {
namespace {

constexpr char kServerName[] = "warpfold";
// Those that are here in full, of the names that Triton gave them.
constexpr const char* kExtensions[] = {"model_configuration", "binary_tensor_data", "parameters",
                                       "statistics"};

}  // namespace

InferenceServiceImpl::InferenceServiceImpl(const Services& services, std::string version,
                                           const std::atomic<bool>& serving, ModelCounts& counts)
    : RawService(services), version_(std::move(version)), serving_(serving), counts_(counts) {
  ServeInference();
  ServeServer();
  ServeModels();
  ServeSystemMemory();
  ServeCudaMemory();
}

void InferenceServiceImpl::ServeInference() {
  const auto new_codec = [this](InferCodec::Of of, const Caller& caller) {
    return std::make_unique<InferCodec>(of, counts_, services_.regions, caller);
  };
  const UnaryCall::MakeHandler reduction = [this, new_codec](UnaryCall& call) {
    return std::make_unique<Reduction>(services_, Method::kModelInfer,
                                       new_codec(InferCodec::Of::kCall, call.caller()), call);
  };
  Serve({Method::kModelInfer, [this, reduction](ArrivedCall arrived) {
           UnaryCall::Begin(services_, Method::kModelInfer, std::move(arrived),
                            UnaryCall::Reads::kInTurn, reduction);
         }});
  ServeStream(Method::kModelStreamInfer, [this, new_codec](const ArrivedStream& arrived) {
    return ReduceManyCall::Begin(services_,
                                 {.method = Method::kModelStreamInfer,
                                  .order = ReduceManyCall::Order::kAsAsked,
                                  .new_codec =
                                      [new_codec](const Caller& caller) {
                                        return new_codec(InferCodec::Of::kItem, caller);
                                      }},
                                 arrived);
  });
}

void InferenceServiceImpl::ServeServer() {
  Serve(SmallHandler::Here<inference::ServerLiveRequest, inference::ServerLiveResponse>(
      services_, Method::kServerLive, [](const auto& /*request*/, auto* response) {
        response->set_live(true);
        return absl::OkStatus();
      }));
  Serve(SmallHandler::Here<inference::ServerReadyRequest, inference::ServerReadyResponse>(
      services_, Method::kServerReady, [this](const auto& /*request*/, auto* response) {
        response->set_ready(serving_);
        return absl::OkStatus();
      }));
  Serve(SmallHandler::Here<inference::ServerMetadataRequest, inference::ServerMetadataResponse>(
      services_, Method::kServerMetadata, [this](const auto& /*request*/, auto* response) {
        response->set_name(kServerName);
        response->set_version(version_);
        for (const char* extension : kExtensions) response->add_extensions(extension);
        const RegionLimits& regions = services_.limits.Get().regions;
        if (!regions.shared_prefix.empty()) response->add_extensions("system_shared_memory");
        if (regions.cuda_bytes_max > 0) response->add_extensions("cuda_shared_memory");
        return absl::OkStatus();
      }));
  Serve(SmallHandler::Here<inference::RepositoryIndexRequest, inference::RepositoryIndexResponse>(
      services_, Method::kRepositoryIndex, [this](const auto& request, auto* response) {
        FillIndex(request, response);
        return absl::OkStatus();
      }));
}

void InferenceServiceImpl::ServeModels() {
  Serve(SmallHandler::Here<inference::ModelReadyRequest, inference::ModelReadyResponse>(
      services_, Method::kModelReady, [this](const auto& request, auto* response) {
        response->set_ready(serving_ && FindModel(request.name(), request.version(), "").ok());
        return absl::OkStatus();
      }));
  Serve(SmallHandler::Here<inference::ModelMetadataRequest, inference::ModelMetadataResponse>(
      services_, Method::kModelMetadata, [](const auto& request, auto* response) {
        const absl::StatusOr<const Model*> model = FindModel(request.name(), request.version(), "");
        if (model.ok()) Describe(**model, response);
        return model.status();
      }));
  Serve(SmallHandler::Here<inference::ModelConfigRequest, inference::ModelConfigResponse>(
      services_, Method::kModelConfig, [](const auto& request, auto* response) {
        const absl::StatusOr<const Model*> model = FindModel(request.name(), request.version(), "");
        if (model.ok()) Describe(**model, response->mutable_config());
        return model.status();
      }));
  Serve(SmallHandler::Here<inference::ModelStatisticsRequest, inference::ModelStatisticsResponse>(
      services_, Method::kModelStatistics,
      [this](const auto& request, auto* response) { return FillStatistics(request, response); }));
}

absl::Status InferenceServiceImpl::FillStatistics(
    const inference::ModelStatisticsRequest& request,
    inference::ModelStatisticsResponse* response) const {
  if (request.name().empty()) {
    for (const Model& model : AllModels()) counts_.Fill(model, response->add_model_stats());
    return absl::OkStatus();
  }
  const absl::StatusOr<const Model*> model = FindModel(request.name(), request.version(), "");
  if (model.ok()) counts_.Fill(**model, response->add_model_stats());
  return model.status();
}

void InferenceServiceImpl::FillIndex(const inference::RepositoryIndexRequest& request,
                                     inference::RepositoryIndexResponse* response) const {
  const bool ready = serving_;
  for (const Model& model : AllModels()) {
    if (request.ready() && !ready) continue;
    inference::RepositoryIndexResponse::ModelIndex* entry = response->add_models();
    entry->set_name(model.name);
    entry->set_version(kModelVersion);
    entry->set_state(ready ? "READY" : "UNAVAILABLE");
    if (!ready) entry->set_reason("the server is starting or shutting down");
  }
}

}  // namespace warpfold::kserve
