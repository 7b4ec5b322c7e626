#include "server/frontend/wire/status.h"

#include <chrono>
#include <optional>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "server/core/base/refusal.h"

namespace warpfold {
namespace {

std::optional<std::chrono::milliseconds> RetryDelay(const absl::Status& status) {
  const std::optional<Refusal> refusal = RefusalOf(status);
  if (!refusal.has_value()) return std::nullopt;
  const RetryLater* later = std::get_if<RetryLater>(&*refusal);
  if (later == nullptr) return std::nullopt;
  return later->delay;
}

}  // namespace

google::rpc::Status ToRpcStatus(const absl::Status& status) {
  google::rpc::Status rpc;
  rpc.set_code(static_cast<int>(status.code()));
  rpc.set_message(std::string(status.message()));
  if (const auto delay = RetryDelay(status); delay.has_value()) {
    google::rpc::RetryInfo info;
    info.mutable_retry_delay()->set_seconds(delay->count() / 1000);
    info.mutable_retry_delay()->set_nanos(static_cast<int>(delay->count() % 1000) * 1'000'000);
    static_cast<void>(rpc.add_details()->PackFrom(info));  // always true
  }
  return rpc;
}

WireStatus ToWireStatus(const absl::Status& status) {
  WireStatus wire{.code = static_cast<grpc_status_code>(status.code()),
                  .message = std::string(status.message()),
                  .trailers = {}};
  if (const auto delay = RetryDelay(status); delay.has_value()) {
    wire.trailers.emplace_back("grpc-retry-pushback-ms", absl::StrCat(delay->count()));
    wire.trailers.emplace_back("grpc-status-details-bin", ToRpcStatus(status).SerializeAsString());
  }
  return wire;
}

grpc::Status ToGrpcStatus(const absl::Status& status, const ServerSpan* span,
                          grpc::CallbackServerContext& context) {
  const WireStatus wire = ToWireStatus(status);
  for (const auto& [key, value] : wire.trailers) context.AddTrailingMetadata(key, value);
  if (span != nullptr) context.AddTrailingMetadata("traceparent", ToTraceparent(span->context));
  return {static_cast<grpc::StatusCode>(wire.code), wire.message};
}

}  // namespace warpfold
