// One tensor from decoded to answered: what every method that reduces has in common.
//
// Step of a request: 1, and the way back. A method derives from Job, feeds it the header and the
// payload, and sends what Answer brings. Accept and Start are called by one reaction; Answer comes
// exactly once after a Start that returned OK, where OnDone does (submission.h).
#ifndef WARPFOLD_SERVER_FRONTEND_JOB_H_
#define WARPFOLD_SERVER_FRONTEND_JOB_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/caller.h"
#include "server/core/region.h"
#include "server/core/task.h"
#include "server/core/tensor_lease.h"
#include "server/frontend/decode.h"
#include "server/frontend/services.h"
#include "server/frontend/submission.h"
#include "server/observe/metrics.h"
#include "warpfold/v1/reduction.pb.h"

namespace warpfold {

class Job : public Submission {
 public:
  using Clock = std::chrono::steady_clock;

  // `caller` outlives it.
  Job(Services& services, Method method, const Caller& caller,
      std::chrono::system_clock::time_point deadline)
      : Submission(services, caller, deadline), method_(method), arrival_(Clock::now()) {}

  // Decodes and plans; errors as DecodeRequest's. A resident tensor or a region is held from here
  // on until the answer: NOT_FOUND, FAILED_PRECONDITION, PERMISSION_DENIED. Call once, then Start.
  absl::Status Accept(const v1::ReduceRequest& header);

  // For a request that is refused before Accept: the name under which it is logged.
  void Identify(const v1::ReduceRequest& header);

  // Counts and logs a job that ends with `status` before or in Start: Answer will not come.
  void Refuse(const absl::Status& status);

  // What has to come with the request: nothing when its tensor is here. REQUIRES: Accept was OK.
  std::int64_t payload_bytes() const {
    return is_resident() || is_in_region() ? 0 : plan().input_bytes;
  }
  // Of the results, or of the state. REQUIRES: Accept was OK.
  std::int64_t answer_bytes() const { return AnswerBytes(request_); }

  const Plan& plan() const { return request_.plan; }
  const std::string& request_id() const { return request_.request_id; }
  void OnDone(TaskReport report) override;

 protected:
  // The end. `response` is complete when `status` is OK, and free to be taken apart; the ticket
  // holds its bytes. Last call on the job, which may delete itself in here.
  virtual void Answer(const absl::Status& status, v1::ReduceResponse* response) = 0;

  // Before it is counted as answered: what of `response` goes elsewhere. Errors are the request's.
  virtual absl::Status Place(v1::ReduceResponse* /*response*/) { return absl::OkStatus(); }

  // Lets go of all payload bytes; what the ticket holds for them it holds until the answer is made.
  // A reaction may still bring some later; it must drop them.
  virtual void DropPayload() = 0;

  // The client's address, as gRPC writes it.
  virtual std::string AskedFrom() const = 0;

  bool is_in_region() const { return static_cast<bool>(region_); }
  // REQUIRES: is_in_region().
  PayloadSource& region() { return region_; }

 private:
  bool is_resident() const { return static_cast<bool>(tensor_); }
  absl::StatusOr<Request> Decode(const v1::ReduceRequest& header);
  absl::StatusOr<Request> DecodeInRegion(const v1::ReduceRequest& header, const v1::Source& values);
  // What the worker does, but for where the payload comes from.
  void FillTask();
  void FillResponse(TaskReport& report, v1::ReduceResponse* response) const;
  void Record(const absl::Status& status, const TaskReport& report, Clock::time_point reply_start);

  const Method method_;
  const Clock::time_point arrival_;
  Request request_;
  bool accepted_ = false;
  TensorReadLease tensor_;
  RegionPayload region_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_JOB_H_
