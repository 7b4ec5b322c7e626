#include "client/cpp/small_call.h"

#include <memory>

#include "absl/strings/match.h"

namespace warpfold::client {
namespace {

// gRPC has one code for all that ends a connection; these are its words from 1.51 to 1.80. Those of
// a GOAWAY frame are HTTP/2's, from servers of other libraries.
bool SaysTooManyPings(const std::string& message) {
  return absl::StrContains(message, "Too many pings") ||
         absl::StrContains(message, "too_many_pings");
}
bool SaysPingUnanswered(const std::string& message) {
  return absl::StrContains(message, "keepalive watchdog timeout") ||
         absl::StrContains(message, "ping timeout");
}

}  // namespace

CallReply SmallCall::Try(const char* method, const std::string& head,
                         std::span<const std::byte> payload, const CallLimits& limits) {
  const std::shared_ptr<Connection> connection = connections_.small();
  CallReply reply = connection->Unary(method, head, payload, limits);
  if (reply.status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    connections_.ConnectAnew();
  } else if (reply.status.error_code() == grpc::StatusCode::UNAVAILABLE) {
    if (SaysTooManyPings(reply.status.error_message())) {
      connections_.StopAsking();
    } else if (SaysPingUnanswered(reply.status.error_message())) {
      connections_.ConnectAnew();
      if (++cuts_ % 2 == 0) connections_.AskLessHastily(*connection);
    }
  }
  return reply;
}

}  // namespace warpfold::client
