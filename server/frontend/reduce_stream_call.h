// ReduceStream: a header, then the tensor in chunks, reduced while it arrives.
//
// Step of a request: 1; chunk_stream_call.h says how it is read.
#ifndef WARPFOLD_SERVER_FRONTEND_REDUCE_STREAM_CALL_H_
#define WARPFOLD_SERVER_FRONTEND_REDUCE_STREAM_CALL_H_

#include <cstdint>
#include <string>

#include "grpcpp/server_context.h"
#include "server/frontend/chunk_stream_call.h"
#include "server/frontend/job.h"

namespace warpfold {

class ReduceStreamCall final : private Job, public ChunkStreamCall {
 public:
  ReduceStreamCall(Services& services, ArrivedCall arrived);

 private:
  absl::StatusOr<bool> TakeHeader(const WireMessage& wire) override;
  absl::StatusOr<std::int64_t> AcceptHeader() override;
  absl::Status StartTask() override;
  void RefuseWith(const absl::Status& status) override;

  void DropPayload() override { CloseChunks(); }
  std::string AskedFrom() const override { return PeerName(); }
  void Answer(const absl::Status& status, v1::ReduceResponse* response) override;

  v1::ReduceRequest header_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_REDUCE_STREAM_CALL_H_
