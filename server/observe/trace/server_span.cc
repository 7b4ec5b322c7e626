#include "server/observe/trace/server_span.h"

#include <bit>
#include <cstdint>

#include "absl/random/random.h"

namespace warpfold {
namespace {

static_assert(sizeof(SpanId) == sizeof(std::uint64_t));

SpanId NewSpanId() {
  absl::InsecureBitGen random;  // from a pool in this process, which has asked the system once
  return std::bit_cast<SpanId>(
      absl::Uniform<std::uint64_t>(absl::IntervalClosed, random, 1, ~std::uint64_t{0}));
}

}  // namespace

ServerSpan SpanIn(const TraceContext& parent) {
  ServerSpan span{.context = parent, .parent = parent.span_id};
  span.context.span_id = NewSpanId();
  return span;
}

std::optional<ServerSpan> SpanIn(std::string_view traceparent) {
  const std::optional<TraceContext> parent = ParseTraceparent(traceparent);
  if (!parent.has_value()) return std::nullopt;
  return SpanIn(*parent);
}

}  // namespace warpfold
