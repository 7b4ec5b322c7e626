// Merge: the states of a tensor's parts, joined.
//
// Step of a request: 1. The reaction that brings the message looks what it is, admits and queues
// it; a lane's thread parses it, merges and answers. Merging needs no device, but its time is
// bounded as all work is, by lanes and by the queue, and so is the memory of parsed messages: they
// become up to a hundred times as large, but only on a lane, and none waits for one.
#ifndef WARPFOLD_SERVER_FRONTEND_MERGE_CALL_H_
#define WARPFOLD_SERVER_FRONTEND_MERGE_CALL_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/core/task.h"
#include "server/frontend/deadline.h"
#include "server/frontend/services.h"
#include "server/frontend/state_message.h"
#include "server/frontend/submission.h"
#include "server/frontend/unary_call.h"
#include "warpfold/v1/reduction.pb.h"

namespace warpfold {

class MergeCall final : public UnaryCall, private Submission {
 public:
  MergeCall(Services& services, ArrivedCall arrived)
      : UnaryCall(services, Method::kMerge, std::move(arrived)),
        Submission(services, caller(), DeadlineOf(context())) {}

 private:
  void OnCancel() override { Cancel(); }
  void Serve(grpc::ByteBuffer* request) override;
  void Refuse(const absl::Status& status) override { End(status); }
  absl::Status Submit(grpc::ByteBuffer* request);
  void End(const absl::Status& status);
  absl::Status Parse();

  absl::StatusOr<Outcome> Merge();
  void OnDone(TaskReport report) override;

  grpc::ByteBuffer message_;  // until it is parsed
  MergeOutline outline_;
  v1::MergeRequest request_;
  v1::ReduceResponse response_;
  Merging merging_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_MERGE_CALL_H_
