#include "client/cpp/cli/prometheus_text.h"

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/cli/text_cursor.h"

namespace warpfold::client {
namespace {

// Reads one line; every method leaves `text_` behind what it took.
class LineParser : private TextCursor {
 public:
  explicit LineParser(std::string_view text) : TextCursor(text, " \t") {}

  std::optional<Sample> Parse() {
    Sample sample;
    sample.name = Name();
    if (sample.name.empty()) return std::nullopt;
    if (Take('{')) {
      while (!Take('}')) {
        std::string key = Name();
        if (key.empty() || !Take('=') || !Take('"')) return std::nullopt;
        std::optional<std::string> value = LabelValue();
        if (!value.has_value()) return std::nullopt;
        sample.labels.emplace(std::move(key), *std::move(value));
        if (!Take(',') && !Next('}')) return std::nullopt;
      }
    }
    SkipSpace();
    const std::string number(
        text_.substr(0, text_.find_first_of(" \t")));  // a timestamp may follow
    if (!absl::SimpleAtod(number, &sample.value)) return std::nullopt;
    return sample;
  }

 private:
  std::string Name() {
    SkipSpace();
    std::size_t end = 0;
    while (end < text_.size() && (absl::ascii_isalnum(static_cast<unsigned char>(text_[end])) ||
                                  text_[end] == '_' || text_[end] == ':')) {
      ++end;
    }
    std::string name(text_.substr(0, end));
    text_.remove_prefix(end);
    return name;
  }

  // What stands before the closing quote, which is taken too.
  std::optional<std::string> LabelValue() {
    std::string value;
    while (!text_.empty()) {
      char c = text_[0];
      text_.remove_prefix(1);
      if (c == '"') return value;
      if (c == '\\') {
        if (text_.empty()) return std::nullopt;
        c = text_[0] == 'n' ? '\n' : text_[0];
        text_.remove_prefix(1);
      }
      value.push_back(c);
    }
    return std::nullopt;
  }
};

}  // namespace

std::string Sample::label(const std::string& key) const {
  const auto found = labels.find(key);
  return found == labels.end() ? "" : found->second;
}

absl::StatusOr<std::vector<Sample>> ParsePrometheusText(std::string_view page) {
  std::vector<Sample> samples;
  for (int number = 1; !page.empty(); ++number) {
    const std::size_t end = std::min(page.find('\n'), page.size());
    std::string_view line = page.substr(0, end);
    page.remove_prefix(std::min(end + 1, page.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t start = line.find_first_not_of(" \t");
    if (start == std::string_view::npos || line[start] == '#') continue;
    std::optional<Sample> sample = LineParser(line).Parse();
    if (!sample.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat("line ", number, " is no Prometheus text: '",
                                                     std::string(line.substr(0, 40)), "'"));
    }
    samples.push_back(*std::move(sample));
  }
  return samples;
}

}  // namespace warpfold::client
