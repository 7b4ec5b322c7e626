// `warpfold health`: one question to grpc.health.v1.Health, for container health checks and probes.
// Unlike `info` it tells a server that drains from one that serves, and it never tries again.
#include <iostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/cpp/cli/commands.h"
#include "client/cpp/connection.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/wire_format_lite.h"
#include "grpcpp/support/proto_buffer_reader.h"

namespace warpfold::client {
namespace {

using google::protobuf::internal::WireFormatLite;

constexpr char kCheckMethod[] = "/grpc.health.v1.Health/Check";

// The health proto is not among gRPC's installed headers; both messages have one field, 1.
std::string CheckRequest(const std::string& service) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream out(&stream);
  WireFormatLite::WriteString(1, service, &out);
  out.Trim();
  return bytes;
}

// The answer's ServingStatus by its name in the proto.
std::string StatusName(grpc::ByteBuffer& response) {
  static constexpr const char* kNames[] = {"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"};
  grpc::ProtoBufferReader reader(&response);
  google::protobuf::io::CodedInputStream in(&reader);
  std::uint32_t status = 0;
  if (in.ReadTag() != WireFormatLite::MakeTag(1, WireFormatLite::WIRETYPE_VARINT)) return kNames[0];
  const bool is_read = in.ReadVarint32(&status);
  return is_read && status < std::size(kNames) ? kNames[status] : kNames[0];
}

}  // namespace

absl::Status RunHealth(const ServerFlags& server, const HealthFlags& flags) {
  const absl::StatusOr<ConnectionOptions> options = ConnectionOptionsOf(server);
  if (!options.ok()) return options.status();
  Connection connection(server.server, *options);
  const CallLimits limits{.deadline = std::chrono::system_clock::now() + TimeoutOf(server),
                          .stop = {}};
  CallReply reply = connection.Unary(kCheckMethod, CheckRequest(flags.service), {}, limits);
  if (!reply.status.ok()) {
    // Whatever the code is: a server without this service is not a mistake of the user's here.
    return absl::UnavailableError(absl::StrCat(server.server, ": ", reply.status.error_message()));
  }
  const std::string status = StatusName(reply.response);
  std::cout << (server.json ? absl::StrCat("{\"status\": \"", status, "\"}") : status) << "\n";
  if (status != "SERVING") {
    return absl::UnavailableError(absl::StrCat(server.server, ": does not serve"));
  }
  return absl::OkStatus();
}

}  // namespace warpfold::client
