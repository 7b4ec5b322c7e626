// WriteTensor: a header, then one range of a resident tensor in chunks, each copied once from where
// it was received to where it belongs (or to a pinned staging buffer on its way there).
//
// Step of a request: 1 to 3; upload_call.h says how it is read. The tensor is leased from the
// header to the answer.
#ifndef WARPFOLD_SERVER_FRONTEND_METHODS_TENSOR_WRITE_H_
#define WARPFOLD_SERVER_FRONTEND_METHODS_TENSOR_WRITE_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/core/tensors/tensor_lease.h"
#include "server/frontend/calls/upload_call.h"
#include "server/frontend/requests/services.h"
#include "server/frontend/requests/submission.h"
#include "server/frontend/requests/upload_handler.h"
#include "warpfold/v1/tensor.pb.h"

namespace warpfold {

class TensorWrite final : public UploadHandler, private Submission::Owner {
 public:
  // Both outlive it.
  TensorWrite(Services& services, UploadCall& call)
      : services_(services),
        call_(call),
        submission_(services, call.caller(), call.deadline(), *this) {}

 private:
  absl::StatusOr<bool> TakeHeader(const WireMessage& wire) override;
  absl::StatusOr<std::int64_t> AcceptHeader() override;
  absl::Status Start(std::chrono::nanoseconds waited) override;
  void Refuse(const absl::Status& status) override;
  Submission& submission() override { return submission_; }
  void FillTask();
  void OnDone(TaskReport report) override;
  void End(const absl::Status& status, grpc::ByteBuffer& answer);

  Services& services_;
  UploadCall& call_;
  v1::WriteTensorHeader header_;
  std::string request_id_;
  Subject subject_;
  TensorWriteLease tensor_;
  Submission submission_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_METHODS_TENSOR_WRITE_H_
