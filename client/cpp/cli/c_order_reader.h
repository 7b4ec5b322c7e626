// The bytes of a tensor in memory, in any layout (layout.h), as the service takes them: an array in
// Fortran order is gathered element by element, as far as it is read.
//
// Thread safety: one thread at a time. Failure: none.
#ifndef WARPFOLD_CLIENT_CPP_CLI_C_ORDER_READER_H_
#define WARPFOLD_CLIENT_CPP_CLI_C_ORDER_READER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cpp/cli/layout.h"
#include "client/cpp/cli/tensor_reader.h"
#include "client/cpp/tensor.h"

namespace warpfold::client {

class COrderReader final : public TensorReader {
 public:
  // REQUIRES: `view` is of a dtype that the contract has; its data outlive the reader.
  COrderReader(const TensorView& view, const Layout& layout);

  absl::StatusOr<std::size_t> Read(std::span<std::byte> into) override;

 private:
  // The next elements of an array in Fortran order.
  void Gather(std::span<std::byte> into);

  const std::vector<std::int64_t> shape_;
  const std::span<const std::byte> bytes_;
  const std::size_t element_bytes_;
  const Layout layout_;
  std::size_t read_bytes_ = 0;
};

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_C_ORDER_READER_H_
