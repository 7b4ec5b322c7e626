// ReduceStream: a header, then the tensor in chunks, reduced while it arrives.
//
// Step of a request: 1; upload_call.h says how it is read.
#ifndef WARPFOLD_SERVER_FRONTEND_METHODS_REDUCE_UPLOAD_H_
#define WARPFOLD_SERVER_FRONTEND_METHODS_REDUCE_UPLOAD_H_

#include <chrono>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/frontend/calls/upload_call.h"
#include "server/frontend/requests/reduction.h"
#include "server/frontend/requests/upload_handler.h"
#include "warpfold/v1/reduction.pb.h"

namespace warpfold {

class ReduceUpload final : public UploadHandler {
 public:
  // Both outlive it.
  ReduceUpload(Services& services, UploadCall& call);

 private:
  absl::StatusOr<bool> TakeHeader(const WireMessage& wire) override;
  absl::StatusOr<std::int64_t> AcceptHeader() override;
  absl::Status Start(std::chrono::nanoseconds waited) override;
  void Refuse(const absl::Status& status) override { reduction_.Refuse(status); }
  Submission& submission() override { return reduction_.submission(); }

  UploadCall& call_;
  v1::ReduceRequest header_;
  Reduction reduction_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_METHODS_REDUCE_UPLOAD_H_
