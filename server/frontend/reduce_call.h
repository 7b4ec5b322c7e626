// Reduce and ModelInfer: one tensor in one message.
//
// Step of a request: 1. The reaction that brings the message parses, admits and queues; the answer
// is sent by the thread that has it.
#ifndef WARPFOLD_SERVER_FRONTEND_REDUCE_CALL_H_
#define WARPFOLD_SERVER_FRONTEND_REDUCE_CALL_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/frontend/deadline.h"
#include "server/frontend/exchange.h"
#include "server/frontend/message_job.h"
#include "server/frontend/unary_call.h"

namespace warpfold {

class ReduceCall final : public UnaryCall, private MessageJob {
 public:
  ReduceCall(Services& services, Method method, std::unique_ptr<Exchange> exchange,
             ArrivedCall arrived)
      : UnaryCall(services, method, std::move(arrived)),
        MessageJob(services, method, caller(), DeadlineOf(context()), std::move(exchange)) {}

 private:
  bool IsReadInLine() const override { return true; }
  void OnWaitedInLine(std::chrono::nanoseconds waited) override { AddQueueTime(waited); }
  void OnCancel() override { Cancel(); }
  void Serve(grpc::ByteBuffer* request) override;
  void Refuse(const absl::Status& status) override;

  std::string AskedFrom() const override { return PeerName(); }
  void Answer(const absl::Status& status, v1::ReduceResponse* response) override;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_REDUCE_CALL_H_
