// What every call on a Connection is made of: its completion queue with the memory lent to it, its
// context, and its messages.
//
// Thread safety: all of it belongs to the thread that makes the call.
#ifndef WARPFOLD_CLIENT_CPP_CALL_SCOPE_H_
#define WARPFOLD_CLIENT_CPP_CALL_SCOPE_H_

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>

#include "client/cpp/connection.h"
#include "client/cpp/payload_loan.h"
#include "client/cpp/queue_pool.h"

namespace warpfold::client {

enum Tag : std::intptr_t { kStarted = 1, kRead, kWritten, kFinished };

inline void* AsTag(Tag tag) { return reinterpret_cast<void*>(static_cast<std::intptr_t>(tag)); }

// A call's completion queue and the payload lent to the call. Declared before the call's other
// objects, so that it dies last: its destructor polls until gRPC has given the payload back.
class CallScope {
 public:
  CallScope() : CallScope(std::make_unique<grpc::CompletionQueue>()) {}
  explicit CallScope(std::unique_ptr<grpc::CompletionQueue> queue) : queue_(std::move(queue)) {}
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;
  ~CallScope();

  grpc::CompletionQueue* queue() { return queue_.get(); }
  grpc::Slice Lend(std::span<const std::byte> bytes) { return loan_.Lend(bytes); }

  // Blocks for the next event; `ok` says whether the operation succeeded.
  Tag Next(bool& ok);
  // The same, until `deadline`: nullopt when it has passed.
  std::optional<Tag> NextUntil(std::chrono::system_clock::time_point deadline, bool& ok);
  // The same for `span`, without sleeping; nullopt too where another thread of the process does.
  std::optional<Tag> BusyPoll(std::chrono::microseconds span, bool& ok);

  // Leaves the queue to `pool`, which must outlive this. REQUIRES: every operation has come out.
  void LeaveQueueTo(QueuePool& pool) { heir_ = &pool; }

 private:
  PayloadLoan loan_;
  std::unique_ptr<grpc::CompletionQueue> queue_;
  QueuePool* heir_ = nullptr;
};

// The context of one attempt; a stop request cancels it.
class CallContext {
 public:
  // `authorization`: of Connection.
  CallContext(const CallLimits& limits, const std::string& authorization)
      : on_stop_(limits.stop, [this] { context_.TryCancel(); }) {
    if (!authorization.empty()) context_.AddMetadata("authorization", authorization);
    if (limits.silence == nullptr) context_.set_deadline(limits.deadline);
  }

  grpc::ClientContext* get() { return &context_; }

  // The trailer grpc-retry-pushback-ms. REQUIRES: the call has finished.
  std::optional<std::int64_t> PushbackTrailer() const;

 private:
  grpc::ClientContext context_;
  std::stop_callback<std::function<void()>> on_stop_;  // after context_: gone before it
};

// `head` and `payload` as one message, in memory of its own.
grpc::ByteBuffer CopyMessage(const std::string& head, std::span<const std::byte> payload);

// The same; a payload that is not small is lent.
grpc::ByteBuffer JoinMessage(CallScope& scope, const std::string& head,
                             std::span<const std::byte> payload);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CALL_SCOPE_H_
