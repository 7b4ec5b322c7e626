#include "server/frontend/calls/reduce_many_call.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "server/frontend/calls/core_call.h"
#include "server/frontend/calls/wait_limits.h"
#include "server/frontend/requests/call_record.h"
#include "server/frontend/requests/reduction.h"
#include "server/frontend/requests/reply.h"
#include "server/frontend/wire/status.h"

namespace warpfold {
class ReduceManyCall::Item final : public Reply {
 public:
  Item(ReduceManyCall& stream, std::chrono::nanoseconds waited)
      : stream_(stream),
        arrival_(std::chrono::steady_clock::now() - waited),
        span_(stream.span_.has_value() ? std::optional(SpanIn(stream.span_->context))
                                       : std::nullopt),
        reduction_(stream.services_, stream.protocol_.method,
                   stream.protocol_.new_codec(stream.caller_), *this) {
    reduction_.submission().task().is_pipelined_stream = true;
    reduction_.OnWaitedInLine(waited);
  }

  Reduction& reduction() { return reduction_; }

  Items::iterator position;
  std::optional<Outbox::Position> place;  // none: at the end, when the answer is ready

 private:
  const Caller& caller() const override { return stream_.caller_; }
  std::chrono::steady_clock::time_point arrival() const override { return arrival_; }
  std::chrono::system_clock::time_point deadline() const override {
    return DeadlineOf(*stream_.context_);
  }
  std::string PeerName() const override { return stream_.context_->peer(); }
  const ServerSpan* span() const override { return span_.has_value() ? &*span_ : nullptr; }
  // One without a ticket is a refusal.
  void Send(const absl::Status& /*status*/, grpc::ByteBuffer& message,
            AdmissionTicket held) override {
    const auto bytes = static_cast<std::int64_t>(message.Length());
    if (held.is_empty()) {
      held = stream_.ChargeRefusal(bytes);
    } else {
      held.Answered(bytes, kUnwrittenItemBytes);
    }
    stream_.ItemAnswered(position, {message, std::move(held)});
  }

