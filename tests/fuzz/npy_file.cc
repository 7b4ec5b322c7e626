// A .npy file: what is read of it is inside it, and its header says the same when it is read alone.
#include <cstring>
#include <span>

#include "client/cpp/cli/npy.h"
#include "tests/fuzz/fuzz.h"

namespace warpfold::client {
namespace {

void Read(std::span<const std::byte> file) {
  const absl::StatusOr<NpyArray> array = ParseNpy(file);
  if (!array.ok()) return;
  const std::span<const std::byte> data = array->view.data;
  fuzz::Require(data.empty() || (data.data() >= file.data() &&
                                 data.data() + data.size() <= file.data() + file.size()),
                "an array lies in its file");
  const absl::StatusOr<std::size_t> header_bytes = NpyHeaderBytes(file);
  fuzz::Require(header_bytes.ok() && *header_bytes <= file.size(), "a file has its header");
  const absl::StatusOr<NpyHeader> header = ParseNpyHeader(file.first(*header_bytes));
  fuzz::Require(header.ok() && header->shape == array->view.shape &&
                    header->dtype == array->view.dtype && header->data_bytes == data.size(),
                "a header alone says the same");
}

}  // namespace
}  // namespace warpfold::client

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  warpfold::client::Read(std::as_bytes(std::span(data, size)));
  return 0;
}
