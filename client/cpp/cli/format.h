// Which format a file has: its name's suffix says, or its first bytes.
//
// Thread safety: pure functions.
#ifndef WARPFOLD_CLIENT_CPP_CLI_FORMAT_H_
#define WARPFOLD_CLIENT_CPP_CLI_FORMAT_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace warpfold::client {

enum class Format { kNpy, kNpz, kSafetensors };

std::optional<Format> FormatOfName(std::string_view path);

// `start` is a file's first kFormatBytes, or all that it has.
inline constexpr std::size_t kFormatBytes = 9;
std::optional<Format> FormatOfBytes(std::span<const std::byte> start);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_FORMAT_H_
