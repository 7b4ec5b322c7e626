#include "server/observe/trace/trace_context.h"

#include <string>

#include "gtest/gtest.h"
#include "server/observe/trace/server_span.h"

namespace warpfold {
namespace {

// The recommendation's own example.
constexpr char kTraceId[] = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr char kSpanId[] = "00f067aa0ba902b7";
const std::string kExample = std::string("00-") + kTraceId + "-" + kSpanId + "-01";

std::string With(std::size_t at, const std::string& text) {
  std::string changed = kExample;
  return changed.replace(at, text.size(), text);
}

TEST(TraceContextTest, WhatAClientSaysIsReadAndWrittenAsItIs) {
  const std::optional<TraceContext> context = ParseTraceparent(kExample);
  ASSERT_TRUE(context.has_value());
  EXPECT_EQ(ToHex(context->trace_id), kTraceId);
  EXPECT_EQ(ToHex(context->span_id), kSpanId);
  EXPECT_EQ(context->span_id.front(), 0x00);
  EXPECT_EQ(context->span_id.back(), 0xb7);
  EXPECT_TRUE(context->is_sampled);
  EXPECT_EQ(ToTraceparent(*context), kExample);
}

TEST(TraceContextTest, OfTheFlagsVersion00HasOne) {
  for (const char* flags : {"00", "02", "fe", "80"}) {
    const std::optional<TraceContext> context = ParseTraceparent(With(53, flags));
    ASSERT_TRUE(context.has_value()) << flags;
    EXPECT_FALSE(context->is_sampled) << flags;
    EXPECT_EQ(ToTraceparent(*context), With(53, "00")) << "unknown flags are not passed on";
  }
  for (const char* flags : {"01", "03", "ff"}) {
    const std::optional<TraceContext> context = ParseTraceparent(With(53, flags));
    ASSERT_TRUE(context.has_value()) << flags;
    EXPECT_EQ(ToTraceparent(*context), kExample) << flags;
  }
}

TEST(TraceContextTest, ALaterVersionMayGoOnAfterADashAndIsWrittenInVersion00) {
  for (const char* version : {"01", "0a", "cc", "fe"}) {
    for (const char* more : {"", "-", "-what the future will be like", "-01-02"}) {
      const std::string text = With(0, version) + more;
      const std::optional<TraceContext> context = ParseTraceparent(text);
      ASSERT_TRUE(context.has_value()) << text;
      EXPECT_EQ(ToTraceparent(*context), kExample) << text;
    }
    for (const char* more : {"0", ".", " ", "x-"}) {
      EXPECT_FALSE(ParseTraceparent(With(0, version) + more).has_value()) << version << more;
    }
  }
}

TEST(TraceContextTest, FFIsNoVersion) {
  EXPECT_FALSE(ParseTraceparent(With(0, "ff")).has_value());
  EXPECT_FALSE(ParseTraceparent(With(0, "ff") + "-more").has_value());
}

TEST(TraceContextTest, Version00HasNothingBehindItsFlags) {
  for (const char* more : {"-", "-00", "0", " ", "\t", ","}) {
    EXPECT_FALSE(ParseTraceparent(kExample + more).has_value()) << "'" << more << "'";
  }
  EXPECT_FALSE(ParseTraceparent(kExample + std::string(1, '\0')).has_value());
  EXPECT_FALSE(ParseTraceparent(" " + kExample).has_value());
  EXPECT_FALSE(ParseTraceparent(kExample + "," + kExample).has_value());
}

TEST(TraceContextTest, NoTextThatIsTooShortIsOne) {
  for (std::size_t size = 0; size < kExample.size(); ++size) {
    EXPECT_FALSE(ParseTraceparent(kExample.substr(0, size)).has_value()) << size;
    EXPECT_FALSE(ParseTraceparent(With(0, "01").substr(0, size)).has_value()) << size;
  }
}

TEST(TraceContextTest, IdsOfZerosAloneAreNone) {
  EXPECT_FALSE(ParseTraceparent(With(3, std::string(32, '0'))).has_value());
  EXPECT_FALSE(ParseTraceparent(With(36, std::string(16, '0'))).has_value());
  EXPECT_FALSE(ParseTraceparent("cc-" + std::string(32, '0') + kExample.substr(35)).has_value());
}

// At each place every byte but those that may stand there.
TEST(TraceContextTest, EveryPlaceHasALowerCaseDigitOrADash) {
  const std::string digits = "0123456789abcdef";
  for (std::size_t at = 0; at < kExample.size(); ++at) {
    const bool is_dash = kExample[at] == '-';
    for (int byte = 0; byte < 256; ++byte) {
      const char put = static_cast<char>(byte);
      const bool fits = is_dash ? put == '-' : digits.find(put) != std::string::npos;
      if (fits) continue;
      EXPECT_FALSE(ParseTraceparent(With(at, std::string(1, put))).has_value())
          << "byte " << byte << " at " << at;
    }
  }
}

TEST(ServerSpanTest, ASpanHasAnIdOfItsOwnInTheTraceOfItsParent) {
  const TraceContext parent = *ParseTraceparent(kExample);
  const ServerSpan one = SpanIn(parent);
  const ServerSpan other = *SpanIn(std::string_view(kExample));
  for (const ServerSpan& span : {one, other}) {
    EXPECT_EQ(span.context.trace_id, parent.trace_id);
    EXPECT_EQ(span.context.is_sampled, parent.is_sampled);
    EXPECT_EQ(span.parent, parent.span_id);
    EXPECT_NE(span.context.span_id, parent.span_id);
    EXPECT_NE(span.context.span_id, SpanId{});
  }
  EXPECT_NE(one.context.span_id, other.context.span_id);
  EXPECT_FALSE(SpanIn(std::string_view("00-")).has_value());
}

}  // namespace
}  // namespace warpfold
