#include "server/frontend/job.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/field_error.h"
#include "kernels/numerics.h"
#include "server/core/refusal.h"
#include "server/frontend/response.h"
#include "server/frontend/state_message.h"

namespace warpfold {
namespace {

// A tensor that begins `offset_bytes` into memory on a device.
absl::Status CheckOnDevice(const Request& request, std::int64_t offset_bytes) {
  if (request.part.has_value()) {
    return FieldStatus(
        Field::kReturnState,
        absl::UnimplementedError("states of memory on devices are not in this server yet"));
  }
  const auto element_bytes = static_cast<std::int64_t>(ElementBytes(request.plan.dtype));
  if (offset_bytes % element_bytes == 0) return absl::OkStatus();
  return InvalidField(
      Field::kMemoryOffsetBytes,
      absl::StrCat(offset_bytes, " is no multiple of the element's ", element_bytes, " bytes"));
}

std::int64_t Nanoseconds(std::chrono::nanoseconds duration) { return duration.count(); }

}  // namespace

absl::Status Job::Accept(const v1::ReduceRequest& header) {
  absl::StatusOr<Request> request = Decode(header);
  if (!request.ok()) {
    Identify(header);
    return request.status();
  }
  request_ = *std::move(request);
  accepted_ = true;
  FillTask();
  return absl::OkStatus();
}

void Job::Identify(const v1::ReduceRequest& header) {
  const std::string& id = header.request_id();
  std::size_t size = static_cast<std::size_t>(services().limits.Get().max_request_id_bytes);
  // Never within a character: a stream's answer has it, and without the rest it is no UTF-8.
  const auto is_within = [&](std::size_t at) {
    return (static_cast<unsigned char>(id[at]) & 0xC0U) == 0x80U;
  };
  while (size > 0 && size < id.size() && is_within(size)) --size;
  request_.request_id = id.substr(0, size);
}

absl::StatusOr<Request> Job::Decode(const v1::ReduceRequest& header) {
  const Limits& limits = services().limits.Get();
  const absl::StatusOr<const v1::Source*> values = FindValues(header);
  if (!values.ok()) return values.status();
  if ((*values)->has_memory()) return DecodeInRegion(header, **values);
  if (!(*values)->has_tensor_id()) return DecodeRequest(header, **values, limits);
  absl::StatusOr<TensorReadLease> tensor =
      services().tensors.Read(requester(), (*values)->tensor_id(), header.consume());
  if (!tensor.ok()) return tensor.status();
  absl::StatusOr<Request> request = DecodeResident(header, tensor->shape(), limits);
  if (request.ok()) tensor_ = *std::move(tensor);
  return request;
}

absl::StatusOr<Request> Job::DecodeInRegion(const v1::ReduceRequest& header,
                                            const v1::Source& values) {
  absl::StatusOr<Request> request = DecodeRequest(header, values, services().limits.Get());
  if (!request.ok()) return request;
  const v1::MemoryRef& memory = values.memory();
  absl::StatusOr<RegionLease> range = services().regions.Use(
      {requester().name, memory.name()}, memory.offset_bytes(), memory.size_bytes());
  if (!range.ok()) return range.status();
  if (range->size_bytes() != request->plan.input_bytes) {
    return InvalidField(Field::kMemorySizeBytes,
                        absl::StrCat("is ", range->size_bytes(), ", but tensor describes ",
                                     request->plan.input_bytes));
  }
  if (range->device() != nullptr) {
    if (absl::Status status = CheckOnDevice(*request, memory.offset_bytes()); !status.ok()) {
      return status;
    }
  }
  region_.Set(*std::move(range));
  return request;
}

void Job::FillTask() {
  Task& reduction = task();
  reduction.plan = &request_.plan;
  if (is_in_region()) {
    reduction.device = region_.lease().device();
    if (reduction.device != nullptr) reduction.action = ReduceTensor{region_.lease().device_data()};
  } else if (is_resident()) {
    const absl::Span<const Shard> shards = tensor_.shards();
    reduction.device = shards.front().device;
    reduction.action = ReduceTensor{shards.front().data};
    if (shards.size() > 1) {
      reduction.shards = shards;
      reduction.shard_devices = &tensor_.devices();
    }
  }
}

void Job::Refuse(const absl::Status& status) {
  tensor_.Release();
  region_.Clear();
  Record(status, TaskReport(), Clock::now());
}

void Job::OnDone(TaskReport report) {
  const Clock::time_point reply_start = Clock::now();
  report.queue += queued_before();
  absl::Status status = report.outcome.status();
  DropPayload();
  v1::ReduceResponse response;
  if (status.ok()) FillResponse(report, &response);  // names devices as the tensor has them
  tensor_.Release(status.ok() && request_.consume);
  region_.Clear();
  if (status.ok()) status = Place(&response);
  Record(status, report, reply_start);
  Answer(status, &response);
}

void Job::FillResponse(TaskReport& report, v1::ReduceResponse* response) const {
  response->set_request_id(request_.request_id);
  response->set_numerics_version(kNumericsVersion);
  std::vector<std::string> results = std::move(report.outcome->results);
  if (request_.part.has_value()) {
    response->set_state(EncodeState(*request_.part, std::move(results)));
  } else {
    AddResults(request_.plan, std::move(results), response);
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
void Job::Record(const absl::Status& status, const TaskReport& report,
                 Clock::time_point reply_start) {
  const Clock::time_point now = Clock::now();
  RequestRecord record;
  record.method = method_;
  record.plan = accepted_ ? &request_.plan : nullptr;
  record.code = status.code();
  record.client_timed_out = IsClientTimeout(status);
  record.total = now - arrival_;
  if (report.outcome.ok()) {
    const DeviceTimes& times = report.outcome->times;
    record.stages = {report.receive, report.queue,         times.host_to_device,
                     times.kernel,   times.device_to_host, now - reply_start};
  }
  services().metrics.CountRequest(record);

  AccessLog& access_log = services().access_log;
  if (!access_log.Takes(record.code, record.total, IsMalformed(status))) return;
  access_log.Write(record, request_.request_id, {AskedFrom(), requester().name},
                   request_.plan.shape, status);
}

}  // namespace warpfold
