// The server's part of a client's trace: of a call, or of an item of a stream.
//
// Step of a request: 1, where a call begins. Safe from any thread.
#ifndef WARPFOLD_SERVER_OBSERVE_TRACE_SERVER_SPAN_H_
#define WARPFOLD_SERVER_OBSERVE_TRACE_SERVER_SPAN_H_

#include <optional>
#include <string_view>

#include "server/observe/trace/trace_context.h"

namespace warpfold {

struct ServerSpan {
  TraceContext context;  // the client's trace, and this span
  SpanId parent{};
};

// A span with an id of its own, at random: not one that nobody could guess. Never waits.
ServerSpan SpanIn(const TraceContext& parent);
// The same of what a client sent; none: that is no traceparent.
std::optional<ServerSpan> SpanIn(std::string_view traceparent);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_OBSERVE_TRACE_SERVER_SPAN_H_
