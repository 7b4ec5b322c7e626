// A .npz archive: its arrays have as many bytes as they say.
#include <span>

#include "client/cpp/cli/npz.h"
#include "client/cpp/tensor.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace warpfold;
  const auto archive = client::ReadNpz(std::as_bytes(std::span(data, size)));
  if (!archive.ok()) return 0;
  for (const client::NamedTensor& tensor : archive->tensors) {
    if (!tensor.problem.empty() || tensor.view.dtype == v1::DTYPE_UNSPECIFIED) continue;
    const auto bytes = client::TensorBytes(tensor.view.dtype, tensor.view.shape);
    fuzz::Require(bytes.ok() && *bytes == std::ssize(tensor.view.data),
                  "an array has all its elements");
  }
  return 0;
}
