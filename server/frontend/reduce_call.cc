#include "server/frontend/reduce_call.h"

#include <memory>
#include <utility>

#include "server/frontend/encode.h"
#include "server/frontend/status.h"

namespace warpfold {

ReduceCall::ReduceCall(Services& services, grpc::CallbackServerContext* context,
                       grpc::ByteBuffer* response)
    : Job(services, Method::kReduce, context->deadline()),
      context_(context),
      response_(response),
      record_(services.metrics, Method::kReduce) {}

grpc::ServerUnaryReactor* ReduceCall::Begin(Services& services,
                                            grpc::CallbackServerContext* context,
                                            grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  std::unique_ptr<ReduceCall> call(new ReduceCall(services, context, response));
  if (absl::Status status = call->Serve(request); !status.ok()) {
    call->Refuse(status);
    call->FinishWith(status);
  }
  if (!call->first_came_.exchange(true, std::memory_order_acq_rel)) {
    return call.release();  // its own from now on, until OnDone
  }
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(call->status_, context));
  return reactor;
}

absl::Status ReduceCall::Serve(grpc::ByteBuffer* request) {
  grpc::ByteBuffer buffer;
  buffer.Swap(request);
  absl::StatusOr<TensorMessage> message = ParseTensorMessage(&buffer);
  if (!message.ok()) return message.status();
  if (absl::Status status = Accept(message->header); !status.ok()) return status;
  if (absl::Status status = CheckData(message->wire, payload_bytes()); !status.ok()) return status;
  if (message->wire.has_payload()) payload_.Set(message->wire.TakePayload());
  return Start(payload_bytes());
}

void ReduceCall::Answer(const absl::Status& status, v1::ReduceResponse* response) {
  if (!status.ok()) return FinishWith(status);
  FinishWith(Encode(*response, response_));
}

void ReduceCall::FinishWith(const absl::Status& status) {
  record_.Handled(status.code());
  status_ = status;
  // Before Begin is through, Begin finishes and deletes.
  if (first_came_.exchange(true, std::memory_order_acq_rel)) {
    Finish(ToGrpcStatus(status_, context_));
  }
}

}  // namespace warpfold
