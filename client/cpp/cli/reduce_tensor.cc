#include "client/cpp/cli/reduce_tensor.h"

#include <algorithm>
#include <span>

#include "client/cpp/cli/c_order_reader.h"
#include "client/cpp/cli/layout.h"
#include "client/cpp/exchange.h"
#include "client/cpp/stripes.h"

namespace warpfold::client {
namespace {

// What another reads, little-endian.
class SwappingReader final : public TensorReader {
 public:
  SwappingReader(TensorReader& from, std::size_t element_bytes)
      : from_(from), element_bytes_(element_bytes) {}

  absl::StatusOr<std::size_t> Read(std::span<std::byte> into) override {
    const absl::StatusOr<std::size_t> n = from_.Read(into);
    if (n.ok()) SwapBytes(element_bytes_, into.first(*n));
    return n;
  }

 private:
  TensorReader& from_;
  const std::size_t element_bytes_;
};

absl::StatusOr<BlockAnswer> ReduceGathered(Client& client, const TensorView& view,
                                           const Layout& layout, const ReduceOptions& options,
                                           std::optional<Op> may_not_fit) {
  COrderReader reader(view, layout);
  return ReduceByBlocks(client, view.dtype, view.shape, reader, options, may_not_fit);
}

absl::StatusOr<BlockAnswer> ReduceInCOrder(Client& client, const TensorView& view,
                                           bool is_big_endian, TensorReader* reader,
                                           const ReduceOptions& options,
                                           std::optional<Op> may_not_fit) {
  if (reader == nullptr && !is_big_endian) return ReduceAtOnce(client, view, options, may_not_fit);
  if (reader == nullptr) {
    return ReduceGathered(client, view, {.is_big_endian = true}, options, may_not_fit);
  }
  SwappingReader swapping(*reader, ElementBytes(view.dtype));
  return ReduceByBlocks(client, view.dtype, view.shape, is_big_endian ? swapping : *reader, options,
                        may_not_fit);
}

// A failure of the reversed array that names an output element, as the array has it.
absl::Status OfArray(const absl::Status& status, const std::vector<std::int64_t>& shape,
                     const ReduceOptions& options) {
  const auto reduced = ReducedDimensions(shape.size(), options.axes);
  if (!reduced.has_value()) return status;
  std::vector<std::int64_t> kept;  // of the reversed array
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (!(*reduced)[d]) kept.push_back(shape[d]);
  }
  return WithOutputElement(status,
                           [&](std::int64_t element) { return ReversedPlace(element, kept); });
}

}  // namespace

absl::StatusOr<BlockAnswer> ReduceTensor(Client& client, const NamedTensor& tensor,
                                         TensorReader* reader, const ReduceOptions& options,
                                         std::optional<Op> may_not_fit) {
  const bool is_big_endian = tensor.layout.is_big_endian;
  if (!tensor.layout.is_fortran) {
    return ReduceInCOrder(client, tensor.view, is_big_endian, reader, options, may_not_fit);
  }
  const absl::StatusOr<ReduceOptions> asked = ReversedOptions(options, tensor.view.shape);
  if (absl::IsUnimplemented(asked.status()) && reader == nullptr) {
    return ReduceGathered(client, tensor.view, tensor.layout, options, may_not_fit);
  }
  if (!asked.ok()) return asked.status();
  TensorView view = tensor.view;
  std::reverse(view.shape.begin(), view.shape.end());
  absl::StatusOr<BlockAnswer> answer =
      ReduceInCOrder(client, view, is_big_endian, reader, *asked, may_not_fit);
  if (!answer.ok()) return OfArray(answer.status(), tensor.view.shape, options);
  answer->shape = tensor.view.shape;
  for (ReduceResult& result : answer->answer.results) {
    result.tensor = Reversed(result.tensor, result.trailing_dims);
  }
  return answer;
}

}  // namespace warpfold::client
