#include "client/cpp/connection.h"

#include <grpc/grpc.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>

#include "client/cpp/call_scope.h"
#include "client/cpp/message.h"

namespace warpfold::client {
namespace {

// One client-streaming call in progress, one message in the transport at a time. Letting gRPC
// buffer more (buffer_hint and a 4 MiB write buffer) gained nothing: 3.2 GB/s against 3.3 (null
// server, 256 MiB, H200 host, 2026-11-21). Every operation that was started is awaited before the
// object goes.
class StreamCall {
 public:
  StreamCall(grpc::GenericStub& stub, const char* method, const CallLimits& limits)
      : context_(limits) {
    context_.get()->set_initial_metadata_corked(true);  // travels with the first message
    stream_ = stub.PrepareCall(context_.get(), method, scope_.queue());
    stream_->StartCall(AsTag(kStarted));  // corked: no event
    stream_->Read(&reply_.response, AsTag(kRead));
    read_pending_ = true;
  }

  // Sends one message and waits until the transport took it. False when the call is over, or
  // answered.
  bool Write(const std::string& head, std::span<const std::byte> payload,
             const grpc::WriteOptions& options) {
    stream_->Write(JoinMessage(scope_, head, payload), options, AsTag(kWritten));
    return AwaitWritten() && read_pending_;
  }

  CallReply Finish(bool half_close) {
    if (half_close) {
      stream_->WritesDone(AsTag(kWritten));
      AwaitWritten();
    }
    while (read_pending_) Next();
    stream_->Finish(&reply_.status, AsTag(kFinished));
    while (!finished_) Next();
    reply_.pushback_ms = context_.PushbackTrailer();
    return std::move(reply_);
  }

 private:
  bool AwaitWritten() {
    written_.reset();
    while (!written_.has_value()) Next();
    return *written_;
  }

  void Next() {
    bool ok = false;
    switch (scope_.Next(ok)) {
      case kStarted:
        break;
      case kRead:
        read_pending_ = false;
        break;
      case kWritten:
        written_ = ok;
        break;
      case kFinished:
        finished_ = true;
        break;
    }
  }

  CallScope scope_;
  CallContext context_;
  CallReply reply_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
  bool read_pending_ = false;
  bool finished_ = false;
  std::optional<bool> written_;
};

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

grpc::ChannelArguments ArgumentsFor(const ConnectionOptions& options) {
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
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS,
                   static_cast<int>(options.keepalive_interval.count()));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                   static_cast<int>(options.stalled_peer_timeout.count()));
  arguments.SetLoadBalancingPolicyName("round_robin");
  if (!options.tls_server_name.empty()) {
    arguments.SetSslTargetNameOverride(options.tls_server_name);
  }
  return arguments;
}

}  // namespace

Connection::Connection(const std::string& target, const ConnectionOptions& options)
    : stub_(grpc::CreateCustomChannel(
          target, options.credentials ? options.credentials : grpc::InsecureChannelCredentials(),
          ArgumentsFor(options))) {
  KeepGrpcInitialised();
}

CallReply Connection::Unary(const char* method, const std::string& head,
                            std::span<const std::byte> payload, const CallLimits& limits) {
  CallScope scope;
  CallContext context(limits);
  CallReply reply;
  const auto call = stub_.PrepareUnaryCall(context.get(), method, JoinMessage(scope, head, payload),
                                           scope.queue());
  call->StartCall();
  call->Finish(&reply.response, &reply.status, AsTag(kFinished));
  bool ok = false;
  if (!scope.LookFor(limits.look_max, ok).has_value()) scope.Next(ok);
  reply.pushback_ms = context.PushbackTrailer();
  return reply;
}

CallReply Connection::Stream(const char* method, const std::string& header,
                             std::span<const std::byte> payload, std::size_t chunk_bytes,
                             const CallLimits& limits, const ProgressCallback& progress) {
  StreamCall call(stub_, method, limits);
  bool open = call.Write(header, {}, grpc::WriteOptions().set_buffer_hint());
  const std::string full_prefix = PayloadPrefix(chunk_bytes);
  std::size_t sent_bytes = 0;
  while (open && sent_bytes < payload.size()) {
    const auto chunk =
        payload.subspan(sent_bytes, std::min(chunk_bytes, payload.size() - sent_bytes));
    open = call.Write(chunk.size() == chunk_bytes ? full_prefix : PayloadPrefix(chunk.size()),
                      chunk, grpc::WriteOptions());
    sent_bytes += chunk.size();
    if (open && progress) progress(static_cast<std::int64_t>(sent_bytes));
  }
  return call.Finish(open);
}

}  // namespace warpfold::client
