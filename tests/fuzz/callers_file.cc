// The file of callers, and a token that somebody shows: a refusal has nothing of the file in it.
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "server/core/admission/caller_table.h"
#include "tests/fuzz/fuzz.h"

namespace warpfold {
namespace {

constexpr char kListener[] = "unix:/a";

// Long enough to be a token or its hash.
bool MayBeSecret(absl::string_view word) { return word.size() >= 20; }

// The message without the keys that it names, of which a word of the file may be a part.
std::string WithoutKeys(absl::string_view why) {
  return absl::StrReplaceAll(why, {{"max-requests-in-flight", ""}, {"max-resident-tensors", ""}});
}

void Try(absl::string_view text) {
  const absl::StatusOr<CallerTable> table = CallerTable::Parse(text, {kListener});
  if (table.ok()) {
    fuzz::Require(!table->asks_nobody(), "a file does not open the server");
    table->OfToken(text);
    table->OfListener(kListener);
    return;
  }
  const absl::string_view why = table.status().message();
  fuzz::Require(absl::StartsWith(why, "line ") || absl::StartsWith(why, "no line "),
                "a refusal names the line");
  const std::string said = WithoutKeys(why);
  for (const absl::string_view word : absl::StrSplit(text, absl::ByAnyChar(" \t\r\n=,"))) {
    fuzz::Require(!MayBeSecret(word) || !absl::StrContains(said, word),
                  "a refusal tells no secret");
  }
}

}  // namespace
}  // namespace warpfold

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  warpfold::Try(text);
  const auto token = warpfold::BearerToken(text);
  if (!warpfold::CheckToken(token.value_or(text)).ok()) return 0;
  warpfold::fuzz::Require(warpfold::HashOf(text) == warpfold::HashOf(std::string(text)),
                          "a token has one hash");
  return 0;
}
