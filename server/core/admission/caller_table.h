// The callers that a server knows, what tells them apart, and their quotas: tokens, of which it has
// the SHA-256 alone, names of certificates, and listeners. docs/callers.md has the file that says
// so.
//
// Step of a request: 1. Unchanged once made, so safe from any thread.
#ifndef WARPFOLD_SERVER_CORE_ADMISSION_CALLER_TABLE_H_
#define WARPFOLD_SERVER_CORE_ADMISSION_CALLER_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/core/base/caller.h"
#include "server/core/base/whole_number.h"

namespace warpfold {

using TokenHash = std::array<std::uint8_t, 32>;

// SHA-256. A token is long and random, so that nothing slower is needed.
TokenHash HashOf(absl::string_view token);
// 64 hexadecimal digits, as the file of callers has it.
std::string ToHex(const TokenHash& hash);

// That of an `authorization` header's value; none: it is no bearer token.
std::optional<absl::string_view> BearerToken(absl::string_view authorization);

// INVALID_ARGUMENT, without the token: not 16 to 4096 printable characters of ASCII without a
// blank.
absl::Status CheckToken(absl::string_view token);

// Names of callers, each list in order.
struct CallerChanges {
  std::vector<std::string> added;
  std::vector<std::string> removed;
  std::vector<std::string> changed;  // what they may do or hold, or what tells them apart

  bool empty() const { return added.empty() && removed.empty() && changed.empty(); }
};

// A size as the file has it ("8GiB"), in bytes. None: it is no size.
using SizeReader = std::function<std::optional<std::int64_t>(const std::string&)>;

class CallerTable {
 public:
  // Of a server that asks nobody: all callers are Everyone().
  CallerTable() = default;
  CallerTable(CallerTable&&) = default;
  CallerTable& operator=(CallerTable&&) = default;

  // Of a file's text, for a server with these listeners. INVALID_ARGUMENT "line 3: ...", which
  // never has a value of the file: it might be a secret in the wrong place.
  static absl::StatusOr<CallerTable> Parse(absl::string_view text,
                                           const std::vector<std::string>& listeners,
                                           const SizeReader& read_size = ReadWholeNumber);

  // Callers who are in `before`, too, hold here what they hold there; the quotas are those of here
  // for the calls of both.
  void KeepUse(const CallerTable& before);

  CallerChanges Since(const CallerTable& before) const;

  bool asks_nobody() const { return callers_.empty(); }
  std::size_t count() const { return callers_.size(); }
  bool has_tokens() const { return !by_token_.empty(); }
  bool has_certificates() const { return !by_certificate_.empty(); }

  // Null: nobody's. Valid as long as the table.
  const Caller* OfToken(absl::string_view token) const;
  const Caller* OfCertificate(const std::string& name) const;
  const Caller* OfListener(const std::string& name) const;
  // Who shows nothing. Null: has to.
  const Caller* anonymous() const { return anonymous_; }

 private:
  struct Line;
  absl::Status Add(const Line& line, const std::vector<std::string>& listeners);

  std::deque<Caller> callers_;  // whose addresses stay
  absl::flat_hash_map<TokenHash, const Caller*> by_token_;
  absl::flat_hash_map<std::string, const Caller*> by_certificate_;
  absl::flat_hash_map<std::string, const Caller*> by_listener_;
  const Caller* anonymous_ = nullptr;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_ADMISSION_CALLER_TABLE_H_
