// ReduceMany and ModelStreamInfer: many small tensors on one stream, each answered by itself, in
// the order the answers are ready or in the order the requests came.
//
// Step of a request: 1. Reactions parse, admit and queue items; workers' threads hand the answers
// to an outbox that is written one message at a time. At most kItemsInFlightMax items, and of
// callers who are told apart a quarter of what the server takes in all their streams, are on their
// way, from read to written, and no more is read while kUnsentBytesMax of answers wait: a client
// that does not read its answers is not read from either, and is let go when one has waited too
// long, sooner while others are refused for want of bytes. An item's place among the requests in
// flight ends when it has its answer, whose bytes stay held until it is written. So do those of
// refusals, which are sent though there is no room: then no more is read until all are written.
//
// Where callers are told apart, a small item waits until its stream has a turn (item_turn.h): so
// however many streams one caller has, those of another get the processors, too. An item whose
// tensor is on the server ends the turn: others do its work.
//
// A stream is an open call (open_calls.h): one that waits for its client gives way to others.
//
// A stream that has nothing on its way and brings no whole message for --message-timeout-ms ends:
// gRPC does not tell half a message from none.
#ifndef WARPFOLD_SERVER_FRONTEND_CALLS_REDUCE_MANY_CALL_H_
#define WARPFOLD_SERVER_FRONTEND_CALLS_REDUCE_MANY_CALL_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/core/admission/admission.h"
#include "server/core/base/watchdog.h"
#include "server/frontend/calls/item_turn.h"
#include "server/frontend/calls/outbox.h"
#include "server/frontend/calls/raw_service.h"
#include "server/frontend/requests/codec.h"
#include "server/frontend/requests/services.h"

namespace warpfold {

// Enough to keep every worker busy while answers travel; few enough that one stream cannot fill the
// server's queue.
inline constexpr std::size_t kItemsInFlightMax = 64;
// Of answers that are ready: some of the largest that small tensors have.
inline constexpr std::size_t kUnsentBytesMax = std::size_t{4} << 20;
// What an answer that waits holds of memory beside its bytes: 0.8 KB of 32,000 of one float (RSS).
inline constexpr std::int64_t kUnwrittenItemBytes = std::int64_t{1} << 10;

class ReduceManyCall final : public RawReactor, public Watched {
 public:
  enum class Order { kAsReady, kAsAsked };

  struct Protocol {
    Method method;
    Order order;
    std::function<std::unique_ptr<Codec>(const Caller&)> new_codec;  // of one item
  };

  // Begins to serve the stream; never waits. It owns itself until gRPC is done with it.
  static RawReactor* Begin(Services& services, Protocol protocol, const ArrivedStream& arrived);

  ~ReduceManyCall() override;
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  class Item;
  using Items = std::list<std::unique_ptr<Item>>;
  // What the watchdog is set on.
  enum class Waits { kNot, kForMessage, kForWrite };

  // What to tell gRPC once the lock is gone.
  struct Steps {
    bool read = false;
    bool write = false;
    bool more = false;  // to write, right after it
    bool finish = false;
    absl::Status status;  // to finish with
    std::shared_ptr<ItemTurn> ended;
  };

  ReduceManyCall(Services& services, Protocol protocol, const ArrivedStream& arrived);
  // Null: the client traces nothing.
  const ServerSpan* span() const { return span_.has_value() ? &*span_ : nullptr; }
  Peer peer() const { return {context_->peer(), caller_.name, span()}; }

  // Before all else: takes its place among the open calls, and begins to read.
  Steps FirstSteps() ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether the message read last is served at once: it needs no turn, or is within the stream's.
  bool IsServedAtOnce() ABSL_LOCKS_EXCLUDED(mutex_);
  void EnterLine() ABSL_LOCKS_EXCLUDED(mutex_);
  // Serves the message read last. Whether the turn lasts.
  bool OnTurn(const std::shared_ptr<ItemTurn>& turn) ABSL_LOCKS_EXCLUDED(mutex_);
  // The message read last, which has waited. One that is refused already is parsed, too: its client
  // knows the answer by its id.
  void ServeItem(std::chrono::nanoseconds waited, absl::Status status) ABSL_LOCKS_EXCLUDED(mutex_);
  // The turn that ends with it, if one does.
  std::shared_ptr<ItemTurn> EndRead(bool ok) ABSL_LOCKS_EXCLUDED(mutex_);
  // The watchdog waits for no message any more.
  void NoticeMessage() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Among the items, with a place in the outbox if answers go in the order asked. Null: the stream
  // has ended. One that is not done here is the last of its turn.
  Item* AddItem(std::unique_ptr<Item> item, bool is_done_here) ABSL_LOCKS_EXCLUDED(mutex_);
  // What the refusal of an item holds, of so many bytes, until it is written; nothing more is read
  // meanwhile if there is no room.
  AdmissionTicket ChargeRefusal(std::int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // The answer of the item at `position`, which goes.
  void ItemAnswered(Items::iterator position, Outbox::Answer answer) ABSL_LOCKS_EXCLUDED(mutex_);
  std::size_t ItemsMax() const;
  // Decides, and notes the reads and writes as under way.
  Steps NextSteps() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NextWrite(Steps& steps) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Sets the watchdog on what the stream waits for now.
  void Watch(std::size_t in_flight) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnOverdue() override ABSL_LOCKS_EXCLUDED(mutex_);
  bool GiveWay(Shortage& shortage) override ABSL_LOCKS_EXCLUDED(mutex_);
  // How the stream ends.
  absl::Status Ending() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Nothing of this object may be touched after it: the stream may be gone.
  void Take(const Steps& steps) ABSL_LOCKS_EXCLUDED(mutex_);
  // All but the turn that has ended.
  void TakeCalls(const Steps& steps) ABSL_LOCKS_EXCLUDED(mutex_);

  Services& services_;
  const Protocol protocol_;
  grpc::CallbackServerContext* const context_;
  const Caller& caller_;
  const std::optional<ServerSpan> span_;
  const std::shared_ptr<Connection> connection_;
  const std::chrono::steady_clock::time_point start_;
  std::shared_ptr<ReduceManyCall> self_;  // from Begin to OnDone
  grpc::ByteBuffer request_;              // of the one read under way
  grpc::ByteBuffer response_;             // of the one write under way

  absl::Mutex mutex_;
  Items items_ ABSL_GUARDED_BY(mutex_);
  Outbox outbox_ ABSL_GUARDED_BY(mutex_);
  AdmissionTicket writing_held_ ABSL_GUARDED_BY(mutex_);
  std::size_t writing_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::chrono::milliseconds write_timeout_ ABSL_GUARDED_BY(mutex_){0};
  Waits waits_ ABSL_GUARDED_BY(mutex_) = Waits::kNot;
  std::shared_ptr<ItemTurn> turn_ ABSL_GUARDED_BY(mutex_);  // null: it has none
  bool in_line_ ABSL_GUARDED_BY(mutex_) = false;  // the message: the stream does not end meanwhile
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;  // until the message is an item
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_written_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;      // the client half-closed
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;  // nobody reads answers any more
  bool held_back_ ABSL_GUARDED_BY(mutex_) = false;  // until all answers are written
  OpenCalls::Place open_;
  absl::Status ending_ ABSL_GUARDED_BY(mutex_);  // not OK: why the server ends the stream
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;  // the context is gone
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_CALLS_REDUCE_MANY_CALL_H_
