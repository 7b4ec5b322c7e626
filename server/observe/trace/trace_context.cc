#include "server/observe/trace/trace_context.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace warpfold {
namespace {

constexpr std::uint8_t kSampled = 0x01;
// version "-" trace id "-" span id "-" flags
constexpr std::size_t kTraceIdAt = 3;
constexpr std::size_t kSpanIdAt = 36;
constexpr std::size_t kFlagsAt = 53;
constexpr std::size_t kSize = 55;

// None: no lower-case hexadecimal digit.
std::optional<std::uint8_t> ValueOf(char digit) {
  if (digit >= '0' && digit <= '9') return static_cast<std::uint8_t>(digit - '0');
  if (digit >= 'a' && digit <= 'f') return static_cast<std::uint8_t>(digit - 'a' + 10);
  return std::nullopt;
}

template <std::size_t kBytes>
std::optional<std::array<std::uint8_t, kBytes>> BytesAt(std::string_view text, std::size_t at) {
  std::array<std::uint8_t, kBytes> bytes{};
  for (std::size_t i = 0; i < kBytes; ++i) {
    const std::optional<std::uint8_t> high = ValueOf(text[at + 2 * i]);
    const std::optional<std::uint8_t> low = ValueOf(text[at + 2 * i + 1]);
    if (!high.has_value() || !low.has_value()) return std::nullopt;
    bytes[i] = static_cast<std::uint8_t>(*high << 4 | *low);
  }
  return bytes;
}

template <typename Id>
bool IsZero(const Id& id) {
  return std::ranges::all_of(id, [](std::uint8_t byte) { return byte == 0; });
}

bool HasDashes(std::string_view text) {
  return text[kTraceIdAt - 1] == '-' && text[kSpanIdAt - 1] == '-' && text[kFlagsAt - 1] == '-';
}

// Whether what is behind the flags may be there. ff is no version.
bool EndsAsIn(std::uint8_t version, std::string_view text) {
  if (version == 0) return text.size() == kSize;
  return version != 0xff && (text.size() == kSize || text[kSize] == '-');
}

}  // namespace

std::optional<TraceContext> ParseTraceparent(std::string_view text) {
  if (text.size() < kSize || !HasDashes(text)) return std::nullopt;
  const auto version = BytesAt<1>(text, 0);
  const auto trace_id = BytesAt<sizeof(TraceId)>(text, kTraceIdAt);
  const auto span_id = BytesAt<sizeof(SpanId)>(text, kSpanIdAt);
  const auto flags = BytesAt<1>(text, kFlagsAt);
  if (!version.has_value() || !trace_id.has_value() || !span_id.has_value() || !flags.has_value()) {
    return std::nullopt;
  }
  if (!EndsAsIn(version->front(), text) || IsZero(*trace_id) || IsZero(*span_id)) {
    return std::nullopt;
  }
  return TraceContext{*trace_id, *span_id, (flags->front() & kSampled) != 0};
}

std::string ToTraceparent(const TraceContext& context) {
  return absl::StrCat("00-", ToHex(context.trace_id), "-", ToHex(context.span_id),
                      context.is_sampled ? "-01" : "-00");
}

std::string ToHex(absl::Span<const std::uint8_t> bytes) {
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

}  // namespace warpfold
