#include "server/frontend/kserve/inference_service.h"

#include <memory>

#include "server/frontend/call_record.h"
#include "server/frontend/kserve/infer_exchange.h"
#include "server/frontend/kserve/models.h"
#include "server/frontend/plain_call.h"
#include "server/frontend/reduce_call.h"
#include "server/frontend/reduce_many_call.h"

namespace warpfold::kserve {
namespace {

constexpr char kServerName[] = "warpfold";
// Those that are here in full, of the names that Triton gave them.
constexpr const char* kExtensions[] = {"model_configuration", "binary_tensor_data", "parameters",
                                       "statistics"};

}  // namespace

using Reactor = InferenceServiceImpl::Reactor;

Reactor* InferenceServiceImpl::Answer(Context* context, Method method, const absl::Status& status) {
  // Made only now: what these methods do takes less than the shortest duration told apart.
  CallRecord record(services_.metrics, method);
  return AnswerPlainCall(services_, context, method, record, "", status);
}

Reactor* InferenceServiceImpl::ModelInfer(Context* context, const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) {
  // As in ReductionServiceImpl::Reduce: the buffer is this call's alone.
  return ReduceCall::Begin(services_, Method::kModelInfer,
                           std::make_unique<InferExchange>(counts_, services_.regions), context,
                           const_cast<grpc::ByteBuffer*>(request), response);
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* InferenceServiceImpl::ModelStreamInfer(
    Context* context) {
  return ReduceManyCall::Begin(
      services_,
      {.method = Method::kModelStreamInfer,
       .order = ReduceManyCall::Order::kAsAsked,
       .new_exchange =
           [this] { return std::make_unique<InferExchange>(counts_, services_.regions); }},
      context);
}

Reactor* InferenceServiceImpl::ServerLive(Context* context,
                                          const inference::ServerLiveRequest* /*request*/,
                                          inference::ServerLiveResponse* response) {
  response->set_live(true);
  return Answer(context, Method::kServerLive);
}

Reactor* InferenceServiceImpl::ServerReady(Context* context,
                                           const inference::ServerReadyRequest* /*request*/,
                                           inference::ServerReadyResponse* response) {
  response->set_ready(serving_);
  return Answer(context, Method::kServerReady);
}

Reactor* InferenceServiceImpl::ServerMetadata(Context* context,
                                              const inference::ServerMetadataRequest* /*request*/,
                                              inference::ServerMetadataResponse* response) {
  response->set_name(kServerName);
  response->set_version(version_);
  for (const char* extension : kExtensions) response->add_extensions(extension);
  const RegionLimits& regions = services_.limits.Get().regions;
  if (!regions.shared_prefix.empty()) response->add_extensions("system_shared_memory");
  if (regions.cuda_bytes_max > 0) response->add_extensions("cuda_shared_memory");
  return Answer(context, Method::kServerMetadata);
}

Reactor* InferenceServiceImpl::ModelReady(Context* context,
                                          const inference::ModelReadyRequest* request,
                                          inference::ModelReadyResponse* response) {
  response->set_ready(serving_ && FindModel(request->name(), request->version(), "").ok());
  return Answer(context, Method::kModelReady);
}

Reactor* InferenceServiceImpl::ModelMetadata(Context* context,
                                             const inference::ModelMetadataRequest* request,
                                             inference::ModelMetadataResponse* response) {
  const absl::StatusOr<const Model*> model = FindModel(request->name(), request->version(), "");
  if (model.ok()) Describe(**model, response);
  return Answer(context, Method::kModelMetadata, model.status());
}

Reactor* InferenceServiceImpl::ModelConfig(Context* context,
                                           const inference::ModelConfigRequest* request,
                                           inference::ModelConfigResponse* response) {
  const absl::StatusOr<const Model*> model = FindModel(request->name(), request->version(), "");
  if (model.ok()) Describe(**model, response->mutable_config());
  return Answer(context, Method::kModelConfig, model.status());
}

Reactor* InferenceServiceImpl::ModelStatistics(Context* context,
                                               const inference::ModelStatisticsRequest* request,
                                               inference::ModelStatisticsResponse* response) {
  if (request->name().empty()) {
    for (const Model& model : AllModels()) counts_.Fill(model, response->add_model_stats());
    return Answer(context, Method::kModelStatistics);
  }
  const absl::StatusOr<const Model*> model = FindModel(request->name(), request->version(), "");
  if (model.ok()) counts_.Fill(**model, response->add_model_stats());
  return Answer(context, Method::kModelStatistics, model.status());
}

Reactor* InferenceServiceImpl::RepositoryIndex(Context* context,
                                               const inference::RepositoryIndexRequest* request,
                                               inference::RepositoryIndexResponse* response) {
  const bool ready = serving_;
  for (const Model& model : AllModels()) {
    if (request->ready() && !ready) continue;
    inference::RepositoryIndexResponse::ModelIndex* entry = response->add_models();
    entry->set_name(model.name);
    entry->set_version(kModelVersion);
    entry->set_state(ready ? "READY" : "UNAVAILABLE");
    if (!ready) entry->set_reason("the server is starting or shutting down");
  }
  return Answer(context, Method::kRepositoryIndex);
}

}  // namespace warpfold::kserve
