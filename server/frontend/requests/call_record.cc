#include "server/frontend/requests/call_record.h"

#include <string>

#include "server/core/base/refusal.h"
#include "server/observe/trace/span_sink.h"

namespace warpfold {
namespace {

bool IsDoneToOthers(const EndedCall& call) {
  return call.status.ok() && call.subject != nullptr && !call.subject->owner.empty() &&
         call.subject->owner != call.peer.caller;
}

// The client has it sampled, and somebody takes spans.
bool TakesSpan(const Services& services, const ServerSpan* span) {
  return span != nullptr && span->context.is_sampled && services.spans != nullptr;
}

// What a span has of any call.
SpanFacts SpanOf(const ServerSpan& span, const RequestRecord& record, std::string_view request_id,
                 std::string_view caller) {
  return {.span = span,
          .method = record.method,
          .code = record.code,
          .end = std::chrono::system_clock::now(),
          .total = record.total,
          .request_id = std::string(request_id),
          .caller = std::string(caller)};
}

RequestRecord RecordOf(const EndedRequest& ended) {
  const auto now = std::chrono::steady_clock::now();
  RequestRecord record{.method = ended.method,
                       .plan = ended.is_planned ? &ended.request.plan : nullptr,
                       .code = ended.status.code(),
                       .client_timed_out = !ended.status.ok() && IsClientTimeout(ended.status),
                       .total = now - ended.reply.arrival()};
  if (ended.report.outcome.ok()) {
    const DeviceTimes& times = ended.report.outcome->times;
    record.stages = {ended.report.receive, ended.report.queue,   times.host_to_device,
                     times.kernel,         times.device_to_host, now - ended.reply_start};
  }
  return record;
}

SpanFacts SpanOf(const EndedRequest& ended, const RequestRecord& record) {
  SpanFacts facts =
      SpanOf(*ended.reply.span(), record, ended.request.id, ended.reply.caller().name);
  facts.is_item = HasItems(ended.method);
  if (record.plan != nullptr) {
    facts.tensor = {.ops = OpNames(*record.plan),
                    .dtype = Name(record.plan->dtype),
                    .bytes = record.plan->input_bytes};
  }
  if (ended.report.device != nullptr) facts.device = ended.report.device->name;
  if (ended.report.outcome.ok()) facts.stages = record.stages;
  return facts;
}

}  // namespace

void LogCall(AccessLog& access_log, const EndedCall& call) {
  const absl::Status& status = call.status;
  // Probes ask all the time.
  if (call.method == Method::kHealthCheck && status.ok()) return;
  if (!IsDoneToOthers(call) && !access_log.Takes(status.code(), call.took, IsMalformed(status))) {
    return;
  }
  access_log.Write({.record = {.method = call.method, .code = status.code(), .total = call.took},
                    .request_id = call.request_id,
                    .peer = call.peer,
                    .subject = call.subject,
                    .status = status});
}

void RecordCall(const Services& services, const EndedCall& call) {
  LogCall(services.access_log, call);
  if (!TakesSpan(services, call.peer.span)) return;
  const RequestRecord record{.method = call.method, .code = call.status.code(), .total = call.took};
  services.spans->Take(SpanOf(*call.peer.span, record, call.request_id, call.peer.caller));
}

void RecordRequest(const Services& services, const EndedRequest& ended) {
  const RequestRecord record = RecordOf(ended);
  services.metrics.CountRequest(record);
  if (TakesSpan(services, ended.reply.span())) services.spans->Take(SpanOf(ended, record));

  const bool is_malformed = !ended.status.ok() && IsMalformed(ended.status);
  if (!services.access_log.Takes(record.code, record.total, is_malformed)) return;
  const Reply& reply = ended.reply;
  services.access_log.Write({.record = record,
                             .request_id = ended.request.id,
                             .peer = {reply.PeerName(), reply.caller().name, reply.span()},
                             .shape = ended.request.plan.shape,
                             .status = ended.status});
}

}  // namespace warpfold
