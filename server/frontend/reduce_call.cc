#include "server/frontend/reduce_call.h"

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
  ReduceCall* call = new ReduceCall(services, context, response);
  // gRPC keeps the reactor until this reaction has returned, whatever the lanes do meanwhile.
  if (absl::Status status = call->Serve(request); !status.ok()) {
    call->Refuse(status);
    call->FinishWith(status);
  }
  return call;
}

absl::Status ReduceCall::Serve(grpc::ByteBuffer* request) {
  grpc::ByteBuffer buffer;
  buffer.Swap(request);
  absl::StatusOr<TensorMessage> message = ParseTensorMessage(&buffer);
  if (!message.ok()) return message.status();
  if (absl::Status status = Accept(message->header); !status.ok()) return status;
  if (absl::Status status = CheckData(message->wire, plan()); !status.ok()) return status;
  if (message->wire.has_payload()) payload_.Set(message->wire.TakePayload());
  return Start(plan().input_bytes);
}

void ReduceCall::Answer(const absl::Status& status, v1::ReduceResponse* response) {
  if (!status.ok()) return FinishWith(status);
  FinishWith(Encode(*response, response_));
}

void ReduceCall::FinishWith(const absl::Status& status) {
  record_.Handled(status.code());
  Finish(ToGrpcStatus(status, context_));
}

}  // namespace warpfold
