// Who may read the metrics page, and what the log says of others.
#include "server/page_access.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "spdlog/sinks/ostream_sink.h"

namespace warpfold {
namespace {

constexpr char kMonitor[] = "token-of-the-monitor";
constexpr char kTrainer[] = "token-of-the-trainer";

CallerTable Callers() {
  return *CallerTable::Parse(
      absl::StrCat("caller=monitor certificate=monitor scopes=metrics token-sha256=",
                   ToHex(HashOf(kMonitor)),
                   "\ncaller=trainer scopes=reduce token-sha256=", ToHex(HashOf(kTrainer))),
      {});
}

// What the log has of `count` clients that show this.
std::string LoggedOf(const ShownIdentity& shown, PageAccess access, int count = 1) {
  std::ostringstream out;
  {
    Log log({}, std::make_shared<spdlog::sinks::ostream_sink_mt>(out));
    PageGuard guard(log);
    const CallerTable callers = Callers();
    for (int i = 0; i < count; ++i) EXPECT_EQ(guard.AccessOf(callers, shown), access);
  }
  return out.str();
}

ShownIdentity Shown(const std::string& authorization) {
  return {.peer = "127.0.0.1:7", .certificate_names = {}, .authorization = authorization};
}

TEST(PageGuardTest, WhoMayReadHasNoLine) {
  EXPECT_EQ(LoggedOf(Shown(absl::StrCat("Bearer ", kMonitor)), PageAccess::kGranted), "");
  EXPECT_EQ(LoggedOf({.peer = "a", .certificate_names = {"b", "monitor"}, .authorization = {}},
                     PageAccess::kGranted),
            "");
}

TEST(PageGuardTest, OthersHaveOneWithTheReasonAndWithoutTheToken) {
  const auto expect = [](const ShownIdentity& shown, PageAccess access, const std::string& rest) {
    const std::string line = LoggedOf(shown, access);
    EXPECT_NE(line.find(absl::StrCat("metrics page refused peer=\"127.0.0.1:7\" ", rest)),
              std::string::npos)
        << line;
    EXPECT_EQ(line.find("token-of"), std::string::npos) << line;
  };
  expect(Shown(absl::StrCat("Bearer ", kTrainer)), PageAccess::kForbidden,
         "caller=\"trainer\" status=\"the scope metrics is missing\"");
  expect(Shown("Bearer token-of-a-stranger"), PageAccess::kUnauthenticated,
         "caller=\"\" status=\"the token is nobody's\"");
  expect(Shown(absl::StrCat("Basic ", kMonitor)), PageAccess::kUnauthenticated,
         "caller=\"\" status=\"the authorization is no bearer token\"");
  ShownIdentity none{.peer = "127.0.0.1:7", .certificate_names = {}, .authorization = {}};
  expect(none, PageAccess::kUnauthenticated,
         "caller=\"\" status=\"neither a token nor a certificate\"");
  none.certificate_names = {"stranger"};
  expect(none, PageAccess::kUnauthenticated,
         "caller=\"\" status=\"no token, and the certificate is nobody's\"");
}

TEST(PageGuardTest, AFloodHasFewLines) {
  const std::string lines = LoggedOf(Shown(""), PageAccess::kUnauthenticated, 10'000);
  const auto count = std::count(lines.begin(), lines.end(), '\n');
  EXPECT_GE(count, PageGuard::kLinesPerS);
  EXPECT_LT(count, 10'000);
}

}  // namespace
}  // namespace warpfold
