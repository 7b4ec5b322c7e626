// ReduceStream: a header, then the tensor in chunks, reduced while it arrives.
//
// Step of a request: 1. The reaction that brings the header parses, admits and queues; further
// messages are read only once a lane asks for them. A client that never sends its header is let go
// by an alarm, one that falls silent later by the lane's own wait.
#ifndef WARPFOLD_SERVER_FRONTEND_REDUCE_STREAM_CALL_H_
#define WARPFOLD_SERVER_FRONTEND_REDUCE_STREAM_CALL_H_

#include <atomic>
#include <string>

#include "grpcpp/alarm.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/frontend/call_record.h"
#include "server/frontend/job.h"
#include "server/frontend/stream_payload.h"

namespace warpfold {

class ReduceStreamCall final : public grpc::ServerReadReactor<grpc::ByteBuffer>,
                               private Job,
                               private ChunkReader {
 public:
  // Begins to serve the call; never waits. The reactor deletes itself when gRPC and the alarm are
  // done with it.
  static grpc::ServerReadReactor<grpc::ByteBuffer>* Begin(Services& services,
                                                          grpc::CallbackServerContext* context,
                                                          grpc::ByteBuffer* response);

  void OnReadDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override { Unref(); }

 private:
  ReduceStreamCall(Services& services, grpc::CallbackServerContext* context,
                   grpc::ByteBuffer* response);

  // True for the first caller only: the header came, or it came too late.
  bool EndHeaderPhase() { return header_awaited_.exchange(false); }
  void OnHeader(bool ok);
  void OnHeaderTimeout();
  absl::Status ServeHeader(bool ok);
  void OnChunkMessage(bool ok);
  void RefuseWith(const absl::Status& status);
  void FinishWith(const absl::Status& status);
  void Unref();

  // ChunkReader: the next message goes to message_.
  void ReadNext() override { StartRead(&message_); }

  PayloadSource& payload() override { return payload_; }
  bool waits_for_client() const override { return true; }
  void DropPayload() override { payload_.Close(); }
  std::string Peer() const override { return context_->peer(); }
  void Answer(const absl::Status& status, v1::ReduceResponse* response) override;

  grpc::CallbackServerContext* const context_;
  grpc::ByteBuffer* const response_;
  CallRecord record_;
  StreamPayload payload_;
  grpc::ByteBuffer message_;  // of the one read under way
  bool got_header_ = false;   // seen by reactions of reads only, which come one at a time
  grpc::Alarm header_alarm_;
  std::atomic<bool> header_awaited_{true};
  std::atomic<int> refs_{2};  // gRPC, the alarm
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_REDUCE_STREAM_CALL_H_