  ReduceManyCall& stream_;
  const std::chrono::steady_clock::time_point arrival_;
  const std::optional<ServerSpan> span_;  // within the stream's
  Reduction reduction_;
};

ReduceManyCall::ReduceManyCall(Services& services, Protocol protocol, const ArrivedStream& arrived)
    : services_(services),
      protocol_(std::move(protocol)),
      context_(arrived.context),
      caller_(*arrived.caller),
      span_(arrived.span),
      connection_(services.admission.connections().Find(
          caller_, [this] { return std::string(context_->peer()); }, arrived.at_address)),
      start_(std::chrono::steady_clock::now()) {}

ReduceManyCall::~ReduceManyCall() = default;

RawReactor* ReduceManyCall::Begin(Services& services, Protocol protocol,
                                  const ArrivedStream& arrived) {
  const std::shared_ptr<ReduceManyCall> call(
      new ReduceManyCall(services, std::move(protocol), arrived));
  call->self_ = call;
  if (call->caller_.use != nullptr) ++call->caller_.use->streams;
  services.watchdog.Add(*call);
  call->Take(call->FirstSteps());
  return call.get();
}

ReduceManyCall::Steps ReduceManyCall::FirstSteps() {
  absl::MutexLock lock(&mutex_);
  ending_ = services_.admission.open_calls().Enter(open_, connection_->open_calls);
  return NextSteps();
}

void ReduceManyCall::OnDone() {
  services_.watchdog.Remove(*this);
  if (caller_.use != nullptr) --caller_.use->streams;
  services_.admission.open_calls().Leave(open_);
  const std::shared_ptr<ReduceManyCall> self = std::move(self_);
  absl::MutexLock lock(&mutex_);
  done_ = true;
}

void ReduceManyCall::OnReadDone(bool ok) {
  if (ok && !IsServedAtOnce()) return EnterLine();
  if (ok) ServeItem(std::chrono::nanoseconds(0), absl::OkStatus());
  const std::shared_ptr<ItemTurn> ended = EndRead(ok);
  if (ended != nullptr) ended->Leave();
}

bool ReduceManyCall::IsServedAtOnce() {
  const auto bytes = static_cast<std::int64_t>(request_.Length());
  if (caller_.use == nullptr || bytes > ReadLine::kSmallMessageBytes) return true;
  if (!services_.admission.item_line().IsSharedBy(connection_->items)) return true;
  absl::MutexLock lock(&mutex_);
  return turn_ != nullptr && turn_->TakesItem();
}

void ReduceManyCall::EnterLine() {
  const auto turn = std::make_shared<ItemTurn>(
      services_.admission.item_line(), connection_,
      [call = self_](const std::shared_ptr<ItemTurn>& begun) { return call->OnTurn(begun); });
  std::shared_ptr<ItemTurn> last;
  {
    absl::MutexLock lock(&mutex_);
    in_line_ = true;
    last = std::move(turn_);
    NoticeMessage();
  }
  if (last != nullptr) last->Leave();
  const absl::Status entered = turn->Enter();
  if (entered.ok()) return;  // it may have had its turn, and the stream be over
  ServeItem(turn->waited(), entered);
  EndRead(/*ok=*/true);
}

bool ReduceManyCall::OnTurn(const std::shared_ptr<ItemTurn>& turn) {
  const std::chrono::nanoseconds waited = turn->waited();
  const std::chrono::milliseconds wait_max = services_.limits.Get().queue_timeout;
  {
    absl::MutexLock lock(&mutex_);
    turn_ = turn;
  }
  ServeItem(waited,
            waited > wait_max ? services_.admission.RefuseQueued(wait_max) : absl::OkStatus());
  return EndRead(/*ok=*/true) == nullptr;
}

std::shared_ptr<ItemTurn> ReduceManyCall::EndRead(bool ok) {
  Steps steps;
  {
    absl::MutexLock lock(&mutex_);
    reading_ = in_line_ = false;
    if (!ok) {
      ended_ = true;
      if (context_->IsCancelled()) cancelled_ = true;  // OnCancel may come only after
    }
    steps = NextSteps();
  }
  TakeCalls(steps);
  return std::move(steps.ended);
}

void ReduceManyCall::NoticeMessage() {
  if (waits_ != Waits::kForMessage) return;  // a write goes on waiting, whatever its client asks
  waits_ = Waits::kNot;
  services_.watchdog.NotDue(*this);
}

void ReduceManyCall::ServeItem(std::chrono::nanoseconds waited, absl::Status status) {
  auto read = std::make_unique<Item>(*this, waited);
  status.Update(read->reduction().Take(&request_));
  const bool is_done_here = !status.ok() || read->reduction().HasPayload();
  Item* const added = AddItem(std::move(read), is_done_here);
  if (added == nullptr) return;  // it came too late: the stream has ended
  Reduction& item = added->reduction();
  // A small one may be answered, and gone, when Start returns. It holds the lock of no stream: a
  // cancellation either comes before the scheduler asks whether the item is wanted, or finds it
  // there.
  if (status.ok()) status = item.Start();
  if (!status.ok()) item.Refuse(status);
}

AdmissionTicket ReduceManyCall::ChargeRefusal(std::int64_t bytes) {
  AdmissionController& admission = services_.admission;
  AdmissionTicket held = admission.ChargeRefusal(bytes + kUnwrittenItemBytes);
  if (admission.IsFull()) {
    absl::MutexLock lock(&mutex_);
    held_back_ = true;
  }
  return held;
}

ReduceManyCall::Item* ReduceManyCall::AddItem(std::unique_ptr<Item> item, bool is_done_here) {
  absl::MutexLock lock(&mutex_);
  if (finished_) return nullptr;
  NoticeMessage();
  if (!is_done_here && turn_ != nullptr) turn_->EndWithThisItem();
  const Items::iterator position = items_.insert(items_.end(), std::move(item));
  Item& added = **position;
  added.position = position;
  if (cancelled_)
    added.reduction().submission().Withdraw();  // read too late to be found: nobody wants it
  if (protocol_.order == Order::kAsAsked) {
    added.place = outbox_.Reserve();
  }
  return &added;
}

void ReduceManyCall::ItemAnswered(Items::iterator position, Outbox::Answer answer) {
  Items gone;  // destroyed last: the caller is one of its members
  Steps steps;
  {
    absl::MutexLock lock(&mutex_);
    if (!cancelled_) outbox_.Put(std::move(answer), (*position)->place);
    gone.splice(gone.end(), items_, position);
    steps = NextSteps();
  }
  Take(steps);
}

void ReduceManyCall::OnWriteDone(bool ok) {
  Steps steps;
  {
    absl::MutexLock lock(&mutex_);
    writing_ = false;
    writing_held_.Release();
    writing_bytes_ = 0;
    waits_ = Waits::kNot;
    has_written_ = true;
    if (!ok) cancelled_ = true;
    steps = NextSteps();
  }
  Take(steps);
}

void ReduceManyCall::OnCancel() {
  std::vector<Submission*> withdrawn;
  {
    absl::MutexLock lock(&mutex_);
    cancelled_ = true;
    for (const std::unique_ptr<Item>& item : items_) {
      Submission& submission = item->reduction().submission();
      if (submission.Withdraw()) withdrawn.push_back(&submission);
    }
  }
  for (Submission* submission : withdrawn) submission->AnswerWithdrawn();
  Steps steps;
  {
    absl::MutexLock lock(&mutex_);
    steps = NextSteps();
  }
  Take(steps);
}

void ReduceManyCall::OnOverdue() {
  Steps steps;
  {
    absl::MutexLock lock(&mutex_);
    if (done_ || finished_) return;
    if (waits_ == Waits::kForWrite) {
      CountWriteOverdue(services_, protocol_.method, peer(), write_timeout_, writing_bytes_);
      context_->TryCancel();
    } else if (waits_ == Waits::kForMessage) {
      ending_ = MessageOverdue(services_);
    }
    steps = NextSteps();
  }
  Take(steps);
}

bool ReduceManyCall::GiveWay(Shortage& shortage) {
  Steps steps;
  {
    absl::MutexLock lock(&mutex_);
    if (done_) return true;
    if (writing_ || (finished_ && shortage.calls > 0)) {
      // What it was told last is not read either.
      CountWritePressed(services_, protocol_.method, peer(), writing_bytes_);
      context_->TryCancel();
      shortage.bytes -= writing_held_.bytes() + outbox_.held_bytes();
    } else if (waits_ == Waits::kForMessage && shortage.calls > 0) {
      ending_ = GaveWay(services_);
      steps = NextSteps();
    } else {
      return false;
    }
    --shortage.calls;
  }
  Take(steps);
  return true;
}

void ReduceManyCall::NextWrite(Steps& steps) {
  if (writing_ || !outbox_.HasNext()) return;
  Outbox::Answer answer = outbox_.TakeNext();
  writing_bytes_ = answer.message.Length();
  writing_held_ = std::move(answer.held);
  response_.Swap(&answer.message);
  writing_ = steps.write = true;
  // Not of the first write: it is done when the response's headers, which go with it, are on the
  // wire, and a hint keeps them until something else is sent on the connection (gRPC 1.51).
  steps.more = has_written_ && outbox_.HasNext();
}

std::size_t ReduceManyCall::ItemsMax() const {
  if (caller_.use == nullptr) return kItemsInFlightMax;
  // Fewer than the caller's share (admission.h): what is not read is not refused either.
  const std::int64_t share = services_.limits.Get().max_requests_in_flight / 4;
  const std::int64_t of_all = std::min(caller_.use->QuotaOfRequests().value_or(share), share);
  const std::int64_t of_this = of_all / std::max<std::int64_t>(caller_.use->streams, 1);
  return std::clamp<std::size_t>(static_cast<std::size_t>(of_this), 1, kItemsInFlightMax);
}

ReduceManyCall::Steps ReduceManyCall::NextSteps() {
  Steps steps;
  if (finished_) return steps;
  if (cancelled_) outbox_.Clear();
  NextWrite(steps);
  if (!writing_ && outbox_.empty()) held_back_ = false;
  const std::size_t unplaced = protocol_.order == Order::kAsReady ? items_.size() : 0;
  const std::size_t in_flight = unplaced + outbox_.size() + (writing_ ? 1 : 0);
  if (ending_.ok() && !reading_ && !ended_ && !cancelled_ && !held_back_ &&
      in_flight < ItemsMax() && outbox_.bytes() + writing_bytes_ < kUnsentBytesMax) {
    reading_ = steps.read = true;
  }
  Watch(in_flight);
  const bool is_over = !ending_.ok() || (!reading_ && !writing_ && (ended_ || cancelled_));
  if (is_over && items_.empty() && !in_line_) {
    finished_ = steps.finish = true;
    services_.admission.open_calls().End(open_);
    steps.status = Ending();
    services_.watchdog.GivesWayIn(*this, PressedWriteTimeout(0));
  }
  if (turn_ != nullptr && !in_line_ && (cancelled_ || finished_ || turn_->ends())) {
    steps.ended = std::move(turn_);
  }
  return steps;
}

void ReduceManyCall::Watch(std::size_t in_flight) {
  const Limits& limits = services_.limits.Get();
  const bool waits_for_message = reading_ && !in_line_ && in_flight == 0;
  const Waits waits = writing_            ? Waits::kForWrite
                      : waits_for_message ? Waits::kForMessage
                                          : Waits::kNot;
  if (waits == waits_) return;
  waits_ = waits;
  switch (waits) {
    case Waits::kNot:
      return services_.watchdog.NotDue(*this);
    case Waits::kForMessage:
      services_.watchdog.GivesWayIn(*this, PressedWriteTimeout(0));
      return services_.watchdog.DueIn(*this, limits.message_timeout);
    case Waits::kForWrite: {
      const auto bytes = static_cast<std::int64_t>(writing_bytes_);
      write_timeout_ = limits.WriteTimeout(bytes);
      services_.watchdog.GivesWayIn(*this, PressedWriteTimeout(bytes));
      return services_.watchdog.DueIn(*this, write_timeout_);
    }
  }
}

absl::Status ReduceManyCall::Ending() const {
  if (cancelled_) return absl::CancelledError("the client cancelled the stream");
  return ending_;
}

void ReduceManyCall::Take(const Steps& steps) {
  TakeCalls(steps);
  if (steps.ended != nullptr) steps.ended->Leave();
}

void ReduceManyCall::TakeCalls(const Steps& steps) {
  // With more behind it the transport keeps a message and is done with it at once: they leave
  // together, and the stream's rate is not that at which gRPC's threads wake up after each.
  grpc::WriteOptions options;
  if (steps.more) options.set_buffer_hint();
  if (steps.write) StartWrite(&response_, options);
  if (steps.read) StartRead(&request_);
  if (!steps.finish) return;
  const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - start_;
  services_.metrics.CountCallHandled(protocol_.method, steps.status.code(), took);
  // One line for a stream: its items have theirs.
  RecordCall(services_, {.method = protocol_.method,
                         .status = absl::Status(steps.status.code(), "the stream ended"),
                         .took = took,
                         .peer = peer()});
  Finish(ToGrpcStatus(steps.status, span(), *context_));
}

}  // namespace warpfold
