#include "server/core/admission/caller_table.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "server/core/base/caller_share.h"

namespace warpfold {
namespace {

constexpr std::size_t kTokenBytesMin = 16;
constexpr std::size_t kTokenBytesMax = 4096;

absl::Status Bad(absl::string_view why) { return absl::InvalidArgumentError(why); }

absl::Status CheckName(absl::string_view name) {
  if (name == kAnyCaller) return Bad("caller: 'any' is no name: it means all of them");
  const absl::Status status = CheckCallerName(name);
  return status.ok() ? status : Bad(absl::StrCat("caller: ", status.message()));
}

absl::StatusOr<TokenHash> ReadHash(absl::string_view hex) {
  TokenHash hash{};
  const bool is_hex =
      hex.size() == 2 * hash.size() && std::all_of(hex.begin(), hex.end(), absl::ascii_isxdigit);
  if (!is_hex) {
    return Bad(
        "token-sha256: is no SHA-256, 64 hexadecimal digits, as warpfold-server --hash-token "
        "prints it");
  }
  const std::string bytes = absl::HexStringToBytes(hex);
  std::copy(bytes.begin(), bytes.end(), hash.begin());
  return hash;
}

absl::StatusOr<ScopeSet> ReadScopes(absl::string_view text) {
  if (text.empty()) return Bad("scopes: is missing");
  ScopeSet scopes;
  for (const absl::string_view name : absl::StrSplit(text, ',')) {
    const auto row = std::find_if(std::begin(kScopes), std::end(kScopes),
                                  [&](const ScopeRow& known) { return name == known.name; });
    if (row == std::end(kScopes)) {
      const auto add_name = [](std::string* out, const ScopeRow& known) { *out += known.name; };
      return Bad(absl::StrCat("scopes: one of them is unknown: there are ",
                              absl::StrJoin(kScopes, ", ", add_name)));
    }
    if (scopes.Has(row->scope)) return Bad(absl::StrCat("scopes: ", row->name, " is there twice"));
    scopes.Add(row->scope);
  }
  if (scopes.Has(Scope::kAdmin) && !scopes.Has(Scope::kResident) && !scopes.Has(Scope::kMemory)) {
    return Bad("scopes: admin goes with resident or memory, which hold its methods");
  }
  return scopes;
}

struct QuotaRow {
  const char* key;
  std::optional<std::int64_t> CallerQuotas::*field;
  bool in_bytes;
};
constexpr QuotaRow kQuotas[] = {
    {kSharedRequests.quota, &CallerQuotas::requests, false},
    {kSharedBytes.quota, &CallerQuotas::bytes, true},
    {kSharedTensors.quota, &CallerQuotas::resident_tensors, false},
    {kSharedTensorBytes.quota, &CallerQuotas::resident_bytes, true},
    {kSharedRegions.quota, &CallerQuotas::regions, false},
};

absl::Status ReadQuota(const QuotaRow& row, const std::string& text, const SizeReader& read_size,
                       CallerQuotas& quotas) {
  std::optional<std::int64_t>& quota = quotas.*row.field;
  if (quota.has_value()) return Bad(absl::StrCat(row.key, ": is there twice"));
  quota = row.in_bytes ? read_size(text) : ReadWholeNumber(text);
  if (quota.has_value() && *quota >= 1) return absl::OkStatus();
  return Bad(absl::StrCat(row.key, row.in_bytes
                                       ? ": is no size of 1 byte or more: a whole number of "
                                         "bytes, or of KiB, MiB, GiB, TiB"
                                       : ": is no whole number of 1 or more"));
}

// Adds whoever has a key in `some` that is not theirs in `others`.
template <typename Map>
void AddMoved(const Map& some, const Map& others, std::set<std::string>& names) {
  for (const auto& [key, caller] : some) {
    const auto found = others.find(key);
    if (found == others.end() || found->second->name != caller->name) names.insert(caller->name);
  }
}

}  // namespace

// What a line says; empty for what it does not.
struct CallerTable::Line {
  std::string name;
  std::string scopes;
  std::vector<std::string> token_hashes;
  std::vector<std::string> certificates;
  std::vector<std::string> listeners;
  CallerQuotas quotas;

