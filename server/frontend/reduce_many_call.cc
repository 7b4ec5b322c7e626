#include "server/frontend/reduce_many_call.h"

#include <utility>
#include <vector>

#include "server/frontend/encode.h"
#include "server/frontend/plain_call.h"
#include "server/frontend/status.h"
#include "warpfold/v1/reduction.pb.h"

namespace warpfold {
namespace {

grpc::ByteBuffer EncodeAnswer(const std::string& request_id, const absl::Status& status,
                              v1::ReduceResponse* response) {
  v1::ReduceManyResponse answer;
  answer.set_request_id(request_id);
  if (status.ok()) {
    answer.mutable_response()->Swap(response);
  } else {
    *answer.mutable_status() = ToRpcStatus(status);
  }
  grpc::ByteBuffer out;
  if (absl::Status encoded = Encode(answer, &out); !encoded.ok()) {
    answer.clear_response();
    *answer.mutable_status() = ToRpcStatus(encoded);
    Encode(answer, &out).IgnoreError();  // a few bytes: it fits
  }
  return out;
}

}  // namespace

class ReduceManyCall::Item final : public Job {
 public:
  explicit Item(ReduceManyCall& stream)
      : Job(stream.services_, Method::kReduceMany, stream.context_->deadline()), stream_(stream) {}

  void SetPayload(SliceRun bytes) { payload_.Set(std::move(bytes)); }
  void SetPosition(Items::iterator position) { position_ = position; }

 private:
  PayloadSource& payload() override { return payload_; }
  bool waits_for_client() const override { return false; }
  void DropPayload() override { payload_.Clear(); }
  std::string Peer() const override { return stream_.context_->peer(); }
  void Answer(const absl::Status& status, v1::ReduceResponse* response) override {
    stream_.ItemAnswered(position_, EncodeAnswer(request_id(), status, response));
  }

  ReduceManyCall& stream_;
  Items::iterator position_;
  MessagePayload payload_;
};

ReduceManyCall::ReduceManyCall(Services& services, grpc::CallbackServerContext* context)
    : services_(services), context_(context), record_(services.metrics, Method::kReduceMany) {}

ReduceManyCall::~ReduceManyCall() = default;

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* ReduceManyCall::Begin(
    Services& services, grpc::CallbackServerContext* context) {
  ReduceManyCall* call = new ReduceManyCall(services, context);
  call->StartRead(&call->request_);
  return call;
}

void ReduceManyCall::OnReadDone(bool ok) {
  if (ok) ServeItem();
  Steps steps;
  {
    absl::MutexLock lock(&mutex_);
    reading_ = false;
    if (!ok) ended_ = true;
    steps = NextSteps();
  }
  Take(steps);
}

void ReduceManyCall::ServeItem() {
  auto item = std::make_unique<Item>(*this);
  Item& job = *item;
  const absl::Status status = [&] {
    grpc::ByteBuffer buffer;
    buffer.Swap(&request_);
    absl::StatusOr<TensorMessage> message = ParseTensorMessage(&buffer);
    if (!message.ok()) return message.status();
    if (absl::Status accepted = job.Accept(message->header); !accepted.ok()) return accepted;
    if (absl::Status fits = CheckData(message->wire, job.payload_bytes()); !fits.ok()) return fits;
    if (message->wire.has_payload()) job.SetPayload(message->wire.TakePayload());
    return absl::OkStatus();
  }();
  const std::string request_id = job.request_id();
  absl::Status started = status;
  if (started.ok()) {
    started = StartItem(std::move(item));
    if (started.ok()) return;
  } else {
    job.Refuse(started);
  }
  grpc::ByteBuffer answer = EncodeAnswer(request_id, started, nullptr);
  absl::MutexLock lock(&mutex_);
  outbox_.push_back(std::move(answer));
}

absl::Status ReduceManyCall::StartItem(std::unique_ptr<Item> item) {
  Items refused;
  absl::Status started;
  {
    // Held over the submit, so that a cancellation finds the item either not yet here or already
    // queued.
    absl::MutexLock lock(&mutex_);
    if (cancelled_) return absl::CancelledError("the client cancelled the stream");
    const Items::iterator position = items_.insert(items_.end(), std::move(item));
    (*position)->SetPosition(position);
    started = (*position)->Start((*position)->payload_bytes());
    if (started.ok()) return started;
    refused.splice(refused.end(), items_, position);
  }
  refused.front()->Refuse(started);
  return started;
}

void ReduceManyCall::ItemAnswered(Items::iterator position, grpc::ByteBuffer answer) {
  Items gone;  // destroyed last: the caller is one of its members
  Steps steps;
  {
    absl::MutexLock lock(&mutex_);
    gone.splice(gone.end(), items_, position);
    if (!cancelled_) outbox_.push_back(std::move(answer));
    steps = NextSteps();
  }
  Take(steps);
}

void ReduceManyCall::OnWriteDone(bool ok) {
  Steps steps;
  {
    absl::MutexLock lock(&mutex_);
    writing_ = false;
    if (!ok) cancelled_ = true;
    steps = NextSteps();
  }
  Take(steps);
}

void ReduceManyCall::OnCancel() {
  std::vector<Item*> withdrawn;
  {
    absl::MutexLock lock(&mutex_);
    cancelled_ = true;
    for (const std::unique_ptr<Item>& item : items_) {
      if (item->Withdraw()) withdrawn.push_back(item.get());
    }
  }
  for (Item* item : withdrawn) item->AnswerWithdrawn();
  Steps steps;
  {
    absl::MutexLock lock(&mutex_);
    steps = NextSteps();
  }
  Take(steps);
}

ReduceManyCall::Steps ReduceManyCall::NextSteps() {
  Steps steps;
  if (cancelled_) outbox_.clear();
  if (!writing_ && !outbox_.empty()) {
    response_.Swap(&outbox_.front());
    outbox_.pop_front();
    writing_ = steps.write = true;
  }
  const std::size_t in_flight = items_.size() + outbox_.size() + (writing_ ? 1 : 0);
  if (!reading_ && !ended_ && !cancelled_ && in_flight < kItemsInFlightMax) {
    reading_ = steps.read = true;
  }
  if (!finished_ && !reading_ && !writing_ && (ended_ || cancelled_) && items_.empty()) {
    finished_ = steps.finish = true;
    steps.code = cancelled_ ? absl::StatusCode::kCancelled : absl::StatusCode::kOk;
  }
  return steps;
}

void ReduceManyCall::Take(const Steps& steps) {
  if (steps.write) StartWrite(&response_);
  if (steps.read) StartRead(&request_);
  if (!steps.finish) return;
  record_.Handled(steps.code);
  LogCall(services_.access_log, Method::kReduceMany, absl::Status(steps.code, "the stream ended"),
          record_.elapsed(), "", context_->peer());
  Finish(steps.code == absl::StatusCode::kOk
             ? grpc::Status::OK
             : grpc::Status(grpc::StatusCode::CANCELLED, "the client cancelled the stream"));
}

}  // namespace warpfold
