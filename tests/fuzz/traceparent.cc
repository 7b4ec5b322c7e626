// The metadata traceparent: what is taken means in version 00 what it meant.
#include <string_view>

#include "server/observe/trace/server_span.h"
#include "server/observe/trace/trace_context.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace warpfold;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::optional<TraceContext> context = ParseTraceparent(text);
  if (!context.has_value()) return 0;
  const std::string again = ToTraceparent(*context);
  fuzz::Require(ParseTraceparent(again) == context, "what is written is read as the same");
  // All but the version, in front, and the flags, behind.
  fuzz::Require(text.substr(2, 51) == std::string_view(again).substr(2, 51), "ids stay");
  fuzz::Require(text.substr(0, 2) != "00" || text.size() == again.size(), "00 has no more");
  const ServerSpan span = SpanIn(*context);
  fuzz::Require(ParseTraceparent(ToTraceparent(span.context)) == span.context &&
                    span.context.trace_id == context->trace_id && span.parent == context->span_id,
                "a span stays in its trace");
  return 0;
}
