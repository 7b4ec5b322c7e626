// ReduceMany and ModelStreamInfer: many small tensors on one stream, each answered by itself, in
// the order the answers are ready or in the order the requests came.
//
// Step of a request: 1. Reactions parse, admit and queue items; lanes' threads hand the answers to
// an outbox that is written one message at a time. At most kItemsInFlightMax items are on their
// way, from read to written: a client that does not read its answers is not read from either.
#ifndef WARPFOLD_SERVER_FRONTEND_REDUCE_MANY_CALL_H_
#define WARPFOLD_SERVER_FRONTEND_REDUCE_MANY_CALL_H_

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/frontend/call_record.h"
#include "server/frontend/exchange.h"
#include "server/frontend/job.h"

namespace warpfold {

// Enough to keep every lane busy while answers travel; few enough that one stream cannot fill the
// server's queue.
inline constexpr std::size_t kItemsInFlightMax = 64;

class ReduceManyCall final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  enum class Order { kAsReady, kAsAsked };

  struct Protocol {
    Method method;
    Order order;
    std::function<std::unique_ptr<Exchange>()> new_exchange;  // of one item
  };

  // Begins to serve the stream; never waits. The reactor deletes itself when gRPC is done with it.
  static grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Begin(
      Services& services, Protocol protocol, grpc::CallbackServerContext* context);

  ~ReduceManyCall() override;
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override { delete this; }

 private:
  class Item;
  using Items = std::list<std::unique_ptr<Item>>;
  // Answers to be written, from the front; one that is not there yet holds up those behind it.
  using Outbox = std::list<std::optional<grpc::ByteBuffer>>;

  // What to tell gRPC once the lock is gone.
  struct Steps {
    bool read = false;
    bool write = false;
    bool more = false;  // to write, right after it
    bool finish = false;
    absl::StatusCode code = absl::StatusCode::kOk;
  };

  ReduceManyCall(Services& services, Protocol protocol, grpc::CallbackServerContext* context);

  void ServeItem() ABSL_LOCKS_EXCLUDED(mutex_);
  // Among the items, with a place in the outbox if answers go in the order asked.
  Item& AddItem(std::unique_ptr<Item> item) ABSL_LOCKS_EXCLUDED(mutex_);
  // Empties `answer`.
  void PutAnswer(const Item& item, grpc::ByteBuffer& answer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The answer of the item at `position`, which goes.
  void ItemAnswered(Items::iterator position, grpc::ByteBuffer answer) ABSL_LOCKS_EXCLUDED(mutex_);
  // Decides, and notes the reads and writes as under way.
  Steps NextSteps() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Nothing of this object may be touched after it: the stream may be gone.
  void Take(const Steps& steps) ABSL_LOCKS_EXCLUDED(mutex_);

  Services& services_;
  const Protocol protocol_;
  grpc::CallbackServerContext* const context_;
  CallRecord record_;
  grpc::ByteBuffer request_;   // of the one read under way
  grpc::ByteBuffer response_;  // of the one write under way

  absl::Mutex mutex_;
  Items items_ ABSL_GUARDED_BY(mutex_);
  Outbox outbox_ ABSL_GUARDED_BY(mutex_);
  bool reading_ ABSL_GUARDED_BY(mutex_) = true;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_written_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;      // the client half-closed
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;  // nobody reads answers any more
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_REDUCE_MANY_CALL_H_
