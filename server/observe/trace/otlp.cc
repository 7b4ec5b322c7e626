#include "server/observe/trace/otlp.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "opentelemetry/exporters/otlp/otlp_http_exporter_factory.h"
#include "opentelemetry/exporters/otlp/otlp_http_exporter_options.h"
#include "opentelemetry/sdk/common/global_log_handler.h"
#include "opentelemetry/sdk/instrumentationscope/instrumentation_scope.h"
#include "opentelemetry/sdk/resource/resource.h"
#include "opentelemetry/sdk/trace/exporter.h"
#include "opentelemetry/sdk/trace/recordable.h"
#include "opentelemetry/trace/span_context.h"
#include "opentelemetry/trace/span_metadata.h"
#include "server/observe/metrics/method.h"
#include "server/observe/metrics/metrics.h"
#include "server/observe/trace/span_queue.h"

namespace warpfold {
namespace {

namespace otel = opentelemetry;
namespace otel_log = opentelemetry::sdk::common::internal_log;
using std::chrono::nanoseconds;
using Recordables = std::vector<std::unique_ptr<otel::sdk::trace::Recordable>>;

constexpr std::chrono::seconds kExportTimeout{2};

otel::trace::TraceId ToOtel(const TraceId& id) { return otel::trace::TraceId(id); }
otel::trace::SpanId ToOtel(const SpanId& id) { return otel::trace::SpanId(id); }

// By OpenTelemetry's conventions for gRPC: the server's faults, and not the client's.
bool IsFault(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDataLoss:
      return true;
    default:  // Abseil's enum is open
      return false;
  }
}

// Counts the errors that the library has for the thread which sends. Of 1.19 there is no other way:
// its exporter returns success whatever the collector does, and says in a line of its log that
// there was none, before it returns. The lines themselves would be on stderr, between the log's.
class SendErrors final : public otel_log::LogHandler {
 public:
  // From now on, of this thread.
  void Begin() {
    sender_ = std::this_thread::get_id();
    count_ = 0;
  }
  int count() const { return count_; }

  void Handle(otel_log::LogLevel level, const char* /*file*/, int /*line*/, const char* /*message*/,
              const otel::sdk::common::AttributeMap& /*attributes*/) noexcept override {
    if (level == otel_log::LogLevel::Error && std::this_thread::get_id() == sender_) ++count_;
  }

 private:
  std::atomic<std::thread::id> sender_{};
  std::atomic<int> count_{0};
};

// What is sent of a span, and how: one at a time.
class Exporter {
 public:
  explicit Exporter(const OtlpOptions& options)
      : resource_(
            otel::sdk::resource::Resource::Create({{"service.name", std::string("warpfold-server")},
                                                   {"service.version", options.version}})),
        scope_(otel::sdk::instrumentationscope::InstrumentationScope::Create("warpfold",
                                                                             options.version)) {
    otel::exporter::otlp::OtlpHttpExporterOptions http;
    http.url = absl::StrCat(options.endpoint, "/v1/traces");
    http.content_type = otel::exporter::otlp::HttpRequestContentType::kBinary;
    http.timeout = kExportTimeout;
    http.retry_policy_max_attempts = 1;  // what comes meanwhile waits in the queue
    exporter_ = otel::exporter::otlp::OtlpHttpExporterFactory::Create(http);
    otel_log::GlobalLogHandler::SetLogLevel(otel_log::LogLevel::Error);
    otel_log::GlobalLogHandler::SetLogHandler(otel::nostd::shared_ptr<otel_log::LogHandler>(
        std::shared_ptr<otel_log::LogHandler>(errors_)));
  }

  bool Send(const std::vector<SpanFacts>& spans) {
    Recordables recordables;
    for (const SpanFacts& facts : spans) Add(facts, recordables);
    errors_->Begin();
    const auto result = exporter_->Export({recordables.data(), recordables.size()});
    return result == otel::sdk::common::ExportResult::kSuccess && errors_->count() == 0;
  }

