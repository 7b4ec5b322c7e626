// --otlp-endpoint: where the spans of traced requests go.
#ifndef WARPFOLD_SERVER_SEND_SPANS_H_
#define WARPFOLD_SERVER_SEND_SPANS_H_

#include <memory>
#include <string>

#include "server/observe/log/log.h"
#include "server/observe/trace/span_sink.h"

namespace warpfold {

// Null for an empty endpoint: nobody takes spans. `log`, which outlives it, has a line when the
// collector does not take them, and when it does again. REQUIRES: Config::FindBad finds none.
std::unique_ptr<SpanSink> SendSpans(const std::string& endpoint, Log& log);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_SEND_SPANS_H_
