// The tensors that come through a pipe: their headers first, then their bytes, read in order and
// once, in bounded memory. A .npz archive has its list at its end and cannot be read so.
//
// Thread safety: none needed; the readers are used one after the other. Failure: absl::Status
// without the pipe's name.
#ifndef WARPFOLD_CLIENT_CPP_CLI_PIPE_TENSORS_H_
#define WARPFOLD_CLIENT_CPP_CLI_PIPE_TENSORS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/cli/format.h"
#include "client/cpp/cli/named_tensor.h"
#include "client/cpp/cli/pipe.h"
#include "client/cpp/cli/tensor_reader.h"

namespace warpfold::client {

class PipeTensors {
 public:
  // Of raw bytes; an empty shape is one axis of all that comes (kUnknownLength).
  static absl::StatusOr<std::unique_ptr<PipeTensors>> OpenRaw(
      Pipe pipe, DType dtype, const std::vector<std::int64_t>& shape);
  // Of `format`, or of what the first bytes say.
  static absl::StatusOr<std::unique_ptr<PipeTensors>> Open(
      Pipe pipe, std::optional<Format> format, std::optional<DType> of_void = std::nullopt);

  PipeTensors(const PipeTensors&) = delete;
  PipeTensors& operator=(const PipeTensors&) = delete;

  // Whether the format is that of one array without a name.
  bool nameless() const { return kind_ != Kind::kSafetensors; }
  // In the order of their bytes; the views have no data. A nameless one has no name.
  const std::vector<NamedTensor>& tensors() const { return tensors_; }
  // Of tensor `i`; 0 where nobody knows.
  std::int64_t BytesOf(std::size_t i) const;

  // What reads tensor `i`. REQUIRES: no tensor from `i` on has been read.
  absl::StatusOr<std::unique_ptr<TensorReader>> ReaderOf(std::size_t i);

  // Reads what is left. INVALID_ARGUMENT when there is less than the headers say, or more.
  absl::Status Finish();

 private:
  enum class Kind { kRaw, kNpy, kSafetensors };
  class Reader;

  PipeTensors(Pipe pipe, Kind kind) : pipe_(std::move(pipe)), kind_(kind) {}
  absl::Status ReadNpyHeader(std::optional<DType> of_void);
  absl::Status ReadSafetensorsHeader();
  void Add(NamedTensor tensor, std::size_t begin, std::size_t end);
  absl::Status SkipTo(std::size_t at);
  // What is wrong with data of `bytes`.
  absl::Status WrongLength(std::size_t bytes) const;

  struct Range {
    std::size_t begin = 0;  // of the data, which follow the header
    std::size_t end = 0;
  };

  Pipe pipe_;
  const Kind kind_;
  std::vector<NamedTensor> tensors_;
  std::vector<Range> ranges_;
  std::size_t at_ = 0;  // of the data, what has been read
};

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_PIPE_TENSORS_H_
