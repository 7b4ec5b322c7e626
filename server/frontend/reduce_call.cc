#include "server/frontend/reduce_call.h"

#include <utility>

#include "server/frontend/deadline.h"
#include "server/frontend/status.h"

namespace warpfold {

ReduceCall::ReduceCall(Services& services, Method method, std::unique_ptr<Exchange> exchange,
                       grpc::CallbackServerContext* context, grpc::ByteBuffer* response)
    : MessageJob(services, method, DeadlineOf(*context), std::move(exchange)),
      context_(context),
      response_(response),
      record_(services.metrics, method) {}

grpc::ServerUnaryReactor* ReduceCall::Begin(Services& services, Method method,
                                            std::unique_ptr<Exchange> exchange,
                                            grpc::CallbackServerContext* context,
                                            grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  std::unique_ptr<ReduceCall> call(
      new ReduceCall(services, method, std::move(exchange), context, response));
  if (absl::Status status = call->Serve(request); !status.ok()) {
    call->Refuse(status);
    call->Answer(status, nullptr);
  }
  if (!call->first_came_.exchange(true, std::memory_order_acq_rel)) {
    return call.release();  // its own from now on, until OnDone
  }
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(call->status_, context));
  return reactor;
}

absl::Status ReduceCall::Serve(grpc::ByteBuffer* request) {
  if (absl::Status status = Take(request); !status.ok()) return status;
  return Start(payload_bytes());
}

void ReduceCall::Answer(const absl::Status& status, v1::ReduceResponse* response) {
  status_ = exchange().Write(status, response, response_);
  record_.Handled(status_.code());
  // Before Begin is through, Begin finishes and deletes.
  if (first_came_.exchange(true, std::memory_order_acq_rel)) {
    Finish(ToGrpcStatus(status_, context_));
  }
}

}  // namespace warpfold
