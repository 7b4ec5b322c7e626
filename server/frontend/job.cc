#include "server/frontend/job.h"

#include <string>
#include <utility>

namespace warpfold {
namespace {

std::int64_t Nanoseconds(std::chrono::nanoseconds duration) { return duration.count(); }

}  // namespace

absl::Status Job::Accept(const v1::ReduceRequest& header) {
  absl::StatusOr<Request> request = DecodeRequest(header, services_.limits.Get());
  if (!request.ok()) {
    Identify(header);
    return request.status();
  }
  request_ = *std::move(request);
  accepted_ = true;
  return absl::OkStatus();
}

void Job::Identify(const v1::ReduceRequest& header) {
  request_.request_id = header.request_id().substr(0, 256);
}

absl::Status Job::Start(std::int64_t held_bytes) {
  absl::StatusOr<AdmissionTicket> ticket = services_.admission.Admit(held_bytes);
  if (!ticket.ok()) return ticket.status();
  ticket_ = *std::move(ticket);
  absl::Status queued = services_.scheduler.Submit(this);
  // On OK a lane may already be at work, or done and `this` gone: touch nothing.
  if (!queued.ok()) ticket_.Release();
  return queued;
}

void Job::Refuse(const absl::Status& status) { Record(status, WorkReport(), Clock::now()); }

absl::Status Job::Wanted() const {
  if (std::chrono::system_clock::now() >= deadline_) {
    return absl::DeadlineExceededError("the deadline has passed");
  }
  if (cancelled_.load(std::memory_order_relaxed)) {
    return absl::CancelledError("the client cancelled the request");
  }
  return absl::OkStatus();
}

bool Job::Withdraw() {
  cancelled_.store(true, std::memory_order_relaxed);
  return services_.scheduler.Withdraw(this);
}

void Job::AnswerWithdrawn() {
  WorkReport report;
  report.outcome = Wanted();
  Done(std::move(report));
}

void Job::Done(WorkReport report) {
  const Clock::time_point reply_start = Clock::now();
  DropPayload();
  ticket_.Release();
  const absl::Status status = report.outcome.status();
  v1::ReduceResponse response;
  if (status.ok()) FillResponse(report, &response);
  Record(status, report, reply_start);
  Answer(status, &response);
}

void Job::FillResponse(WorkReport& report, v1::ReduceResponse* response) const {
  const Plan& plan = request_.plan;
  response->set_request_id(request_.request_id);
  for (std::size_t i = 0; i < plan.ops.size(); ++i) {
    v1::Result* result = response->add_results();
    result->set_op(ToProto(plan.ops[i]));
    result->mutable_tensor()->set_dtype(ToProto(ResultDType(plan.ops[i], plan.dtype)));
    for (const std::int64_t length : plan.result_shape) result->mutable_tensor()->add_shape(length);
    result->set_data(std::move(report.outcome->results[i]));
  }
  if (report.device != nullptr) response->set_device(report.device->name);
  const DeviceTimes& times = report.outcome->times;
  v1::Timing* timing = response->mutable_timing();
  timing->set_receive_ns(Nanoseconds(report.receive));
  timing->set_queue_ns(Nanoseconds(report.queue));
  timing->set_host_to_device_ns(Nanoseconds(times.host_to_device));
  timing->set_kernel_ns(Nanoseconds(times.kernel));
  timing->set_device_to_host_ns(Nanoseconds(times.device_to_host));
  timing->set_total_ns(Nanoseconds(Clock::now() - arrival_));
}

// Before the answer leaves, so that a client that has it finds itself counted.
void Job::Record(const absl::Status& status, const WorkReport& report,
                 Clock::time_point reply_start) {
  const Clock::time_point now = Clock::now();
  RequestRecord record;
  record.method = method_;
  record.plan = accepted_ ? &request_.plan : nullptr;
  record.code = status.code();
  record.total = now - arrival_;
  if (report.outcome.ok()) {
    const DeviceTimes& times = report.outcome->times;
    record.stages = {report.receive, report.queue,         times.host_to_device,
                     times.kernel,   times.device_to_host, now - reply_start};
  }
  services_.metrics.CountRequest(record);

  AccessLog& access_log = services_.access_log;
  if (!access_log.Takes(record.code, record.total)) return;
  access_log.Write(record, request_.request_id, Peer(), request_.shape, status);
}

}  // namespace warpfold
