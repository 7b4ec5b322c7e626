// WriteTensor: a header, then one range of a resident tensor in chunks, each copied once from where
// it was received to where it belongs (or to a pinned slab on its way there).
//
// Step of a request: 1 to 3; chunk_stream_call.h says how it is read. The tensor is leased from the
// header to the answer.
#ifndef WARPFOLD_SERVER_FRONTEND_WRITE_TENSOR_CALL_H_
#define WARPFOLD_SERVER_FRONTEND_WRITE_TENSOR_CALL_H_

#include <cstdint>
#include <string>

#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/core/tensor_lease.h"
#include "server/frontend/chunk_stream_call.h"
#include "server/frontend/submission.h"
#include "warpfold/v1/tensor.pb.h"

namespace warpfold {

class WriteTensorCall final : private Submission, public ChunkStreamCall {
 public:
  WriteTensorCall(Services& services, ArrivedCall arrived);

 private:
  absl::StatusOr<bool> TakeHeader(const WireMessage& wire) override;
  absl::StatusOr<std::int64_t> AcceptHeader() override;
  absl::Status StartTask() override {
    AddQueueTime(place_wait());
    return Submission::Start({});
  }
  void RefuseWith(const absl::Status& status) override;
  // Counts, logs and sends.
  void End(const absl::Status& status, const grpc::ByteBuffer& answer);

  void FillTask();
  void OnDone(TaskReport report) override;

  v1::WriteTensorHeader header_;
  std::string request_id_;
  TensorWriteLease tensor_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_WRITE_TENSOR_CALL_H_