  absl::Status Take(absl::string_view word, const SizeReader& read_size) {
    const std::size_t equals = word.find('=');
    if (equals == absl::string_view::npos)
      return Bad("a word has no '=': a line is key=value ..., no blank in a value");
    const absl::string_view key = word.substr(0, equals);
    const std::string value(word.substr(equals + 1));
    const auto set = [&](std::string& out) -> absl::Status {
      if (!out.empty()) return Bad(absl::StrCat(key, ": is there twice"));
      if (value.empty()) return Bad(absl::StrCat(key, ": has no value"));
      out = value;
      return absl::OkStatus();
    };
    if (key == "caller") return set(name);
    if (key == "scopes") return set(scopes);
    if (key == "token-sha256") {
      if (!token_hashes.empty()) return Bad("token-sha256: is there twice: it is A,B of two");
      token_hashes = absl::StrSplit(value, ',');
    } else if (key == "certificate" || key == "listener") {
      (key == "listener" ? listeners : certificates).push_back(value);
      if (value.empty()) return Bad(absl::StrCat(key, ": has no value"));
    } else {
      return TakeQuota(key, value, read_size);
    }
    return absl::OkStatus();
  }

  absl::Status TakeQuota(absl::string_view key, const std::string& value,
                         const SizeReader& read_size) {
    std::string known = "caller, token-sha256, certificate, listener, scopes";
    for (const QuotaRow& row : kQuotas) {
      if (key == row.key) return ReadQuota(row, value, read_size, quotas);
      absl::StrAppend(&known, ", ", row.key);
    }
    return Bad(absl::StrCat("a key is unknown: there are ", known));
  }
};

absl::Status CallerTable::Add(const Line& line, const std::vector<std::string>& listeners) {
  if (absl::Status status = CheckName(line.name); !status.ok()) return status;
  const auto has_name = [&](const Caller& other) { return other.name == line.name; };
  if (std::any_of(callers_.begin(), callers_.end(), has_name)) {
    return Bad(
        "caller: a line above has this one: tokens of one caller stand on one line, "
        "token-sha256=A,B");
  }
  absl::StatusOr<ScopeSet> scopes = ReadScopes(line.scopes);
  if (!scopes.ok()) return scopes.status();
  const bool shows_nothing =
      line.token_hashes.empty() && line.certificates.empty() && line.listeners.empty();
  if ((line.name == kAnonymousCaller) != shows_nothing) {
    return Bad(shows_nothing
                   ? "caller: has neither token-sha256, certificate nor listener; who shows "
                     "nothing is anonymous"
                   : "caller: anonymous shows nothing");
  }
  const Caller& caller =
      callers_.emplace_back(Caller{.name = line.name,
                                   .scopes = *scopes,
                                   .use = std::make_shared<CallerUse>(line.quotas),
                                   .quotas = line.quotas});
  if (shows_nothing) anonymous_ = &caller;
  for (const std::string& hex : line.token_hashes) {
    absl::StatusOr<TokenHash> hash = ReadHash(hex);
    if (!hash.ok()) return hash.status();
    if (!by_token_.emplace(*hash, &caller).second) {
      return Bad("token-sha256: a token has one caller, and this one is there twice");
    }
  }
  for (const std::string& name : line.certificates) {
    if (!by_certificate_.emplace(name, &caller).second) {
      return Bad("certificate: a name has one caller, and this one is there twice");
    }
  }
  for (const std::string& name : line.listeners) {
    if (std::find(listeners.begin(), listeners.end(), name) == listeners.end()) {
      return Bad(absl::StrCat("listener: the server does not listen there: --listen-address has ",
                              absl::StrJoin(listeners, ", ")));
    }
    if (!by_listener_.emplace(name, &caller).second) {
      return Bad("listener: it has one caller, and this one is there twice");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<CallerTable> CallerTable::Parse(absl::string_view text,
                                               const std::vector<std::string>& listeners,
                                               const SizeReader& read_size) {
  for (const absl::string_view mark : {"\xEF\xBB\xBF", "\xFF\xFE", "\xFE\xFF"}) {
    if (absl::StartsWith(text, mark))
      return Bad("line 1: begins with a byte order mark: save the file as UTF-8 without one");
  }
  CallerTable table;
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    const absl::string_view words = absl::StripAsciiWhitespace(line);
    if (words.empty() || words.front() == '#') continue;
    Line read;
    absl::Status status;
    for (const absl::string_view word :
         absl::StrSplit(words, absl::ByAnyChar(" \t\r"), absl::SkipEmpty())) {
      status = read.Take(word, read_size);
      if (!status.ok()) break;
    }
    if (status.ok()) status = table.Add(read, listeners);
    if (!status.ok()) return Bad(absl::StrCat("line ", number, ": ", status.message()));
  }
  // It would open the server to everyone.
  if (table.callers_.empty()) return Bad("no line names a caller");
  return table;
}

void CallerTable::KeepUse(const CallerTable& before) {
  for (Caller& caller : callers_) {
    for (const Caller& known : before.callers_) {
      if (known.name == caller.name) caller.use = known.use;
    }
    caller.use->SetQuotas(caller.quotas);
  }
}

CallerChanges CallerTable::Since(const CallerTable& before) const {
  std::set<std::string> differing;
  for (const auto& [some, others] : {std::pair(this, &before), std::pair(&before, this)}) {
    AddMoved(some->by_token_, others->by_token_, differing);
    AddMoved(some->by_certificate_, others->by_certificate_, differing);
    AddMoved(some->by_listener_, others->by_listener_, differing);
  }
  std::map<std::string, const Caller*> gone;
  for (const Caller& caller : before.callers_) gone.emplace(caller.name, &caller);
  CallerChanges changes;
  for (const Caller& caller : callers_) {
    const auto known = gone.find(caller.name);
    if (known == gone.end()) {
      changes.added.push_back(caller.name);
      continue;
    }
    if (known->second->scopes != caller.scopes || known->second->quotas != caller.quotas ||
        differing.contains(caller.name)) {
      changes.changed.push_back(caller.name);
    }
    gone.erase(known);
  }
  for (const auto& [name, caller] : gone) changes.removed.push_back(name);
  std::sort(changes.added.begin(), changes.added.end());
  std::sort(changes.changed.begin(), changes.changed.end());
  return changes;
}

const Caller* CallerTable::OfToken(absl::string_view token) const {
  const TokenHash hash = HashOf(token);
  const auto found = by_token_.find(hash);
  // The table is searched by the hash, of which nobody can choose the first bytes; the rest of them
  // is compared in a time that does not tell where they differ.
  const TokenHash nobody{};
  const TokenHash& known = found != by_token_.end() ? found->first : nobody;
  const bool is_equal = CRYPTO_memcmp(known.data(), hash.data(), hash.size()) == 0;
  return is_equal && found != by_token_.end() ? found->second : nullptr;
}

const Caller* CallerTable::OfCertificate(const std::string& name) const {
  const auto found = by_certificate_.find(name);
  return found != by_certificate_.end() ? found->second : nullptr;
}

const Caller* CallerTable::OfListener(const std::string& name) const {
  const auto found = by_listener_.find(name);
  return found != by_listener_.end() ? found->second : nullptr;
}

// Every request with a token is hashed. OpenSSL's SHA256() looks the algorithm up at each call,
// under locks: 10 us of a 4 KiB request's 190 (2 processors).
TokenHash HashOf(absl::string_view token) {
  static const EVP_MD* const sha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  thread_local const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(),
                                                                                EVP_MD_CTX_free);
  TokenHash hash{};
  const bool is_hashed = EVP_DigestInit_ex2(context.get(), sha256, nullptr) == 1 &&
                         EVP_DigestUpdate(context.get(), token.data(), token.size()) == 1 &&
                         EVP_DigestFinal_ex(context.get(), hash.data(), nullptr) == 1;
  if (!is_hashed) std::abort();  // only without memory; and a hash of nothing would be everybody's
  return hash;
}

std::string ToHex(const TokenHash& hash) {
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(hash.data()), hash.size()));
}

std::optional<absl::string_view> BearerToken(absl::string_view authorization) {
  constexpr absl::string_view kScheme = "bearer ";
  if (!absl::StartsWithIgnoreCase(authorization, kScheme)) return std::nullopt;
  return authorization.substr(kScheme.size());
}

absl::Status CheckToken(absl::string_view token) {
  const bool is_printable = std::all_of(token.begin(), token.end(), absl::ascii_isgraph);
  if (is_printable && token.size() >= kTokenBytesMin && token.size() <= kTokenBytesMax) {
    return absl::OkStatus();
  }
  return Bad(
      absl::StrCat("a token has ", kTokenBytesMin, " to ", kTokenBytesMax,
                   " printable characters and no blank: `openssl rand -base64 32` makes one"));
}

}  // namespace warpfold
