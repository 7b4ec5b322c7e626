#include "client/cpp/cli/difference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "client/cpp/cli/element.h"

namespace warpfold::client {
namespace {

// Equal bytes are skipped a piece at a time: most of two versions of a file is the same.
constexpr std::size_t kPieceBytes = 4096;

// |a - b|. Of 64-bit integers exactly, before it is rounded.
double Distance(DType dtype, const char* a, const char* b) {
  const auto exact = [&]<typename T>(T x, T y) {
    std::memcpy(&x, a, sizeof(x));
    std::memcpy(&y, b, sizeof(y));
    const auto high = static_cast<std::uint64_t>(std::max(x, y));
    return static_cast<double>(high - static_cast<std::uint64_t>(std::min(x, y)));
  };
  if (dtype == v1::DTYPE_I64) return exact(std::int64_t{}, std::int64_t{});
  if (dtype == v1::DTYPE_U64) return exact(std::uint64_t{}, std::uint64_t{});
  const double x = ElementDouble(dtype, a);
  const double y = ElementDouble(dtype, b);
  if (x == y || (std::isnan(x) && std::isnan(y))) return 0;  // the same infinity, too
  return std::fabs(x - y);
}

}  // namespace

bool IsMore(double left, double right) {
  if (std::isnan(left) || std::isnan(right)) return std::isnan(left) && !std::isnan(right);
  return left > right;
}

Difference DifferenceOf(DType dtype, std::span<const std::byte> a, std::span<const std::byte> b) {
  Difference difference;
  const std::size_t element_bytes = ElementBytes(dtype);
  double squares = 0;    // of a - b
  double squares_a = 0;  // of a
  const auto* const from_a = reinterpret_cast<const char*>(a.data());
  const auto* const from_b = reinterpret_cast<const char*>(b.data());
  for (std::size_t begin = 0; begin < a.size(); begin += kPieceBytes) {
    const std::size_t end = std::min(begin + kPieceBytes, a.size());
    const bool is_same = std::memcmp(from_a + begin, from_b + begin, end - begin) == 0;
    for (std::size_t at = begin; at < end; at += element_bytes) {
      const double value = ElementDouble(dtype, from_a + at);
      if (std::isfinite(value)) squares_a += value * value;
      if (is_same || std::memcmp(from_a + at, from_b + at, element_bytes) == 0) continue;
      const double distance = Distance(dtype, from_a + at, from_b + at);
      squares += distance * distance;
      if (difference.changed++ == 0 || IsMore(distance, difference.max_abs)) {
        difference.max_abs = distance;
        difference.max_at = static_cast<std::int64_t>(at / element_bytes);
      }
    }
  }
  if (squares != 0) difference.relative_l2 = std::sqrt(squares) / std::sqrt(squares_a);
  return difference;
}

std::vector<std::int64_t> IndexOf(std::int64_t at, std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    index[d] = at % shape[d];
    at /= shape[d];
  }
  return index;
}

}  // namespace warpfold::client
