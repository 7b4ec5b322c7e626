#include "client/cpp/cli/input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/cli/npz.h"
#include "client/cpp/cli/raw.h"
#include "client/cpp/cli/safetensors.h"

namespace warpfold::client {
namespace {

constexpr std::size_t kNamesShownMax = 10;
constexpr std::size_t kCopiedBytes = 1 << 20;

// The file at `path`, open; stdin stays open for whoever else has it. Errors begin with `name`.
absl::StatusOr<UniqueFd> OpenFd(const std::string& path, const std::string& name) {
  const bool is_stdin = path == "-";
  struct stat info = {};
  if ((is_stdin ? fstat(STDIN_FILENO, &info) : stat(path.c_str(), &info)) != 0) {
    return absl::ErrnoToStatus(errno, name);
  }
  if (S_ISDIR(info.st_mode) || S_ISBLK(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": is not a regular file, and no pipe"));
  }
  UniqueFd fd(is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                       : open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return absl::ErrnoToStatus(errno, name);
  if (isatty(fd.get()) == 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": is a terminal; a tensor is to be piped in"));
  }
  return fd;
}

// Whether all of the file can be mapped: of stdin somebody may have read the beginning.
bool IsWholeFile(int fd) {
  struct stat info = {};
  return fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && lseek(fd, 0, SEEK_CUR) == 0;
}

