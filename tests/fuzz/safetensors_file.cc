// A .safetensors file: its tensors lie in it, one behind the other, and have all their elements.
#include <span>

#include "client/cpp/cli/safetensors.h"
#include "client/cpp/tensor.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace warpfold;
  const std::span<const std::byte> file = std::as_bytes(std::span(data, size));
  const auto tensors = client::ParseSafetensors(file);
  if (!tensors.ok()) return 0;
  const std::byte* at = file.data();
  for (const client::NamedTensor& tensor : *tensors) {
    if (!tensor.problem.empty() || tensor.view.dtype == v1::DTYPE_UNSPECIFIED) continue;
    const auto bytes = client::TensorBytes(tensor.view.dtype, tensor.view.shape);
    fuzz::Require(bytes.ok() && *bytes == std::ssize(tensor.view.data),
                  "a tensor has all its elements");
    if (tensor.view.data.empty()) continue;
    fuzz::Require(tensor.view.data.data() >= at, "tensors do not lie on each other");
    at = tensor.view.data.data() + tensor.view.data.size();
  }
  fuzz::Require(at <= file.data() + file.size(), "tensors lie in their file");
  return 0;
}
