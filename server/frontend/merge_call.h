// Merge: the states of a tensor's parts, joined.
//
// Step of a request: 1. The reaction that starts the call admits, parses and queues; a lane's
// thread merges and answers. Merging needs no device, but its time is bounded as all work is: by
// lanes and by the queue.
#ifndef WARPFOLD_SERVER_FRONTEND_MERGE_CALL_H_
#define WARPFOLD_SERVER_FRONTEND_MERGE_CALL_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "server/core/work.h"
#include "server/frontend/call_record.h"
#include "server/frontend/message_payload.h"
#include "server/frontend/services.h"
#include "server/frontend/state_message.h"
#include "server/frontend/submission.h"
#include "warpfold/v1/reduction.pb.h"

namespace warpfold {

class MergeCall final : public grpc::ServerUnaryReactor, private Submission {
 public:
  // Begins to serve the call and returns its reactor; never waits. Both messages live until OnDone.
  static grpc::ServerUnaryReactor* Begin(Services& services, grpc::CallbackServerContext* context,
                                         const v1::MergeRequest* request,
                                         v1::ReduceResponse* response);

  void OnCancel() override { Cancel(); }
  void OnDone() override { delete this; }

 private:
  MergeCall(Services& services, grpc::CallbackServerContext* context,
            const v1::MergeRequest* request, v1::ReduceResponse* response);

  absl::Status Serve();
  void FinishWith(const absl::Status& status);

  LaneTask task() override {
    return RunOnHost{[this] { return Merge(); }};
  }
  const Plan& plan() const override { return merging_.merged.whole; }
  PayloadSource& payload() override { return no_payload_; }
  bool waits_for_client() const override { return false; }
  absl::StatusOr<Outcome> Merge() const;
  void Done(WorkReport report) override;

  grpc::CallbackServerContext* const context_;
  const v1::MergeRequest* const request_;
  v1::ReduceResponse* const response_;
  CallRecord record_;
  MessagePayload no_payload_;
  Merging merging_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_MERGE_CALL_H_
