#include "client/cpp/cli/layout.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "client/cpp/stripes.h"

namespace warpfold::client {
namespace {

template <typename Word, typename Swap>
void SwapWords(std::span<std::byte> bytes, Swap swap) {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(Word)) {
    Word word;
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    word = swap(word);
    std::memcpy(bytes.data() + at, &word, sizeof(word));
  }
}

}  // namespace

void SwapBytes(std::size_t element_bytes, std::span<std::byte> bytes) {
  switch (element_bytes) {
    case 2:
      return SwapWords<std::uint16_t>(bytes, [](auto word) { return __builtin_bswap16(word); });
    case 4:
      return SwapWords<std::uint32_t>(bytes, [](auto word) { return __builtin_bswap32(word); });
    default:
      return SwapWords<std::uint64_t>(bytes, [](auto word) { return __builtin_bswap64(word); });
  }
}

absl::StatusOr<ReduceOptions> ReversedOptions(const ReduceOptions& options,
                                              const std::vector<std::int64_t>& shape) {
  const std::optional<std::vector<bool>> reduced = ReducedDimensions(shape.size(), options.axes);
  if (!reduced.has_value()) return options;  // the server refuses them in its words
  int long_axes = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) long_axes += (*reduced)[d] && shape[d] > 1;
  for (const Op op : options.ops) {
    if (long_axes < 2 || (op != v1::OP_ARGMIN && op != v1::OP_ARGMAX)) continue;
    return absl::UnimplementedError(absl::StrCat(
        "op: ", Name(op),
        " over several axes needs C order, and the array is in Fortran order; take one axis, read "
        "it from a file instead of a pipe, or save np.ascontiguousarray(a)"));
  }
  ReduceOptions reversed = options;
  for (std::int64_t& axis : reversed.axes) axis = -1 - axis;
  return reversed;
}

std::int64_t ReversedPlace(std::int64_t at, std::span<const std::int64_t> shape) {
  std::int64_t place = 0;
  for (std::size_t d = shape.size(); d-- > 0;) {
    place = place * shape[d] + at % shape[d];
    at /= shape[d];
  }
  return place;
}

Tensor Reversed(const Tensor& tensor, int trailing_dims) {
  Tensor reversed = tensor;
  std::reverse(reversed.shape.begin(), reversed.shape.end() - trailing_dims);
  const std::span<const std::int64_t> shape = tensor.shape;
  const std::span kept = shape.first(shape.size() - static_cast<std::size_t>(trailing_dims));
  std::size_t bytes = ElementBytes(tensor.dtype);
  for (const std::int64_t length : shape.subspan(kept.size())) {
    bytes *= static_cast<std::size_t>(length);
  }
  if (bytes == 0) return reversed;
  for (std::size_t at = 0; at < tensor.data.size() / bytes; ++at) {
    const auto place = ReversedPlace(static_cast<std::int64_t>(at), kept);
    std::memcpy(reversed.data.data() + static_cast<std::size_t>(place) * bytes,
                tensor.data.data() + at * bytes, bytes);
  }
  return reversed;
}

}  // namespace warpfold::client
