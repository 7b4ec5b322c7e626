// Two oracles for the kernels, written from docs/order.md and from arithmetic, sharing no code with
// kernels/.
//
// CanonicalSum walks the canonical order one element at a time and must agree with every backend
// bit for bit. ExactSum adds in 128-bit arithmetic and bounds the error of what the order computes.
#ifndef WARPFOLD_TESTS_KERNELS_REFERENCE_H_
#define WARPFOLD_TESTS_KERNELS_REFERENCE_H_

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

namespace warpfold::reference {

__extension__ typedef __int128 Wide;
__extension__ typedef __float128 Quad;

// A missing element leaves what it meets unchanged.
using Maybe = std::optional<double>;
inline Maybe Add(Maybe a, Maybe b) {
  if (!a) return b;
  if (!b) return a;
  return *a + *b;
}

// "The binary tree over an index": neighbours pair up, the odd one out goes up alone.
inline Maybe Tree(std::vector<Maybe> level) {
  if (level.empty()) return std::nullopt;
  while (level.size() > 1) {
    std::vector<Maybe> next;
    for (std::size_t i = 0; i < level.size(); i += 2) {
      next.push_back(i + 1 < level.size() ? Add(level[i], level[i + 1]) : level[i]);
    }
    level = std::move(next);
  }
  return level[0];
}

// A row tile of 8 rows x 32 lanes x `vector` elements.
inline Maybe Tile(const std::vector<double>& x, std::size_t begin, std::size_t vector) {
  const std::size_t row = 32 * vector;
  std::vector<Maybe> lanes(32);
  for (std::size_t lane = 0; lane < 32; ++lane) {
    std::vector<Maybe> elements(vector);
    for (std::size_t v = 0; v < vector; ++v) {
      for (std::size_t r = 0; r < 8; ++r) {
        const std::size_t i = begin + r * row + lane * vector + v;
        if (i < x.size()) elements[v] = Add(elements[v], x[i]);
      }
    }
    lanes[lane] = Tree(elements);
  }
  for (std::size_t half : {16, 8, 4, 2, 1}) {
    for (std::size_t lane = 0; lane < half; ++lane)
      lanes[lane] = Add(lanes[lane], lanes[lane + half]);
  }
  return lanes[0];
}

inline Maybe RowSum(const std::vector<double>& x, std::size_t element_bytes) {
  const std::size_t vector = 16 / element_bytes;
  std::vector<Maybe> tiles;
  for (std::size_t i = 0; i < x.size(); i += 256 * vector) tiles.push_back(Tile(x, i, vector));
  return Tree(tiles);
}

inline Maybe ColumnSum(const std::vector<double>& x) {
  std::vector<Maybe> leaves;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i % 8 == 0) leaves.emplace_back();
    leaves.back() = Add(leaves.back(), x[i]);
  }
  return Tree(leaves);
}

// Run of neighbouring dimensions, all reduced or all kept; dimensions of length 1 belong to none.
struct Run {
  bool reduced;
  std::size_t length;
};

inline std::vector<Run> Runs(const std::vector<std::int64_t>& shape,
                             const std::vector<bool>& reduced) {
  std::vector<Run> runs;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    const std::size_t length = static_cast<std::size_t>(shape[d]);
    if (!runs.empty() && runs.back().reduced == reduced[d]) {
      runs.back().length *= length;
    } else {
      runs.push_back({reduced[d], length});
    }
  }
  return runs;
}

// Visits, for one choice of the kept runs' indices, the reduced runs from the outermost in: element
// order for the innermost, the tree for the others.
template <typename T>
class CanonicalSum {
 public:
  CanonicalSum(const std::vector<T>& data, const std::vector<std::int64_t>& shape,
               const std::vector<bool>& reduced)
      : data_(data), runs_(Runs(shape, reduced)), strides_(runs_.size()) {
    std::size_t stride = 1;
    for (std::size_t r = runs_.size(); r-- > 0;) {
      strides_[r] = stride;
      stride *= runs_[r].length;
    }
  }

  // One float64 for each output, in C order of the kept dimensions.
  std::vector<double> All() const {
    std::vector<double> sums;
    Kept(0, 0, sums);
    return sums;
  }

 private:
  void Kept(std::size_t run, std::size_t base, std::vector<double>& sums) const {
    while (run < runs_.size() && runs_[run].reduced) ++run;
    if (run == runs_.size()) {
      sums.push_back(Reduced(0, base).value());
      return;
    }
    for (std::size_t i = 0; i < runs_[run].length; ++i)
      Kept(run + 1, base + i * strides_[run], sums);
  }

  Maybe Reduced(std::size_t run, std::size_t base) const {
    while (run < runs_.size() && !runs_[run].reduced) ++run;
    if (run == runs_.size()) return Maybe(static_cast<double>(data_[base]));
    std::size_t next = run + 1;
    while (next < runs_.size() && !runs_[next].reduced) ++next;
    if (next < runs_.size()) {
      std::vector<Maybe> states;
      for (std::size_t i = 0; i < runs_[run].length; ++i) {
        states.push_back(Reduced(next, base + i * strides_[run]));
      }
      return Tree(states);
    }
    std::vector<double> elements;
    for (std::size_t i = 0; i < runs_[run].length; ++i) {
      elements.push_back(static_cast<double>(data_[base + i * strides_[run]]));
    }
    return strides_[run] == 1 ? RowSum(elements, sizeof(T)) : ColumnSum(elements);
  }

  const std::vector<T>& data_;
  std::vector<Run> runs_;
  std::vector<std::size_t> strides_;
};

}  // namespace warpfold::reference

#endif  // WARPFOLD_TESTS_KERNELS_REFERENCE_H_
