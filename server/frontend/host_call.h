// A call whose work is the system's, not a device's, and may take its time: it runs on a lane's
// thread, where it is admitted, queued and bounded as all work is.
//
// Step of a request: 1. The reaction that starts the call admits and queues; a lane's thread works
// and answers.
#ifndef WARPFOLD_SERVER_FRONTEND_HOST_CALL_H_
#define WARPFOLD_SERVER_FRONTEND_HOST_CALL_H_

#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/message_lite.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "server/core/work.h"
#include "server/frontend/call_record.h"
#include "server/frontend/deadline.h"
#include "server/frontend/message_payload.h"
#include "server/frontend/services.h"
#include "server/frontend/submission.h"

namespace warpfold {

class HostCall final : public grpc::ServerUnaryReactor, private Submission {
 public:
  // Begins to serve the call and returns its reactor; never waits. `request`, whose id is
  // `request_id`, waits with the call, and is small or refused. `run` is called once at most, and
  // its status is the call's.
  static grpc::ServerUnaryReactor* Begin(Services& services, grpc::CallbackServerContext* context,
                                         Method method,
                                         const google::protobuf::MessageLite& request,
                                         const std::string& request_id,
                                         std::function<absl::Status()> run);

  void OnCancel() override { Cancel(); }
  void OnDone() override { delete this; }

 private:
  HostCall(Services& services, grpc::CallbackServerContext* context, Method method,
           std::string request_id, std::function<absl::Status()> run)
      : Submission(services, DeadlineOf(*context)),
        context_(context),
        method_(method),
        request_id_(std::move(request_id)),
        run_(std::move(run)),
        record_(services.metrics, method) {}

  void FinishWith(const absl::Status& status);

  LaneTask task() override;
  const Plan& plan() const override { return no_plan_; }
  PayloadSource& payload() override { return no_payload_; }
  bool waits_for_client() const override { return false; }
  void Done(WorkReport report) override;

  grpc::CallbackServerContext* const context_;
  const Method method_;
  const std::string request_id_;
  const std::function<absl::Status()> run_;
  CallRecord record_;
  const Plan no_plan_;
  MessagePayload no_payload_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_HOST_CALL_H_
