#include "client/cpp/connection.h"

#include <grpc/grpc.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/slice.h>

#include <algorithm>
#include <charconv>

#include "client/cpp/message.h"
#include "client/cpp/payload_loan.h"

namespace warpfold::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::system_clock;

// Below this a payload is copied into the message's one slice: the copy takes less time than a
// second slice and its bookkeeping, and a copy needs no loan.
constexpr std::size_t kCopyBytesMax = 16 * 1024;

enum Tag : std::intptr_t { kStarted = 1, kRead, kWritten, kFinished };

void* AsTag(Tag tag) { return reinterpret_cast<void*>(static_cast<std::intptr_t>(tag)); }

// A call's completion queue and the payload lent to the call. Declared before the call's other
// objects, so that it dies last: its destructor polls until gRPC has given the payload back.
class CallScope {
 public:
  CallScope() = default;
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  ~CallScope() {
    void* tag = nullptr;
    bool ok = false;
    // The transport moves only while somebody polls, and after the call's end that is nobody but
    // us.
    while (!loan_.Returned()) queue_.AsyncNext(&tag, &ok, system_clock::now() + milliseconds(5));
    queue_.Shutdown();
    while (queue_.Next(&tag, &ok)) {
    }
  }

  grpc::CompletionQueue* queue() { return &queue_; }
  grpc::Slice Lend(std::span<const std::byte> bytes) { return loan_.Lend(bytes); }

  // Blocks for the next event; `ok` says whether the operation succeeded.
  Tag Next(bool& ok) {
    void* tag = nullptr;
    queue_.Next(&tag, &ok);
    return static_cast<Tag>(reinterpret_cast<std::intptr_t>(tag));
  }

 private:
  PayloadLoan loan_;
  grpc::CompletionQueue queue_;
};

// The context of one attempt; a stop request cancels it.
class CallContext {
 public:
  explicit CallContext(const CallLimits& limits)
      : on_stop_(limits.stop, [this] { context_.TryCancel(); }) {
    context_.set_deadline(limits.deadline);
  }

  grpc::ClientContext* get() { return &context_; }

  // REQUIRES: the call has finished.
  std::optional<std::int64_t> PushbackTrailer() const {
    const auto& trailers = context_.GetServerTrailingMetadata();
    const auto found = trailers.find("grpc-retry-pushback-ms");
    if (found == trailers.end()) return std::nullopt;
    const grpc::string_ref text = found->second;
    std::int64_t milliseconds = -1;  // what cannot be read means "do not retry", as in gRPC
    std::from_chars(text.data(), text.data() + text.size(), milliseconds);
    return milliseconds;
  }

 private:
  grpc::ClientContext context_;
  std::stop_callback<std::function<void()>> on_stop_;  // after context_: gone before it
};

// `head` and `payload` as one message; small payloads copied, others lent.
grpc::ByteBuffer JoinMessage(CallScope& scope, const std::string& head,
                             std::span<const std::byte> payload) {
  if (payload.size() <= kCopyBytesMax) {
    grpc::Slice joined(head.size() + payload.size());
    // A slice of its own is writable until it is shared.
    auto* out = const_cast<std::uint8_t*>(joined.begin());
    out = std::copy(head.begin(), head.end(), out);
    std::copy_n(reinterpret_cast<const std::uint8_t*>(payload.data()), payload.size(), out);
    return grpc::ByteBuffer(&joined, 1);
  }
  const grpc::Slice slices[] = {grpc::Slice(head), scope.Lend(payload)};
  return grpc::ByteBuffer(slices, 2);
}

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
  // gRPC sets TCP_USER_TIMEOUT to the keepalive timeout once keepalive is on. The ping itself is
  // not wanted: servers take frequent ones for abuse, so it comes every half hour, and only during
  // calls.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30 * 60 * 1000);
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
  scope.Next(ok);
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
