// What a command reads: the named tensors of a file or of stdin, whatever the format.
//
// The name's suffix says which: .npy, .npz or .safetensors. Of other names and of stdin the first
// bytes say. Raw bytes (C order, little-endian, no header) have nobody to say it but the user, by
// `dtype` and `shape`.
//
// A file is mapped, and its tensors are views of it; stdin, and the members of a .npz, are held in
// memory.
//
// Thread safety: immutable after Open. Failure: absl::Status naming the file; INVALID_ARGUMENT,
// NOT_FOUND, PERMISSION_DENIED are the user's to mend.
#ifndef WARPFOLD_CLIENT_CPP_CLI_INPUT_H_
#define WARPFOLD_CLIENT_CPP_CLI_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/cli/mapped_file.h"
#include "client/cpp/cli/named_tensor.h"

namespace warpfold::client {

struct InputFlags {
  std::string file;                 // "-" is stdin
  std::string dtype;                // of raw bytes, "f32"; empty: the file says
  std::vector<std::int64_t> shape;  // of raw bytes; empty: one axis of all there is
};

class Input {
 public:
  static absl::StatusOr<Input> Open(const InputFlags& flags);

  // As messages show it: the path, or "stdin".
  const std::string& name() const { return name_; }
  // Whether the format is that of one array without a name (.npy, raw bytes).
  bool nameless() const { return nameless_; }
  // In the file's order. A nameless array is named as the file.
  const std::vector<NamedTensor>& tensors() const { return tensors_; }

  // The tensor of that name; with an empty name the only tensor. NOT_FOUND or INVALID_ARGUMENT
  // lists the names there are.
  absl::StatusOr<NamedTensor> Select(const std::string& name) const;

 private:
  Input() = default;

  // `status` with the file's name before its message.
  absl::Status Named(const absl::Status& status) const;
  absl::Status SetArray(const absl::StatusOr<TensorView>& array);

  std::string name_;
  bool nameless_ = false;
  // One of these holds the bytes.
  std::unique_ptr<UniqueMappedFile> file_;
  std::unique_ptr<std::string> stdin_;
  std::vector<std::unique_ptr<std::byte[]>> members_;
  std::vector<NamedTensor> tensors_;
};

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_INPUT_H_
