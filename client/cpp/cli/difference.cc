#include "client/cpp/cli/difference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "client/cpp/catalogue.h"
#include "client/cpp/cli/c_order_reader.h"
#include "client/cpp/cli/element.h"

namespace warpfold::client {
namespace {

// Of each tensor, in memory. The longer a block of an array in Fortran order, the fewer the times
// that a page of its file is read again.
constexpr std::size_t kComparedBytes = 16 << 20;
// Equal bytes are skipped a piece at a time: most of two versions of a file is the same.
constexpr std::size_t kPieceBytes = 4096;

// |a - b|. Of 64-bit integers exactly, before it is rounded.
double Distance(DType dtype_a, const char* a, DType dtype_b, const char* b) {
  const auto exact = [&]<typename T>(T x, T y) {
    std::memcpy(&x, a, sizeof(x));
    std::memcpy(&y, b, sizeof(y));
    const auto high = static_cast<std::uint64_t>(std::max(x, y));
    return static_cast<double>(high - static_cast<std::uint64_t>(std::min(x, y)));
  };
  if (dtype_a == v1::DTYPE_I64) return exact(std::int64_t{}, std::int64_t{});
  if (dtype_a == v1::DTYPE_U64) return exact(std::uint64_t{}, std::uint64_t{});
  const double x = ElementDouble(dtype_a, a);
  const double y = ElementDouble(dtype_b, b);
  if (x == y || (std::isnan(x) && std::isnan(y))) return 0;  // the same infinity, too
  return std::fabs(x - y);
}

class Comparison {
 public:
  // `transposed` is empty, or the shape of the transpose whose elements come.
  Comparison(DType dtype_a, DType dtype_b, std::vector<std::int64_t> transposed)
      : dtype_a_(dtype_a),
        dtype_b_(dtype_b),
        bytes_a_(ElementBytes(dtype_a)),
        bytes_b_(ElementBytes(dtype_b)),
        transposed_(std::move(transposed)) {}

  // The next elements of both, as the service takes them.
  void Add(std::span<const std::byte> a, std::span<const std::byte> b) {
    const auto* const from_a = reinterpret_cast<const char*>(a.data());
    const auto* const from_b = reinterpret_cast<const char*>(b.data());
    const std::size_t elements = a.size() / bytes_a_;
    const std::size_t piece = kPieceBytes / bytes_a_;
    for (std::size_t begin = 0; begin < elements; begin += piece) {
      const std::size_t end = std::min(begin + piece, elements);
      const bool is_same =
          dtype_a_ == dtype_b_ && std::memcmp(from_a + begin * bytes_a_, from_b + begin * bytes_a_,
                                              (end - begin) * bytes_a_) == 0;
      for (std::size_t at = begin; at < end; ++at, ++at_) {
        const double value = ElementDouble(dtype_a_, from_a + at * bytes_a_);
        if (std::isfinite(value)) squares_a_ += value * value;
        if (!is_same) AddPair(from_a + at * bytes_a_, from_b + at * bytes_b_);
      }
    }
  }

  Difference Result() const {
    Difference result = result_;
    if (squares_ != 0) result.relative_l2 = std::sqrt(squares_) / std::sqrt(squares_a_);
    return result;
  }

 private:
  void AddPair(const char* a, const char* b) {
    const bool is_one_dtype = dtype_a_ == dtype_b_;
    if (is_one_dtype && std::memcmp(a, b, bytes_a_) == 0) return;
    const double distance = Distance(dtype_a_, a, dtype_b_, b);
    if (!is_one_dtype && distance == 0) return;
    squares_ += distance * distance;
    const std::int64_t at = transposed_.empty() ? at_ : ReversedPlace(at_, transposed_);
    const bool is_less = IsMore(result_.max_abs, distance);
    if (result_.changed++ == 0 || IsMore(distance, result_.max_abs) ||
        (!is_less && at < result_.max_at)) {
      result_.max_abs = distance;
      result_.max_at = at;
    }
  }

  const DType dtype_a_, dtype_b_;
  const std::size_t bytes_a_, bytes_b_;  // of an element
  const std::vector<std::int64_t> transposed_;
  Difference result_;
  double squares_ = 0;    // of a - b
  double squares_a_ = 0;  // of a
  std::int64_t at_ = 0;   // the next element
};

}  // namespace

bool AreComparable(DType a, DType b) {
  return a == b ? ElementBytes(a) > 0 : IsFloat(a) && IsFloat(b);
}

bool IsMore(double left, double right) {
  if (std::isnan(left) || std::isnan(right)) return std::isnan(left) && !std::isnan(right);
  return left > right;
}

Difference DifferenceOf(const NamedTensor& a, const NamedTensor& b) {
  // Of two arrays in Fortran order the transposes are compared: they need no gathering.
  const bool are_transposed = a.layout.is_fortran && b.layout.is_fortran;
  std::vector<std::int64_t> transposed;
  if (are_transposed) transposed.assign(a.view.shape.rbegin(), a.view.shape.rend());
  const auto layout = [&](const NamedTensor& tensor) -> Layout {
    return {tensor.layout.is_big_endian, tensor.layout.is_fortran && !are_transposed};
  };
  Comparison comparison(a.view.dtype, b.view.dtype, std::move(transposed));
  COrderReader from_a(a.view, layout(a));
  COrderReader from_b(b.view, layout(b));
  const std::size_t bytes_a = ElementBytes(a.view.dtype);
  const std::size_t bytes_b = ElementBytes(b.view.dtype);
  const std::size_t elements = a.view.data.size() / bytes_a;
  const std::size_t block = std::min(kComparedBytes / std::max(bytes_a, bytes_b), elements);
  std::vector<std::byte> block_a(block * bytes_a);
  std::vector<std::byte> block_b(block * bytes_b);
  for (std::size_t done = 0; done < elements; done += block) {
    const std::size_t n_a = *from_a.Read(block_a);
    const std::size_t n_b = *from_b.Read(block_b);
    comparison.Add(std::span(block_a).first(n_a), std::span(block_b).first(n_b));
  }
  return comparison.Result();
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
