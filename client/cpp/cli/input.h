// What a command reads: the named tensors of a file or of stdin, whatever the format.
//
// The name's suffix says which: .npy, .npz or .safetensors. Of other names and of stdin the first
// bytes say. Raw bytes (C order, little-endian, no header) have nobody to say it but the user, by
// `dtype` and `shape`.
//
// A file is mapped, also one that is stdin, and its tensors are views of it; the members of a .npz
// are held in memory. A pipe (stdin, /dev/stdin, <(zcat f), a FIFO) is read once, block by block,
// in bounded memory.
//
// Thread safety: immutable after Open, but for the pipe, which one thread reads. Failure:
// absl::Status naming the file; INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED are the user's to
// mend.
#ifndef WARPFOLD_CLIENT_CPP_CLI_INPUT_H_
#define WARPFOLD_CLIENT_CPP_CLI_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/cli/format.h"
#include "client/cpp/cli/mapped_file.h"
#include "client/cpp/cli/named_tensor.h"
#include "client/cpp/cli/npy.h"
#include "client/cpp/cli/pipe_tensors.h"

namespace warpfold::client {

struct InputFlags {
  std::string file;                 // "-" is stdin
  std::string dtype;                // of raw bytes, "f32"; empty: the file says
  std::vector<std::int64_t> shape;  // of raw bytes; empty: one axis of all there is
};

class Input {
 public:
  enum class Reading {
    kOnce,   // the tensors in their order, each once
    kAnyhow  // a pipe is copied into a temporary file first
  };
  static absl::StatusOr<Input> Open(const InputFlags& flags, Reading reading);

  // As messages show it: the path, or "stdin".
  const std::string& name() const { return name_; }
  // Whether the format is that of one array without a name (.npy, raw bytes).
  bool nameless() const { return nameless_; }
  // In the file's order. A nameless array is named as the file. Those of a pipe() have no data.
  const std::vector<NamedTensor>& tensors() const { return tensors_; }
  // Null when the tensors are in memory.
  PipeTensors* pipe() const { return pipe_.get(); }

  // The place of the tensor of that name; with an empty name of the only tensor. NOT_FOUND or
  // INVALID_ARGUMENT lists the names there are.
  absl::StatusOr<std::size_t> Select(const std::string& name) const;

 private:
  Input() = default;

  // `status` with the file's name before its message.
  absl::Status Named(const absl::Status& status) const;
  // The file's name without folder and suffix; "/dev/fd/63" whole.
  std::string Stem() const;
  absl::Status SetArray(const absl::StatusOr<NpyArray>& array);
  absl::Status ReadRaw(DType dtype, const std::vector<std::int64_t>& shape,
                       std::span<const std::byte> bytes);
  // `of_void`: as ParseNpy has it.
  absl::Status ReadBytes(std::optional<Format> format, std::optional<DType> of_void,
                         std::span<const std::byte> bytes);
  absl::Status ReadPipe(std::optional<Format> format, std::optional<DType> raw,
                        const InputFlags& flags, Pipe pipe);

  std::string name_;
  bool nameless_ = false;
  // One of these has the bytes.
  std::unique_ptr<UniqueMappedFile> file_;
  std::unique_ptr<PipeTensors> pipe_;
  std::vector<std::unique_ptr<std::byte[]>> members_;
  std::vector<NamedTensor> tensors_;
};

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_INPUT_H_
