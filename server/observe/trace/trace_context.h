// A traceparent: in which trace a call is, and in which of its spans, as W3C's recommendation Trace
// Context (https://www.w3.org/TR/trace-context-1/) writes it.
//
// Step of a request: 1, where a call begins. Pure functions. What is no traceparent is no error:
// its call is served as one that is not traced.
#ifndef WARPFOLD_SERVER_OBSERVE_TRACE_TRACE_CONTEXT_H_
#define WARPFOLD_SERVER_OBSERVE_TRACE_TRACE_CONTEXT_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/types/span.h"

namespace warpfold {

// Neither has only zeros.
using TraceId = std::array<std::uint8_t, 16>;
using SpanId = std::array<std::uint8_t, 8>;

struct TraceContext {
  TraceId trace_id{};
  SpanId span_id{};
  bool is_sampled = false;  // the one flag that version 00 has

  bool operator==(const TraceContext&) const = default;
};

// Of version 00 the text has to be what the recommendation says, to the letter: lower-case digits,
// no space. Of a later one, 01 to fe, it may go on after the flags, with a dash first.
std::optional<TraceContext> ParseTraceparent(std::string_view text);

// In version 00.
std::string ToTraceparent(const TraceContext& context);

// Lower-case, two digits a byte.
std::string ToHex(absl::Span<const std::uint8_t> bytes);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_OBSERVE_TRACE_TRACE_CONTEXT_H_
