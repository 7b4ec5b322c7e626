// One tensor from decoded to answered: what every method that reduces has in common.
//
// Step of a request: 1, and the way back. A method derives from Job, feeds it the header and the
// payload, and sends what Answer brings. Accept and Start are called by one reaction; Cancel from
// any thread; Answer comes exactly once after a Start that returned OK, on a lane's thread or
// inside Cancel, with no lock held; for a job that may run inline also inside Start.
#ifndef WARPFOLD_SERVER_FRONTEND_JOB_H_
#define WARPFOLD_SERVER_FRONTEND_JOB_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "server/core/admission.h"
#include "server/core/limits.h"
#include "server/core/scheduler.h"
#include "server/core/work.h"
#include "server/frontend/decode.h"
#include "server/observe/access_log.h"
#include "server/observe/metrics.h"
#include "warpfold/v1/reduction.pb.h"

namespace warpfold {

// What the front end works with; all of it outlives every RPC.
struct Services {
  const LimitsInForce& limits;
  AdmissionController& admission;
  Scheduler& scheduler;
  Metrics& metrics;
  AccessLog& access_log;
};

class Job : public Work {
 public:
  using Clock = std::chrono::steady_clock;

  Job(Services& services, Method method, std::chrono::system_clock::time_point deadline)
      : services_(services), method_(method), deadline_(deadline), arrival_(Clock::now()) {}
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // Decodes and plans; errors as DecodeRequest's. Call once.
  absl::Status Accept(const v1::ReduceRequest& header);

  // For a request that is refused before Accept: the name under which it is logged.
  void Identify(const v1::ReduceRequest& header);

  // Admits the job, holding `held_bytes` of payload, and queues it. On error nothing is held and
  // Answer will not come: the caller sends the error, after Refuse. REQUIRES: Accept was OK.
  absl::Status Start(std::int64_t held_bytes);

  // Counts and logs a job that ends with `status` before or in Start.
  void Refuse(const absl::Status& status);

  // The client is gone or its deadline has passed. A queued job is taken back and answered here; a
  // running one ends soon.
  void Cancel() {
    if (Withdraw()) AnswerWithdrawn();
  }
  // The two halves of Cancel, for a caller that takes the job back under a lock: true when it did,
  // then AnswerWithdrawn must follow, without the lock.
  bool Withdraw();
  void AnswerWithdrawn();

  const Plan& plan() const override { return request_.plan; }
  const std::string& request_id() const { return request_.request_id; }
  absl::Status Wanted() const override;
  void Done(WorkReport report) override;

 protected:
  // The end. `response` is complete when `status` is OK, and free to be taken apart. Last call on
  // the job, which may delete itself in here.
  virtual void Answer(const absl::Status& status, v1::ReduceResponse* response) = 0;

  // Lets go of all payload bytes, before the ticket goes. A reaction may still bring some later; it
  // must drop them.
  virtual void DropPayload() = 0;

  // The client's address, as gRPC writes it.
  virtual std::string Peer() const = 0;

  Services& services() { return services_; }
  AdmissionTicket& ticket() { return ticket_; }
  std::chrono::system_clock::time_point deadline() const { return deadline_; }

 private:
  void FillResponse(WorkReport& report, v1::ReduceResponse* response) const;
  void Record(const absl::Status& status, const WorkReport& report, Clock::time_point reply_start);

  Services& services_;
  const Method method_;
  const std::chrono::system_clock::time_point deadline_;
  const Clock::time_point arrival_;
  Request request_;
  bool accepted_ = false;
  AdmissionTicket ticket_;
  std::atomic<bool> cancelled_{false};
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_JOB_H_
