#include "client/cpp/cli/checks.h"

#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace warpfold::client {
namespace {

// CLI11's own say where the range of a double ends, and take NaN.
CLI::Validator IsNumber(const std::function<bool(double)>& is_in, const std::string& problem,
                        const std::string& description) {
  return {[=](const std::string& text) -> std::string {
            double number = 0;
            if (!CLI::detail::lexical_cast(text, number) || !std::isfinite(number)) {
              return absl::StrCat("'", text, "' is no number");
            }
            return is_in(number) ? "" : absl::StrCat(text, " is ", problem);
          },
          description};
}

// Takes "1.0" for 1, which CLI11 does not.
CLI::Validator ToWhole(std::int64_t least, std::int64_t most, const std::string& description) {
  return {[=](std::string& text) -> std::string {
            constexpr double kExactMax = 9007199254740992;  // 2^53
            if (text.empty()) return "is empty";
            std::int64_t whole = 0;
            double number = 0;
            if (!absl::SimpleAtoi(text, &whole)) {
              if (!CLI::detail::lexical_cast(text, number) || !std::isfinite(number)) {
                return absl::StrCat("'", text, "' is no number");
              }
              if (number != std::trunc(number)) {
                return absl::StrCat("'", text, "' is not a whole number");
              }
              if (std::fabs(number) > kExactMax) return absl::StrCat(text, " is out of range");
              whole = static_cast<std::int64_t>(number);
            }
            if (least == 0 && whole < 0) return absl::StrCat(text, " is negative");
            if (whole < least || whole > most) {
              return absl::StrCat(text, " is not ", least, " to ", most);
            }
            text = absl::StrCat(whole);
            return "";
          },
          description};
}

}  // namespace

CLI::Validator IsNonNegative() {
  return IsNumber([](double number) { return number >= 0; }, "negative", "NONNEGATIVE");
}

CLI::Validator IsFinite() {
  return IsNumber([](double /*number*/) { return true; }, "", "NUMBER");
}

CLI::Validator IsBetween(double least, double most) {
  return IsNumber([=](double number) { return number >= least && number <= most; },
                  absl::StrCat("not ", least, " to ", most),
                  absl::StrCat("FLOAT in [", least, " - ", most, "]"));
}

CLI::Validator IsWhole() {
  return ToWhole(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(),
                 "");
}

CLI::Validator IsWholeNonNegative() {
  return ToWhole(0, std::numeric_limits<std::int64_t>::max(), "NONNEGATIVE");
}

CLI::Validator IsWholeBetween(std::int64_t least, std::int64_t most) {
  return ToWhole(least, most, absl::StrCat("INT in [", least, " - ", most, "]"));
}

CLI::Validator IsPositive() {
  return IsNumber([](double number) { return number > 0; }, "not positive", "POSITIVE");
}

}  // namespace warpfold::client
