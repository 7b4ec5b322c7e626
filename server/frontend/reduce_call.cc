#include "server/frontend/reduce_call.h"

namespace warpfold {

void ReduceCall::Serve(grpc::ByteBuffer* request) {
  absl::Status status = Take(request);
  // On OK a worker may already be at it, or done: nothing of the call is touched after.
  if (status.ok()) status = Start();
  if (!status.ok()) Refuse(status);
}

void ReduceCall::Refuse(const absl::Status& status) {
  Job::Refuse(status);
  Answer(status, nullptr);
}

void ReduceCall::Answer(const absl::Status& status, v1::ReduceResponse* response) {
  grpc::ByteBuffer answer;
  const absl::Status told = exchange().Write(status, response, &answer);
  Send(told, answer, std::move(ticket()));
}

}  // namespace warpfold
