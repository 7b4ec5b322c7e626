// Spans to a collector, by OTLP over HTTP: OpenTelemetry's protocol, by its C++ library, which not
// every build of the server has (WARPFOLD_OPENTELEMETRY).
//
// Step of a request: 4, report.
#ifndef WARPFOLD_SERVER_OBSERVE_TRACE_OTLP_H_
#define WARPFOLD_SERVER_OBSERVE_TRACE_OTLP_H_

#include <functional>
#include <memory>
#include <string>

#include "server/observe/trace/span_sink.h"

namespace warpfold {

// Whether this build can.
bool HasOtlp();

struct OtlpOptions {
  std::string endpoint;  // "http://collector:4318", to which the protocol's path is added
  std::string version;   // of the server
  std::function<void(bool reached)> on_reached;  // span_queue.h
};

// Sends spans to the endpoint from now on, wherever it is: it is not asked whether it is there. A
// collector gets two seconds to answer. REQUIRES: HasOtlp().
std::unique_ptr<SpanSink> MakeOtlpSink(const OtlpOptions& options);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_OBSERVE_TRACE_OTLP_H_
