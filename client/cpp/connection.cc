#include "client/cpp/connection.h"

#include <grpc/grpc.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/cpp/call_scope.h"
#include "client/cpp/message.h"
#include "client/cpp/stream_call.h"
#include "client/cpp/target.h"

namespace warpfold::client {
namespace {

// Keeps gRPC initialised for the rest of the process. Otherwise the end of the last Connection
// shuts gRPC down, which waits on that thread, up to 10 s, until the transport has released
// everything. Three of some 300 runs that streamed 256 MiB tensors on a busy machine (2026-11-21)
// took 10 s longer than their requests, and this wait is the only one of that length on the way
// out.
void KeepGrpcInitialised() {
  [[maybe_unused]] static const bool kept = [] {
    grpc_init();
    return true;
  }();
}

// gRPC's name since 1.60 or so, of which the headers of 1.51 know nothing: there the keepalive
// timeout ends the wait for a PING's answer, later this does (1.80 never sets the timer of the
// other).
constexpr char kPingTimeoutArgument[] = "grpc.http2.ping_timeout_ms";

// The limits of a connection whose silent server is asked whether it is there.
void AskSilentServers(const ConnectionOptions& options, grpc::ChannelArguments& arguments) {
  const int ping_timeout_ms = static_cast<int>(options.ping_timeout.count());
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, static_cast<int>(options.ping_after.count()));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, ping_timeout_ms);
  arguments.SetInt(kPingTimeoutArgument, ping_timeout_ms);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // 0: any number; a call waits long
  // gRPC sends no PING within 1 s of the last, and those that measure the bandwidth count: the
  // first call to a server that has just stopped took 1.4 s with them and 0.7 without. Small calls
  // need no large windows.
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
}

grpc::ChannelArguments ArgumentsFor(const ConnectionOptions& options, ConnectionUse use) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(options.response_bytes_max);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);  // retry.h says why
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL,
                   1);  // a connection of its own, not a shared one
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS,
                   static_cast<int>(options.reconnect_backoff.count()));
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
  // gRPC sets TCP_USER_TIMEOUT to the keepalive timeout once keepalive is on; the ping itself comes
  // only during calls.
  if (use == ConnectionUse::kSmallCalls) {
    AskSilentServers(options, arguments);
  } else {
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS,
                     static_cast<int>(options.keepalive_interval.count()));
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                     static_cast<int>(options.stalled_peer_timeout.count()));
  }
  arguments.SetLoadBalancingPolicyName("round_robin");
  if (!options.tls_server_name.empty()) {
    arguments.SetSslTargetNameOverride(options.tls_server_name);
  }
  return arguments;
}

}  // namespace

Connection::Connection(const std::string& target, const ConnectionOptions& options,
                       ConnectionUse use)
    : authorization_(options.token.empty() ? "" : absl::StrCat("Bearer ", options.token)),
      stub_(grpc::CreateCustomChannel(
          WithDefaultPort(target),
          options.credentials ? options.credentials : grpc::InsecureChannelCredentials(),
          ArgumentsFor(options, use))) {
  KeepGrpcInitialised();
}

CallReply Connection::Unary(const char* method, const std::string& head,
                            std::span<const std::byte> payload, const CallLimits& limits) {
  CallScope scope(queues_.Take());
  CallContext context(limits, authorization_);
  CallReply reply;
  const auto call = stub_.PrepareUnaryCall(context.get(), method, JoinMessage(scope, head, payload),
                                           scope.queue());
  call->StartCall();
  call->Finish(&reply.response, &reply.status, AsTag(kFinished));
  bool ok = false;
  if (!scope.BusyPoll(limits.spin_max, ok).has_value()) scope.Next(ok);
  scope.LeaveQueueTo(queues_);
  reply.pushback_ms = context.PushbackTrailer();
  return reply;
}

CallReply Connection::Stream(const char* method, const std::string& header,
                             std::span<const std::byte> payload, std::size_t chunk_bytes,
                             const CallLimits& limits, const ProgressCallback& progress) {
  StreamCall call(*this, method, limits);
  const auto write = [&call](const std::string& head, std::span<const std::byte> bytes,
                             const grpc::WriteOptions& options) {
    return call.Write(JoinMessage(call.scope(), head, bytes), options) && !call.has_answer();
  };
  bool open = write(header, {}, grpc::WriteOptions().set_buffer_hint());
  const std::string full_prefix = PayloadPrefix(chunk_bytes);
  std::size_t sent_bytes = 0;
  while (open && sent_bytes < payload.size()) {
    const auto chunk =
        payload.subspan(sent_bytes, std::min(chunk_bytes, payload.size() - sent_bytes));
    open = write(chunk.size() == chunk_bytes ? full_prefix : PayloadPrefix(chunk.size()), chunk,
                 grpc::WriteOptions());
    sent_bytes += chunk.size();
    if (open && limits.silence != nullptr) {
      limits.silence->Sent(static_cast<std::int64_t>(sent_bytes));
    }
    if (open && progress) progress(static_cast<std::int64_t>(sent_bytes));
  }
  if (open) call.Close();
  CallReply reply;
  reply.status = call.Finish();
  reply.pushback_ms = call.PushbackTrailer();
  call.Read(std::chrono::system_clock::time_point(), reply.response);
  return reply;
}

}  // namespace warpfold::client