 private:
  otel::sdk::trace::Recordable& New(const ServerSpan& span, Recordables& out) {
    out.push_back(exporter_->MakeRecordable());
    otel::sdk::trace::Recordable& made = *out.back();
    made.SetIdentity({ToOtel(span.context.trace_id), ToOtel(span.context.span_id),
                      otel::trace::TraceFlags(otel::trace::TraceFlags::kIsSampled), false},
                     ToOtel(span.parent));
    made.SetResource(resource_);
    made.SetInstrumentationScope(*scope_);
    return made;
  }

  void Add(const SpanFacts& facts, Recordables& out) {
    const MethodFacts& method = FactsOf(facts.method);
    const std::chrono::system_clock::time_point start =
        facts.end - std::chrono::duration_cast<std::chrono::system_clock::duration>(facts.total);
    otel::sdk::trace::Recordable& span = New(facts.span, out);
    span.SetName(facts.is_item ? "item" : absl::StrCat(method.service, "/", method.name));
    span.SetSpanKind(facts.is_item ? otel::trace::SpanKind::kInternal
                                   : otel::trace::SpanKind::kServer);
    span.SetStartTime(start);
    span.SetDuration(facts.total);
    span.SetAttribute("rpc.system", "grpc");
    span.SetAttribute("rpc.service", method.service);
    span.SetAttribute("rpc.method", method.name);
    span.SetAttribute("rpc.grpc.status_code", static_cast<std::int32_t>(facts.code));
    if (IsFault(facts.code)) span.SetStatus(otel::trace::StatusCode::kError, "");
    SetText(span, "warpfold.request_id", facts.request_id);
    SetText(span, "warpfold.caller", facts.caller);
    SetText(span, "warpfold.device", facts.device);
    if (facts.tensor.has_value()) {
      SetText(span, "warpfold.ops", facts.tensor->ops);
      SetText(span, "warpfold.dtype", facts.tensor->dtype);
      span.SetAttribute("warpfold.bytes", facts.tensor->bytes);
    }
    if (facts.stages.has_value()) AddStages(facts, start, out);
  }

  static void SetText(otel::sdk::trace::Recordable& span, const char* name,
                      const std::string& text) {
    if (!text.empty()) span.SetAttribute(name, otel::nostd::string_view(text));
  }

  // Where a stage began is not known, as those of a large tensor overlap: they are laid end to end.
  void AddStages(const SpanFacts& facts, std::chrono::system_clock::time_point start,
                 Recordables& out) {
    nanoseconds before{0};
    for (std::size_t stage = 0; stage < kStageCount; ++stage) {
      const nanoseconds length = (*facts.stages)[stage];
      otel::sdk::trace::Recordable& span = New(SpanIn(facts.span.context), out);
      span.SetName(Name(static_cast<Stage>(stage)));
      span.SetSpanKind(otel::trace::SpanKind::kInternal);
      span.SetStartTime(start +
                        std::chrono::duration_cast<std::chrono::system_clock::duration>(before));
      span.SetDuration(length);
      before += length;
    }
  }

  const std::shared_ptr<SendErrors> errors_ = std::make_shared<SendErrors>();
  const otel::sdk::resource::Resource resource_;
  const otel::nostd::unique_ptr<otel::sdk::instrumentationscope::InstrumentationScope> scope_;
  std::unique_ptr<otel::sdk::trace::SpanExporter> exporter_;
};

}  // namespace

bool HasOtlp() { return true; }

std::unique_ptr<SpanSink> MakeOtlpSink(const OtlpOptions& options) {
  const auto exporter = std::make_shared<Exporter>(options);
  return std::make_unique<SpanQueue>(
      [exporter](const std::vector<SpanFacts>& spans) { return exporter->Send(spans); },
      options.on_reached);
}

}  // namespace warpfold
