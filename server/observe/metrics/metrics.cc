#include "server/observe/metrics/metrics.h"

#include <map>
#include <string_view>

#include "kernels/dtypes/catalogue.h"
#include "prometheus/gauge.h"
#include "server/observe/metrics/code_name.h"

namespace warpfold {
namespace {

// From 50 us, under which one loopback round trip does not get, to a minute, over which nobody
// waits.
const prometheus::Histogram::BucketBoundaries& LatencyBuckets() {
  static const auto& buckets = *new prometheus::Histogram::BucketBoundaries{
      50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 20e-3, 50e-3,
      0.1,   0.2,    0.5,    1.0,    2.0,  5.0,  10.0, 30.0,  60.0};
  return buckets;
}

// Stages are shorter than requests: a small reduction takes 5 to 20 us.
const prometheus::Histogram::BucketBoundaries& StageBuckets() {
  static const auto& buckets = *new prometheus::Histogram::BucketBoundaries{
      2e-6,  5e-6,  10e-6, 20e-6, 50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3,
      20e-3, 50e-3, 0.1,   0.2,   0.5,   1.0,    2.0,    5.0,    10.0, 30.0, 60.0};
  return buckets;
}

// The codes that a request for a tensor can end with; the others stay without a series.
constexpr absl::StatusCode kRequestCodes[] = {absl::StatusCode::kOk,
                                              absl::StatusCode::kCancelled,
                                              absl::StatusCode::kUnknown,
                                              absl::StatusCode::kInvalidArgument,
                                              absl::StatusCode::kNotFound,
                                              absl::StatusCode::kDeadlineExceeded,
                                              absl::StatusCode::kOutOfRange,
                                              absl::StatusCode::kFailedPrecondition,
                                              absl::StatusCode::kResourceExhausted,
                                              absl::StatusCode::kInternal,
                                              absl::StatusCode::kUnimplemented,
                                              absl::StatusCode::kUnavailable,
                                              absl::StatusCode::kDataLoss};

template <typename Enum>
constexpr std::size_t Index(Enum value) {
  return static_cast<std::size_t>(value);
}

double Seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

const char* Name(Stage stage) {
  switch (stage) {
    case Stage::kReceive:
      return "receive";
    case Stage::kQueue:
      return "queue";
    case Stage::kHostToDevice:
      return "host_to_device";
    case Stage::kKernel:
      return "kernel";
    case Stage::kDeviceToHost:
      return "device_to_host";
    case Stage::kReply:
      return "reply";
  }
  __builtin_unreachable();
}

Metrics::Metrics(const BuildInfo& build) : registry_(std::make_shared<prometheus::Registry>()) {
  AddRequestFamilies();
  AddStageSeries();
  AddPayloadSeries();
  AddCallFamilies();
  for (const MethodFacts& facts : kMethods) {
    if (std::string_view(facts.service) != kInferenceService) HaveSeriesOf(facts.method);
  }
  AddInfoSeries(build);
  AddReloadSeries();
  AddBatchSeries();
  AddTimeoutSeries();
}

void Metrics::HaveSeriesOf(Method method) {
  absl::call_once(have_series_[Index(method)], [this, method] {
    if (Index(method) < kTensorMethodCount) AddRequestSeries(method);
    AddCallSeries(method);
  });
}

void Metrics::AddRequestFamilies() {
  requests_ = &prometheus::BuildCounter()
                   .Name("warpfold_requests_total")
                   .Help("Tensors answered, by method, op, dtype and status code.")
                   .Register(*registry_);
  request_durations_ = &prometheus::BuildHistogram()
                            .Name("warpfold_request_duration_seconds")
                            .Help("From a request's first byte known to the server to its answer.")
                            .Register(*registry_);
}

void Metrics::AddRequestSeries(Method method) {
  MethodSeries& series = methods_[Index(method)];
  const std::string name = Name(method);
  series.duration = &request_durations_->Add({{"method", name}}, LatencyBuckets());
  const auto add_undecoded = [this, &series, &name](std::size_t end) {
    series.refused_undecoded[end] = &requests_->Add(
        {{"method", name}, {"op", "none"}, {"dtype", "none"}, {"code", EndName(end)}});
  };
  for (const absl::StatusCode code : kRequestCodes) add_undecoded(Index(code));
  add_undecoded(kClientTimeout);
  for (std::size_t o = 0; o < kOpLabelCount; ++o) {
    for (std::size_t d = 0; d < kDTypeCount; ++d) {
      LazyRequestCounter(method, o, d, Index(absl::StatusCode::kOk));
    }
  }
}

const char* Metrics::EndName(std::size_t end) {
  return end == kClientTimeout ? "ClientTimeout" : CodeName(static_cast<absl::StatusCode>(end));
}

prometheus::Counter& Metrics::LazyRequestCounter(Method method, std::size_t op, std::size_t dtype,
                                                 std::size_t end) {
  std::atomic<prometheus::Counter*>& known = methods_[Index(method)].requests[op][dtype][end];
  if (prometheus::Counter* counter = known.load(std::memory_order_acquire)) return *counter;
  // Two threads may come here at once: the family gives both the same counter.
  prometheus::Counter& made =
      requests_->Add({{"method", Name(method)},
                      {"op", op < kOpCount ? Name(kAllOps[op]) : "multiple"},
                      {"dtype", kDTypeRows[dtype].name},
                      {"code", EndName(end)}});
  known.store(&made, std::memory_order_release);
  return made;
}

void Metrics::AddStageSeries() {
  auto& stages = prometheus::BuildHistogram()
                     .Name("warpfold_stage_duration_seconds")
                     .Help("Time of answered requests in each stage; stages may overlap.")
                     .Register(*registry_);
  for (std::size_t s = 0; s < kStageCount; ++s) {
    stages_[s] = &stages.Add({{"stage", Name(static_cast<Stage>(s))}}, StageBuckets());
  }
}

void Metrics::AddPayloadSeries() {
  auto& bytes = prometheus::BuildCounter()
                    .Name("warpfold_payload_bytes_total")
                    .Help("Tensor bytes reduced.")
                    .Register(*registry_);
  for (const DType dtype : kAllDTypes) {
    for (const FusionRow& fusion : kFusionRows) {
      payload_bytes_[Index(dtype)][Index(fusion.fused_op_set)] =
          &bytes.Add({{"dtype", Name(dtype)}, {"op_class", fusion.name}});
    }
  }
}

void Metrics::AddCallFamilies() {
  calls_handled_ = &prometheus::BuildCounter()
                        .Name("grpc_server_handled_total")
                        .Help("RPCs completed on the server, whatever their status.")
                        .Register(*registry_);
  call_durations_ = &prometheus::BuildHistogram()
                         .Name("grpc_server_handling_seconds")
                         .Help("Time from an RPC's start to its end on the server.")
                         .Register(*registry_);
}

void Metrics::AddCallSeries(Method method) {
  CallSeries& series = calls_[Index(method)];
  const MethodFacts& facts = FactsOf(method);
  const prometheus::Labels labels{
      {"grpc_type", facts.type}, {"grpc_service", facts.service}, {"grpc_method", facts.name}};
  series.duration = &call_durations_->Add(labels, LatencyBuckets());
  for (std::size_t c = 0; c < kCodeCount; ++c) {
    prometheus::Labels with_code = labels;
    with_code["grpc_code"] = CodeName(static_cast<absl::StatusCode>(c));
    series.handled[c] = &calls_handled_->Add(with_code);
  }
}

void Metrics::AddInfoSeries(const BuildInfo& build) {
  prometheus::BuildGauge()
      .Name("warpfold_build_info")
      .Help("Always 1; what runs is in the labels.")
      .Register(*registry_)
      .Add({{"version", build.version}, {"backend", build.backend}, {"compiler", build.compiler}})
      .Set(1);
}

void Metrics::AddReloadSeries() {
  auto& reloads = prometheus::BuildCounter()
                      .Name("warpfold_config_reloads_total")
                      .Help("Reloads of the configuration by SIGHUP, taken and refused.")
                      .Register(*registry_);
  reloads_ = {&reloads.Add({{"result", "refused"}}), &reloads.Add({{"result", "ok"}})};
}

void Metrics::AddBatchSeries() {
  batch_requests_ =
      &prometheus::BuildHistogram()
           .Name("warpfold_batch_requests")
           .Help("Small tensors that a device reduced together.")
           .Register(*registry_)
           .Add({}, prometheus::Histogram::BucketBoundaries{1, 2, 4, 8, 16, 32, 64, 128, 256});
}

void Metrics::AddTimeoutSeries() {
  auto& timeouts = prometheus::BuildCounter()
                       .Name("warpfold_client_timeouts_total")
                       .Help("Calls and requests ended because their client was too slow.")
                       .Register(*registry_);
  timeouts_ = {
      &timeouts.Add({{"limit", "message"}}),       &timeouts.Add({{"limit", "write"}}),
      &timeouts.Add({{"limit", "stream_idle"}}),   &timeouts.Add({{"limit", "rate"}}),
      &timeouts.Add({{"limit", "write_pressed"}}), &timeouts.Add({{"limit", "call_pressed"}})};
}

prometheus::Counter& Metrics::RequestCounter(const RequestRecord& record) {
  const ByEnd& refused = methods_[Index(record.method)].refused_undecoded;
  std::size_t end = record.client_timed_out ? kClientTimeout : Index(record.code);
  // What no request ends with has no series.
  if (end >= kEndCount || refused[end] == nullptr) end = Index(absl::StatusCode::kUnknown);
  if (record.plan == nullptr) return *refused[end];
  const std::size_t op = record.plan->ops.size() == 1 ? Index(record.plan->ops.front()) : kOpCount;
  return LazyRequestCounter(record.method, op, Index(record.plan->dtype), end);
}

void Metrics::CountRequest(const RequestRecord& record) {
  HaveSeriesOf(record.method);
  RequestCounter(record).Increment();
  methods_[Index(record.method)].duration->Observe(Seconds(record.total));
  if (record.code != absl::StatusCode::kOk || record.plan == nullptr) return;
  for (std::size_t s = 0; s < kStageCount; ++s) stages_[s]->Observe(Seconds(record.stages[s]));
  payload_bytes_[Index(record.plan->dtype)][Index(record.plan->fused_op_set())]->Increment(
      static_cast<double>(record.plan->input_bytes));
}

void Metrics::CountBatch(int requests) { batch_requests_->Observe(static_cast<double>(requests)); }

void Metrics::CountTimeout(Timeout timeout) { timeouts_[Index(timeout)]->Increment(); }

void Metrics::CountReload(bool taken) { reloads_[taken ? 1 : 0]->Increment(); }

void Metrics::CountCallHandled(Method method, absl::StatusCode code,
                               std::chrono::nanoseconds duration) {
  HaveSeriesOf(method);
  CallSeries& series = calls_[Index(method)];
  const std::size_t index =
      Index(code) < kCodeCount ? Index(code) : Index(absl::StatusCode::kUnknown);
  series.handled[index]->Increment();
  series.duration->Observe(Seconds(duration));
}

}  // namespace warpfold