// What `pipe` has, in a file that is gone with its descriptor.
absl::StatusOr<UniqueFd> CopyToFile(Pipe pipe) {
  const char* folder = std::getenv("TMPDIR");
  std::string path =
      absl::StrCat(folder != nullptr && *folder != '\0' ? folder : "/tmp", "/warpfold-XXXXXX");
  UniqueFd file(mkostemp(path.data(), O_CLOEXEC));
  const auto failed = [&path] {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot be copied to ", path));
  };
  if (file.get() < 0) return failed();
  unlink(path.c_str());
  std::vector<std::byte> buffer(kCopiedBytes);
  while (true) {
    const absl::StatusOr<std::size_t> n = pipe.Read(buffer);
    if (!n.ok()) return n.status();
    for (std::size_t done = 0; done < *n;) {
      const ssize_t written = write(file.get(), buffer.data() + done, *n - done);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return failed();
      done += static_cast<std::size_t>(written);
    }
    if (*n < buffer.size()) return file;
  }
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

absl::StatusOr<Input> Input::Open(const InputFlags& flags, Reading reading) {
  const bool is_stdin = flags.file == "-";
  const std::optional<Format> format = is_stdin ? std::nullopt : FormatOfName(flags.file);
  std::optional<DType> raw;
  if (flags.dtype.empty() && !flags.shape.empty()) {
    return absl::InvalidArgumentError("--shape: is for raw bytes, and those need --dtype too");
  }
  if (!flags.dtype.empty() && format == Format::kSafetensors) {
    return absl::InvalidArgumentError(
        absl::StrCat("--dtype: is for raw bytes; ", flags.file, " says its own"));
  }
  if (!flags.shape.empty() && format.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--shape: is for raw bytes; ", flags.file, " says its own"));
  }
  Input input;
  input.name_ = is_stdin ? "stdin" : flags.file;
  if (!flags.dtype.empty()) {
    const absl::StatusOr<DType> dtype = ParseDType(flags.dtype);
    if (!dtype.ok()) return input.Named(dtype.status());
    raw = *dtype;
  }
  absl::StatusOr<UniqueFd> fd = OpenFd(flags.file, input.name_);
  if (!fd.ok()) return fd.status();
  const bool is_pipe = !IsWholeFile(fd->get());
  if (is_pipe && reading == Reading::kOnce) {
    absl::Status read = input.ReadPipe(format, raw, flags, Pipe(*std::move(fd)));
    if (!read.ok()) return input.Named(read);
    return input;
  }
  const absl::StatusOr<UniqueFd> whole =
      is_pipe ? CopyToFile(Pipe(*std::move(fd))) : absl::StatusOr<UniqueFd>(*std::move(fd));
  if (!whole.ok()) return input.Named(whole.status());
  absl::StatusOr<UniqueMappedFile> file = UniqueMappedFile::Map(whole->get(), input.name_);
  if (!file.ok()) return file.status();
  input.file_ = std::make_unique<UniqueMappedFile>(*std::move(file));
  const std::span<const std::byte> bytes = input.file_->bytes();
  absl::Status read = raw.has_value() && !format.has_value()
                          ? input.ReadRaw(*raw, flags.shape, bytes)
                          : input.ReadBytes(format, raw, bytes);
  if (!read.ok()) return input.Named(read);
  return input;
}

absl::Status Input::ReadRaw(DType dtype, const std::vector<std::int64_t>& shape,
                            std::span<const std::byte> bytes) {
  absl::StatusOr<TensorView> view = ParseRaw(dtype, shape, bytes);
  if (!view.ok()) return view.status();
  return SetArray(NpyArray{*std::move(view), {}});
}

absl::Status Input::ReadBytes(std::optional<Format> format, std::optional<DType> of_void,
                              std::span<const std::byte> bytes) {
  if (bytes.empty()) return absl::InvalidArgumentError("is empty");
  if (!format.has_value()) format = FormatOfBytes(bytes);
  const bool is_gzip =
      bytes.size() > 1 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
  if (!format.has_value() && is_gzip) {
    return absl::InvalidArgumentError(absl::StrCat("is compressed by gzip; a pipe reads it: zcat ",
                                                   name_, " | warpfold describe -"));
  }
  if (!format.has_value()) {
    return absl::InvalidArgumentError(
        "is no .npy, .npz or .safetensors file; raw bytes need --dtype");
  }
  switch (*format) {
    case Format::kNpy:
      return SetArray(ParseNpy(bytes, of_void));
    case Format::kNpz: {
      absl::StatusOr<NpzArchive> npz = ReadNpz(bytes, of_void);
      if (!npz.ok()) return npz.status();
      members_ = std::move(npz->members);
      tensors_ = std::move(npz->tensors);
      break;
    }
    case Format::kSafetensors: {
      absl::StatusOr<std::vector<NamedTensor>> tensors = ParseSafetensors(bytes);
      if (!tensors.ok()) return tensors.status();
      tensors_ = *std::move(tensors);
      break;
    }
  }
  return absl::OkStatus();
}

absl::Status Input::ReadPipe(std::optional<Format> format, std::optional<DType> raw,
                             const InputFlags& flags, Pipe pipe) {
  absl::StatusOr<std::unique_ptr<PipeTensors>> opened =
      raw.has_value() && !format.has_value()
          ? PipeTensors::OpenRaw(std::move(pipe), *raw, flags.shape)
          : PipeTensors::Open(std::move(pipe), format, raw);
  if (!opened.ok()) return opened.status();
  pipe_ = *std::move(opened);
  tensors_ = pipe_->tensors();
  nameless_ = pipe_->nameless();
  if (nameless_) tensors_[0].name = Stem();
  return absl::OkStatus();
}

absl::Status Input::Named(const absl::Status& status) const {
  return absl::Status(status.code(), absl::StrCat(name_, ": ", status.message()));
}

absl::Status Input::SetArray(const absl::StatusOr<NpyArray>& array) {
  if (!array.ok()) return array.status();
  nameless_ = true;
  tensors_ = {{Stem(), Name(array->view.dtype), array->view, "", array->layout}};
  return absl::OkStatus();
}

std::string Input::Stem() const {
  // <(zcat f): a number says nothing.
  if (name_.starts_with("/dev/fd/") || name_.starts_with("/proc/self/fd/")) return name_;
  return std::filesystem::path(name_).stem().string();
}

absl::StatusOr<std::size_t> Input::Select(const std::string& name) const {
  if (name.empty()) {
    if (tensors_.size() == 1) return 0;
    return absl::InvalidArgumentError(absl::StrCat(
        name_, ": has ", tensors_.size(), " tensors; --tensor takes one of ", NameList(tensors_)));
  }
  const auto found = std::find_if(tensors_.begin(), tensors_.end(),
                                  [&](const NamedTensor& tensor) { return tensor.name == name; });
  if (found != tensors_.end()) return static_cast<std::size_t>(found - tensors_.begin());
  return absl::NotFoundError(
      absl::StrCat(name_, ": has no tensor '", name, "'; there are ", NameList(tensors_)));
}

}  // namespace warpfold::client
