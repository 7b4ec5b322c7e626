#include "server/system/listen_address.h"

#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace warpfold {
namespace {

constexpr absl::string_view kUnix = "unix:";
constexpr std::size_t kPathBytesMax = sizeof(sockaddr_un::sun_path) - 1;

absl::Status Bad(absl::string_view address, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("'", address, "' ", why));
}

absl::StatusOr<mode_t> ReadMode(absl::string_view address, absl::string_view digits) {
  const auto is_octal = [](char digit) { return digit >= '0' && digit <= '7'; };
  const bool has_digits = digits.size() == 3 || (digits.size() == 4 && digits.front() == '0');
  if (!has_digits || !std::all_of(digits.begin(), digits.end(), is_octal)) {
    return Bad(address, "has a mode that is not 000 to 777, as chmod takes it");
  }
  mode_t mode = 0;
  for (const char digit : digits) mode = mode * 8 + static_cast<mode_t>(digit - '0');
  // The server connects itself, to see that clients can.
  if ((mode & 0600) != 0600) return Bad(address, "has a mode by which its owner cannot use it");
  return mode;
}

absl::StatusOr<ListenAddress> ParseUnixSocket(absl::string_view address,
                                              const std::vector<absl::string_view>& words) {
  UnixSocket socket{.path = std::string(absl::StripPrefix(words.front(), kUnix))};
  if (!absl::StartsWith(socket.path, "/")) return Bad(address, "has no absolute path");
  if (socket.path.size() > kPathBytesMax) {
    return Bad(address, absl::StrCat("has a path of more than ", kPathBytesMax, " bytes"));
  }
  socket.path = std::filesystem::path(socket.path).lexically_normal();  // one socket has one name
  if (socket.path.back() == '/') return Bad(address, "has the path of a folder");
  const auto is_unprintable = [](unsigned char letter) {
    return absl::ascii_isspace(letter) || absl::ascii_iscntrl(letter);
  };
  if (std::any_of(socket.path.begin(), socket.path.end(), is_unprintable)) {
    return Bad(absl::CHexEscape(address), "has a path with what cannot be printed");
  }
  if (socket.path.find_first_of("%?#") != std::string::npos) {  // gRPC reads them its own way
    return Bad(address, "has a path with '%', '?' or '#'");
  }
  bool has_mode = false;
  for (auto word = std::next(words.begin()); word != words.end(); ++word) {
    const std::pair<absl::string_view, absl::string_view> option =
        absl::StrSplit(*word, absl::MaxSplits('=', 1));
    const bool is_again =
        (option.first == "mode" && has_mode) || (option.first == "group" && !socket.group.empty());
    if (is_again) return Bad(address, absl::StrCat("has ", option.first, " twice"));
    if (option.first == "mode") {
      has_mode = true;
      const absl::StatusOr<mode_t> mode = ReadMode(address, option.second);
      if (!mode.ok()) return mode.status();
      socket.mode = *mode;
    } else if (option.first == "group" && !option.second.empty()) {
      socket.group = std::string(option.second);
    } else {
      return Bad(address, absl::StrCat("has '", *word, "': there are mode=0660 and group=NAME"));
    }
  }
  return ListenAddress{std::move(socket)};
}

// One of them takes the other's port at every address.
bool ExcludeEachOther(const ListenAddress& a, const ListenAddress& b) {
  return a.tcp() != nullptr && b.tcp() != nullptr && a.tcp()->port != 0 &&
         a.tcp()->port == b.tcp()->port &&
         (a.tcp()->is_every_address() || b.tcp()->is_every_address());
}

absl::StatusOr<ListenAddress> ParseOne(absl::string_view address) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(address, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  if (!words.empty() && absl::StartsWith(words.front(), kUnix)) {
    return ParseUnixSocket(address, words);
  }
  absl::StatusOr<HostPort> tcp = ParseOwnAddress(std::string(address));
  if (!tcp.ok()) return tcp.status();
  return ListenAddress{*std::move(tcp)};
}

}  // namespace

std::string ToString(const ListenAddress& address) {
  if (const UnixSocket* socket = address.unix_socket(); socket != nullptr) {
    return absl::StrCat(kUnix, socket->path);
  }
  return ToString(*address.tcp());
}

std::vector<std::string> NamesOf(const std::vector<ListenAddress>& addresses) {
  std::vector<std::string> names;
  for (const ListenAddress& address : addresses) names.push_back(ToString(address));
  return names;
}

absl::StatusOr<std::vector<ListenAddress>> ParseListenAddresses(absl::string_view text) {
  std::vector<ListenAddress> addresses;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    absl::StatusOr<ListenAddress> address = ParseOne(absl::StripAsciiWhitespace(part));
    if (!address.ok()) return address.status();
    const std::string name = ToString(*address);
    const auto is_same = [&](const ListenAddress& other) { return ToString(other) == name; };
    const bool is_any_port = address->tcp() != nullptr && address->tcp()->port == 0;
    if (!is_any_port && std::any_of(addresses.begin(), addresses.end(), is_same)) {
      return Bad(name, "is there twice");
    }
    const auto other = std::find_if(
        addresses.begin(), addresses.end(),
        [&](const ListenAddress& before) { return ExcludeEachOther(before, *address); });
    if (other != addresses.end()) {
      return Bad(name, absl::StrCat("is at the port of '", ToString(*other),
                                    "', and one of them is every address"));
    }
    addresses.push_back(*std::move(address));
  }
  return addresses;
}

int FirstPort(const std::vector<ListenAddress>& addresses) {
  for (const ListenAddress& address : addresses) {
    if (address.tcp() != nullptr) return address.tcp()->port;
  }
  return 0;
}

}  // namespace warpfold
