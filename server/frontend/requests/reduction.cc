#include "server/frontend/requests/reduction.h"

#include <cstddef>
#include <cstdlib>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "kernels/field_error.h"
#include "server/frontend/requests/call_record.h"

namespace warpfold {
namespace {

absl::Status CheckData(const Decoded& decoded, std::int64_t payload_bytes) {
  const std::size_t bytes = decoded.payload.has_value() ? decoded.payload->size_bytes() : 0;
  if (static_cast<std::int64_t>(bytes) == payload_bytes) return absl::OkStatus();
  return InvalidField(Field::kData,
                      absl::StrCat("has ", bytes, " bytes, but tensor describes ", payload_bytes));
}

}  // namespace

Reduction::Reduction(Services& services, Method method, std::unique_ptr<Codec> codec, Reply& reply)
    : services_(services),
      method_(method),
      codec_(std::move(codec)),
      reply_(reply),
      submission_(services, reply.caller(), reply.deadline(), *this) {}

void Reduction::Serve(grpc::ByteBuffer* message) {
  absl::Status status = Take(message);
  // On OK a worker may already be at it, or done: nothing of this is touched after.
  if (status.ok()) status = Start();
  if (!status.ok()) Refuse(status);
}

absl::Status Reduction::Take(grpc::ByteBuffer* message) {
  grpc::ByteBuffer taken;
  taken.Swap(message);
  Decoded decoded;
  absl::Status status = codec_->Decode(&taken, &decoded);
  if (!status.ok()) {
    Identify(decoded.spec.id);
    return status;
  }
  status = Make(std::move(decoded.spec));
  if (status.ok()) status = CheckData(decoded, request_.payload_bytes());
  if (!status.ok()) return codec_->TranslateError(status);
  if (decoded.payload.has_value()) payload_.Set(*std::move(decoded.payload));
  Task& task = submission_.task();
  if (task.payload == nullptr) task.payload = &payload_;
  task.may_run_inline = true;
  task.done_waits = codec_->WritesToDevice();
  return absl::OkStatus();
}

absl::Status Reduction::Accept(RequestSpec spec, PayloadSource& chunks) {
  Task& task = submission_.task();
  task.payload = &chunks;
  task.waits_for_client = true;
  return Make(std::move(spec));
}

absl::Status Reduction::Make(RequestSpec spec) {
  Identify(spec.id);
  absl::StatusOr<Request> request =
      MakeRequest(std::move(spec), reply_.caller(), services_.limits.Get(), services_.tensors,
                  services_.regions);
  if (!request.ok()) return request.status();
  request_ = *std::move(request);
  request_.FillTask(submission_.task());
  is_planned_ = true;
  return absl::OkStatus();
}

void Reduction::Identify(const std::string& id) {
  request_.id = CutRequestId(id, services_.limits.Get());
}

absl::Status Reduction::Start() {
  const bool is_here = !submission_.task().waits_for_client;  // or its ticket holds what comes
  return submission_.Start(
      {.payload = is_here ? request_.payload_bytes() : 0, .results = request_.answer_bytes()});
}

absl::Status Reduction::Expect() {
  return submission_.Expect({.results = request_.answer_bytes()});
}

void Reduction::Refuse(const absl::Status& status) {
  request_.ReleaseSource(/*answered=*/false);
  submission_.ticket().Release();  // it is expected no more, however slowly its client reads that
  Record(status, TaskReport(), std::chrono::steady_clock::now());
  Send(status, nullptr, {});
}

void Reduction::OnDone(TaskReport report) {
  const auto reply_start = std::chrono::steady_clock::now();
  absl::Status status = report.outcome.status();
  payload_.Clear();
  reply_.StopReceiving();
  Answer answer;
  if (status.ok()) answer = AnswerOf(report);  // names devices as the tensor has them
  request_.ReleaseSource(status.ok());
  if (status.ok()) status = codec_->WriteOutputs(answer);
  Record(status, report, reply_start);
  Send(status, &answer, std::move(submission_.ticket()));
}

void Reduction::Send(const absl::Status& status, Answer* answer, AdmissionTicket held) {
  if (std::exchange(is_answered_, true)) std::abort();
  grpc::ByteBuffer message;
  const absl::Status told = codec_->Encode(request_, status, answer, &message);
  reply_.Send(told, message, std::move(held));
}

Answer Reduction::AnswerOf(TaskReport& report) const {
  Answer answer;
  answer.results = std::move(report.outcome->results);
  if (report.device != nullptr) answer.device = report.device->name;
  const DeviceTimes& times = report.outcome->times;
  answer.times = {.receive = report.receive,
                  .queue = report.queue,
                  .host_to_device = times.host_to_device,
                  .kernel = times.kernel,
                  .device_to_host = times.device_to_host,
                  .total = std::chrono::steady_clock::now() - reply_.arrival()};
  return answer;
}

void Reduction::Record(const absl::Status& status, const TaskReport& report,
                       std::chrono::steady_clock::time_point reply_start) const {
  RecordRequest(services_, {.method = method_,
                            .request = request_,
                            .is_planned = is_planned_,
                            .report = report,
                            .status = status,
                            .reply_start = reply_start,
                            .reply = reply_});
}

}  // namespace warpfold
