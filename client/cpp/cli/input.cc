#include "client/cpp/cli/input.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/cli/npy.h"
#include "client/cpp/cli/npz.h"
#include "client/cpp/cli/safetensors.h"

namespace warpfold::client {
namespace {

constexpr std::size_t kNamesShownMax = 10;
constexpr std::size_t kSafetensorsBraceAt = 8;  // after the header's length

enum class Format { kNpy, kNpz, kSafetensors };

std::optional<Format> FormatOfName(std::string_view path) {
  if (path.ends_with(".npy")) return Format::kNpy;
  if (path.ends_with(".npz")) return Format::kNpz;
  if (path.ends_with(".safetensors")) return Format::kSafetensors;
  return std::nullopt;
}

std::optional<Format> FormatOfBytes(std::span<const std::byte> file) {
  const std::string_view bytes(reinterpret_cast<const char*>(file.data()), file.size());
  if (bytes.starts_with("\x93NUMPY")) return Format::kNpy;
  if (bytes.starts_with("PK\x03\x04") || bytes.starts_with("PK\x05\x06")) return Format::kNpz;
  if (bytes.size() > kSafetensorsBraceAt && bytes[kSafetensorsBraceAt] == '{') {
    return Format::kSafetensors;
  }
  return std::nullopt;
}

absl::StatusOr<std::string> ReadStdin() {
  if (isatty(STDIN_FILENO) == 1) {
    return absl::InvalidArgumentError("is a terminal; a tensor is to be piped in");
  }
  std::string bytes;
  std::size_t size = 0;
  while (true) {
    constexpr std::size_t kPieceBytes = 1 << 20;
    if (bytes.size() - size < kPieceBytes) bytes.resize(std::max(2 * size, size + kPieceBytes));
    const ssize_t n = read(STDIN_FILENO, bytes.data() + size, bytes.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return absl::ErrnoToStatus(errno, "cannot be read");
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
  }
  bytes.resize(size);
  return bytes;
}

absl::StatusOr<TensorView> ParseRaw(const InputFlags& flags, std::span<const std::byte> bytes) {
  const absl::StatusOr<DType> dtype = ParseDType(flags.dtype);
  if (!dtype.ok()) return dtype.status();
  TensorView view{*dtype, flags.shape, bytes};
  const std::size_t element_bytes = ElementBytes(*dtype);
  if (view.shape.empty()) {
    if (bytes.size() % element_bytes != 0) {
      return absl::InvalidArgumentError(absl::StrCat(bytes.size(), " bytes are no whole number of ",
                                                     Name(*dtype), ", each of ", element_bytes));
    }
    view.shape = {static_cast<std::int64_t>(bytes.size() / element_bytes)};
  }
  const absl::StatusOr<std::int64_t> needed = TensorBytes(*dtype, view.shape);
  if (!needed.ok()) return needed.status();
  if (static_cast<std::size_t>(*needed) != bytes.size()) {
    return absl::InvalidArgumentError(absl::StrCat(Name(*dtype), " ", ShapeText(view.shape), " is ",
                                                   *needed, " bytes, but there are ",
                                                   bytes.size()));
  }
  return view;
}

std::string NameList(const std::vector<NamedTensor>& tensors) {
  std::string list;
  for (std::size_t i = 0; i < std::min(tensors.size(), kNamesShownMax); ++i) {
    absl::StrAppend(&list, i > 0 ? ", " : "", tensors[i].name);
  }
  if (tensors.size() > kNamesShownMax) {
    absl::StrAppend(&list, " and ", tensors.size() - kNamesShownMax, " more");
  }
  return list.empty() ? "none" : list;
}

}  // namespace

absl::StatusOr<Input> Input::Open(const InputFlags& flags) {
  const bool from_stdin = flags.file == "-";
  const bool raw = !flags.dtype.empty();
  std::optional<Format> format = from_stdin ? std::nullopt : FormatOfName(flags.file);
  if (!raw && !flags.shape.empty()) {
    return absl::InvalidArgumentError("--shape: is for raw bytes, and those need --dtype too");
  }
  if (raw && format.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--dtype: is for raw bytes; ", flags.file, " says its own"));
  }
  Input input;
  input.name_ = from_stdin ? "stdin" : flags.file;
  std::span<const std::byte> bytes;
  if (from_stdin) {
    absl::StatusOr<std::string> content = ReadStdin();
    if (!content.ok()) return input.Named(content.status());
    input.stdin_ = std::make_unique<std::string>(*std::move(content));
    bytes = std::as_bytes(std::span(*input.stdin_));
  } else {
    absl::StatusOr<UniqueMappedFile> file = UniqueMappedFile::Open(flags.file);
    if (!file.ok()) return file.status();  // names the file already
    input.file_ = std::make_unique<UniqueMappedFile>(*std::move(file));
    bytes = input.file_->bytes();
  }
  if (raw) {
    if (absl::Status set = input.SetArray(ParseRaw(flags, bytes)); !set.ok()) return set;
    return input;
  }
  if (!format.has_value()) format = FormatOfBytes(bytes);
  if (!format.has_value()) {
    return input.Named(absl::InvalidArgumentError(
        "is no .npy, .npz or .safetensors file; raw bytes need --dtype"));
  }
  switch (*format) {
    case Format::kNpy: {
      if (absl::Status set = input.SetArray(ParseNpy(bytes)); !set.ok()) return set;
      break;
    }
    case Format::kNpz: {
      absl::StatusOr<NpzArchive> npz = ReadNpz(bytes);
      if (!npz.ok()) return input.Named(npz.status());
      input.members_ = std::move(npz->members);
      input.tensors_ = std::move(npz->tensors);
      break;
    }
    case Format::kSafetensors: {
      absl::StatusOr<std::vector<NamedTensor>> tensors = ParseSafetensors(bytes);
      if (!tensors.ok()) return input.Named(tensors.status());
      input.tensors_ = *std::move(tensors);
      break;
    }
  }
  return input;
}

absl::Status Input::Named(const absl::Status& status) const {
  return absl::Status(status.code(), absl::StrCat(name_, ": ", status.message()));
}

absl::Status Input::SetArray(const absl::StatusOr<TensorView>& array) {
  if (!array.ok()) return Named(array.status());
  nameless_ = true;
  tensors_ = {{std::filesystem::path(name_).stem().string(), Name(array->dtype), *array}};
  return absl::OkStatus();
}

absl::StatusOr<NamedTensor> Input::Select(const std::string& name) const {
  if (name.empty()) {
    if (tensors_.size() == 1) return tensors_[0];
    return absl::InvalidArgumentError(absl::StrCat(
        name_, ": has ", tensors_.size(), " tensors; --tensor takes one of ", NameList(tensors_)));
  }
  const auto found = std::find_if(tensors_.begin(), tensors_.end(),
                                  [&](const NamedTensor& tensor) { return tensor.name == name; });
  if (found != tensors_.end()) return *found;
  return absl::NotFoundError(
      absl::StrCat(name_, ": has no tensor '", name, "'; there are ", NameList(tensors_)));
}

}  // namespace warpfold::client
