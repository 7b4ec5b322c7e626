#include "server/frontend/running_server.h"

#include <chrono>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "grpcpp/grpcpp.h"
#include "warpfold/v1/reduction.grpc.pb.h"

namespace warpfold {
namespace {

std::string Reachable(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  const std::string host = address.substr(0, colon);
  const std::string port = address.substr(colon);
  if (host.empty() || host == "0.0.0.0") return absl::StrCat("127.0.0.1", port);
  return host == "[::]" ? absl::StrCat("[::1]", port) : address;
}

}  // namespace

absl::StatusOr<std::string> AskServerVersion(const std::string& address) {
  const auto stub = v1::ReductionService::NewStub(
      grpc::CreateChannel(Reachable(address), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(2));
  v1::GetServerInfoResponse info;
  const grpc::Status status = stub->GetServerInfo(&context, {}, &info);
  if (status.ok()) return info.version();
  if (absl::StartsWith(status.error_message(), "starting: ")) return "that is starting";
  return absl::UnavailableError(status.error_message());
}

}  // namespace warpfold
