#include "client/cpp/cli/c_order_reader.h"

#include <algorithm>
#include <cstring>

namespace warpfold::client {
namespace {

template <typename Word>
void CopyEvery(std::size_t stride, std::size_t count, const std::byte* from, std::byte* to) {
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(to + i * sizeof(Word), from + i * stride * sizeof(Word), sizeof(Word));
  }
}

// Copies `count` elements, of which each is `stride` elements after the one before.
void CopyStrided(std::size_t element_bytes, std::size_t stride, std::size_t count,
                 const std::byte* from, std::byte* to) {
  switch (element_bytes) {
    case 1:
      return CopyEvery<std::uint8_t>(stride, count, from, to);
    case 2:
      return CopyEvery<std::uint16_t>(stride, count, from, to);
    case 4:
      return CopyEvery<std::uint32_t>(stride, count, from, to);
    default:
      return CopyEvery<std::uint64_t>(stride, count, from, to);
  }
}

}  // namespace

COrderReader::COrderReader(const TensorView& view, const Layout& layout)
    : shape_(view.shape),
      bytes_(view.data),
      element_bytes_(ElementBytes(view.dtype)),
      layout_(layout) {}

absl::StatusOr<std::size_t> COrderReader::Read(std::span<std::byte> into) {
  into = into.first(std::min(into.size(), bytes_.size() - read_bytes_));
  if (layout_.is_fortran) {
    Gather(into);
  } else {
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(read_bytes_), into.size(),
                into.begin());
  }
  if (layout_.is_big_endian) SwapBytes(element_bytes_, into);
  read_bytes_ += into.size();
  return into.size();
}

void COrderReader::Gather(std::span<std::byte> into) {
  // Along the last axis an array in Fortran order has equal steps.
  const auto row = static_cast<std::size_t>(shape_.back());
  const std::size_t end = (read_bytes_ + into.size()) / element_bytes_;
  const std::size_t stride = bytes_.size() / element_bytes_ / std::max<std::size_t>(row, 1);
  std::byte* to = into.data();
  for (std::size_t at = read_bytes_ / element_bytes_; at < end;) {
    const std::size_t count = std::min(row - at % row, end - at);
    const std::int64_t place = ReversedPlace(static_cast<std::int64_t>(at), shape_);
    CopyStrided(element_bytes_, stride, count,
                bytes_.data() + static_cast<std::size_t>(place) * element_bytes_, to);
    to += count * element_bytes_;
    at += count;
  }
}

}  // namespace warpfold::client
