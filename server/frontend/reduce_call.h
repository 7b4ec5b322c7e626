// Reduce and ModelInfer: one tensor in one message.
//
// Step of a request: 1. The reaction that starts the call parses, admits and queues; the answer is
// sent by the lane's thread. A call that is answered before that reaction returns is finished there
// by gRPC's own reactor: one of ours costs a hand-over to another thread when it is done.
#ifndef WARPFOLD_SERVER_FRONTEND_REDUCE_CALL_H_
#define WARPFOLD_SERVER_FRONTEND_REDUCE_CALL_H_

#include <atomic>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/frontend/call_record.h"
#include "server/frontend/exchange.h"
#include "server/frontend/message_job.h"

namespace warpfold {

class ReduceCall final : public grpc::ServerUnaryReactor, private MessageJob {
 public:
  // Begins to serve the call and returns its reactor; never waits. `request` is emptied.
  static grpc::ServerUnaryReactor* Begin(Services& services, Method method,
                                         std::unique_ptr<Exchange> exchange,
                                         grpc::CallbackServerContext* context,
                                         grpc::ByteBuffer* request, grpc::ByteBuffer* response);

  void OnCancel() override { Cancel(); }
  void OnDone() override { delete this; }

 private:
  ReduceCall(Services& services, Method method, std::unique_ptr<Exchange> exchange,
             grpc::CallbackServerContext* context, grpc::ByteBuffer* response);

  absl::Status Serve(grpc::ByteBuffer* request);

  bool may_run_inline() const override { return true; }
  std::string Peer() const override { return context_->peer(); }
  void Answer(const absl::Status& status, v1::ReduceResponse* response) override;

  grpc::CallbackServerContext* const context_;
  grpc::ByteBuffer* const response_;
  CallRecord record_;
  // Begin and Answer meet here: the second of them to come finishes the RPC with status_.
  std::atomic<bool> first_came_{false};
  absl::Status status_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_REDUCE_CALL_H_
