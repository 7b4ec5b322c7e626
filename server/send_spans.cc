#include "server/send_spans.h"

#include "server/observe/trace/otlp.h"
#include "server/version.h"

namespace warpfold {

std::unique_ptr<SpanSink> SendSpans(const std::string& endpoint, Log& log) {
  if (endpoint.empty()) return nullptr;
  const auto on_reached = [&log](bool reached) {
    log.Write(reached ? LogLevel::kInfo : LogLevel::kWarning,
              reached ? "spans reach the collector again"
                      : "spans do not reach the collector (--otlp-endpoint)");
  };
  return MakeOtlpSink({.endpoint = endpoint, .version = kVersion, .on_reached = on_reached});
}

}  // namespace warpfold
