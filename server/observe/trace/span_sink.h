// Who takes the spans of a traced call or item once it has its answer.
//
// Step of a request: 4, report.
#ifndef WARPFOLD_SERVER_OBSERVE_TRACE_SPAN_SINK_H_
#define WARPFOLD_SERVER_OBSERVE_TRACE_SPAN_SINK_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "server/observe/metrics/method.h"
#include "server/observe/metrics/metrics.h"
#include "server/observe/trace/server_span.h"

namespace warpfold {

// What was asked, of a request whose tensor was understood.
struct TensorFacts {
  std::string ops;  // "sum,max"
  std::string dtype;
  std::int64_t bytes = 0;
};

// One span, and the stages within it.
struct SpanFacts {
  ServerSpan span;
  Method method = Method::kReduce;
  bool is_item = false;  // of a stream, whose span is its parent
  absl::StatusCode code = absl::StatusCode::kOk;
  std::chrono::system_clock::time_point end;
  std::chrono::nanoseconds total{0};
  std::string request_id;
  std::string caller;
  std::optional<TensorFacts> tensor;
  std::string device;  // empty: none was asked
  // Of a tensor that was reduced.
  std::optional<std::array<std::chrono::nanoseconds, kStageCount>> stages;
};

// Spans that were lost.
struct DroppedSpans {
  std::uint64_t by_queue = 0;   // it was full
  std::uint64_t by_export = 0;  // the collector did not take them
};

class SpanSink {
 public:
  virtual ~SpanSink() = default;

  // Never waits for whoever reads spans; drops those that have no room. From any thread.
  virtual void Take(SpanFacts facts) = 0;

  virtual DroppedSpans dropped() const = 0;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_OBSERVE_TRACE_SPAN_SINK_H_
