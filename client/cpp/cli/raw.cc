#include "client/cpp/cli/raw.h"

#include "absl/strings/str_cat.h"

namespace warpfold::client {

absl::Status CheckWholeElements(DType dtype, std::size_t bytes) {
  if (bytes % ElementBytes(dtype) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(bytes, " bytes are no whole number of ",
                                                 Name(dtype), ", each of ", ElementBytes(dtype)));
}

absl::Status CheckRawBytes(DType dtype, const std::vector<std::int64_t>& shape, std::size_t bytes) {
  const absl::StatusOr<std::int64_t> needed = TensorBytes(dtype, shape);
  if (!needed.ok()) return needed.status();
  if (static_cast<std::size_t>(*needed) == bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(Name(dtype), " ", ShapeText(shape), " is ",
                                                 *needed, " bytes, but there are ", bytes));
}

absl::StatusOr<TensorView> ParseRaw(DType dtype, const std::vector<std::int64_t>& shape,
                                    std::span<const std::byte> bytes) {
  TensorView view{dtype, shape, bytes};
  if (shape.empty()) {
    if (absl::Status whole = CheckWholeElements(dtype, bytes.size()); !whole.ok()) return whole;
    view.shape = {static_cast<std::int64_t>(bytes.size() / ElementBytes(dtype))};
  }
  if (absl::Status fits = CheckRawBytes(dtype, view.shape, bytes.size()); !fits.ok()) return fits;
  return view;
}

}  // namespace warpfold::client
