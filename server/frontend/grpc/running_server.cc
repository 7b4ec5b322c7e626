#include "server/frontend/grpc/running_server.h"

#include <chrono>
#include <string>

#include "absl/status/status.h"
#include "grpcpp/grpcpp.h"
#include "warpfold/v1/reduction.grpc.pb.h"

namespace warpfold {

absl::StatusOr<std::string> AskServerVersion(const ListenAddress& address) {
  const HostPort* tcp = address.tcp();
  const std::string target = tcp != nullptr ? ToString(Reachable(*tcp)) : ToString(address);
  const auto stub = v1::ReductionService::NewStub(
      grpc::CreateChannel(target, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(2));
  v1::GetServerInfoResponse info;
  const grpc::Status status = stub->GetServerInfo(&context, {}, &info);
  if (status.ok()) return info.version();
  // Of what a server says UNAVAILABLE to, its start alone tells when to come again.
  const bool is_starting =
      status.error_code() == grpc::StatusCode::UNAVAILABLE && !status.error_details().empty();
  if (is_starting) return "that is starting";
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

}  // namespace warpfold
