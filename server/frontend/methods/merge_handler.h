// Merge: the states of a tensor's parts, joined.
//
// Step of a request: 1. The reaction that brings the message looks what it is, admits and queues
// it; a worker's thread parses it, merges and answers. Merging needs no device, but its time is
// bounded as all tasks' is, by workers and by the queue, and so is the memory of parsed messages:
// they become up to a hundred times as large, but only on a worker, and none waits for one.
#ifndef WARPFOLD_SERVER_FRONTEND_METHODS_MERGE_HANDLER_H_
#define WARPFOLD_SERVER_FRONTEND_METHODS_MERGE_HANDLER_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/core/request/task.h"
#include "server/frontend/calls/unary_call.h"
#include "server/frontend/native/state_message.h"
#include "server/frontend/requests/services.h"
#include "server/frontend/requests/submission.h"
#include "server/frontend/requests/unary_handler.h"
#include "warpfold/v1/reduction.pb.h"

namespace warpfold {

class MergeHandler final : public UnaryHandler, private Submission::Owner {
 public:
  // Both outlive it.
  MergeHandler(Services& services, UnaryCall& call)
      : services_(services),
        call_(call),
        submission_(services, call.caller(), call.deadline(), *this) {}

 private:
  void Serve(grpc::ByteBuffer* request) override;
  void Refuse(const absl::Status& status) override { End(status); }
  void Cancel() override { submission_.Cancel(); }
  absl::Status Queue(grpc::ByteBuffer* request);
  absl::Status Parse();
  absl::StatusOr<Outcome> Merge();
  void OnDone(TaskReport report) override;
  void End(const absl::Status& status);

  Services& services_;
  UnaryCall& call_;
  grpc::ByteBuffer message_;  // until it is parsed
  MergeOutline outline_;
  v1::MergeRequest request_;
  v1::ReduceResponse response_;
  Merging merging_;
  Submission submission_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_METHODS_MERGE_HANDLER_H_
