#include "client/cpp/cli/format.h"

namespace warpfold::client {
namespace {

constexpr std::size_t kSafetensorsBraceAt = 8;  // after the header's length

}  // namespace

std::optional<Format> FormatOfName(std::string_view path) {
  if (path.ends_with(".npy")) return Format::kNpy;
  if (path.ends_with(".npz")) return Format::kNpz;
  if (path.ends_with(".safetensors")) return Format::kSafetensors;
  return std::nullopt;
}

std::optional<Format> FormatOfBytes(std::span<const std::byte> start) {
  const std::string_view bytes(reinterpret_cast<const char*>(start.data()), start.size());
  if (bytes.starts_with("\x93NUMPY")) return Format::kNpy;
  if (bytes.starts_with("PK\x03\x04") || bytes.starts_with("PK\x05\x06")) return Format::kNpz;
  if (bytes.size() > kSafetensorsBraceAt && bytes[kSafetensorsBraceAt] == '{') {
    return Format::kSafetensors;
  }
  return std::nullopt;
}

}  // namespace warpfold::client
