// The oracle of the kernels, written from docs/order.md and from arithmetic, sharing no code with
// kernels/.
//
// Canonical walks the canonical order one element at a time, for any Adder, and must agree with
// every backend bit for bit.
#ifndef WARPFOLD_TESTS_KERNELS_REFERENCE_H_
#define WARPFOLD_TESTS_KERNELS_REFERENCE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

namespace warpfold::reference {

__extension__ typedef __int128 Wide;
__extension__ typedef __float128 Quad;

// Adders: what one component of a reduction does, given float64 elements. A missing element leaves
// what it meets unchanged; of no elements at all the value is Nothing.
struct SumOf {
  using Value = double;
  static constexpr bool kOmitsNan = false;
  static Value Nothing() { return 0; }
  static Value Element(double x) { return x; }
  static Value Next(Value a, double x) { return a + x; }
  static Value Join(Value a, Value b) { return a + b; }
};
struct AbsSumOf : SumOf {
  static Value Element(double x) { return std::fabs(x); }
  static Value Next(Value a, double x) { return a + std::fabs(x); }
};
struct SquareSumOf : SumOf {
  static Value Element(double x) { return x * x; }
  static Value Next(Value a, double x) { return std::fma(x, x, a); }
};
struct ProductOf {
  using Value = double;
  static constexpr bool kOmitsNan = false;
  static Value Nothing() { return 1; }
  static Value Element(double x) { return x; }
  static Value Next(Value a, double x) { return a * x; }
  static Value Join(Value a, Value b) { return a * b; }
};
// Two sweeps over a tile or leaf (see Fold below), and the formula of Chan and others for sets, as
// docs/order.md spells them.
struct MomentsOf {
  struct Value {
    double count, mean, squares;
  };
  static constexpr bool kOmitsNan = false;
  static Value Nothing() { return {0, 0, 0}; }
  static Value Join(Value a, Value b) {
    const double count = a.count + b.count;
    const double apart = a.mean - b.mean;
    if (a.count == b.count) {
      return {count, (a.mean + b.mean) * 0.5,
              (a.squares + b.squares) + (apart * apart) * (a.count * 0.5)};
    }
    return {count, (a.count * a.mean + b.count * b.mean) / count,
            (a.squares + b.squares) + (apart * apart) * ((a.count * b.count) / count)};
  }
};

// To which NaN is missing.
template <class Adder>
struct Omitting : Adder {
  static constexpr bool kOmitsNan = true;
};

template <class Adder>
using Maybe = std::optional<typename Adder::Value>;
template <class Adder>
void Append(Maybe<Adder>& a, double x) {
  if (Adder::kOmitsNan && std::isnan(x)) return;
  a = a ? Adder::Next(*a, x) : Adder::Element(x);
}
template <class Adder>
Maybe<Adder> Join(const Maybe<Adder>& a, const Maybe<Adder>& b) {
  if (!a) return b;
  if (!b) return a;
  return Adder::Join(*a, *b);
}

// "The binary tree over an index": neighbours pair up, the odd one out goes up alone.
template <class Adder>
Maybe<Adder> Tree(std::vector<Maybe<Adder>> level) {
  if (level.empty()) return std::nullopt;
  while (level.size() > 1) {
    std::vector<Maybe<Adder>> next;
    for (std::size_t i = 0; i < level.size(); i += 2) {
      next.push_back(i + 1 < level.size() ? Join<Adder>(level[i], level[i + 1]) : level[i]);
    }
    level = std::move(next);
  }
  return level[0];
}

// A row tile of 8 rows x 32 lanes x `vector` elements.
template <class Adder>
Maybe<Adder> Tile(const std::vector<double>& x, std::size_t begin, std::size_t vector) {
  const std::size_t row = 32 * vector;
  std::vector<Maybe<Adder>> lanes(32);
  for (std::size_t lane = 0; lane < 32; ++lane) {
    std::vector<Maybe<Adder>> elements(vector);
    for (std::size_t v = 0; v < vector; ++v) {
      for (std::size_t r = 0; r < 8; ++r) {
        const std::size_t i = begin + r * row + lane * vector + v;
        if (i < x.size()) Append<Adder>(elements[v], x[i]);
      }
    }
    lanes[lane] = Tree<Adder>(elements);
  }
  for (std::size_t half : {16, 8, 4, 2, 1}) {
    for (std::size_t lane = 0; lane < half; ++lane) {
      lanes[lane] = Join<Adder>(lanes[lane], lanes[lane + half]);
    }
  }
  return lanes[0];
}

// What `fold`, a fold of elements by an adder, makes of two sweeps over `x`.
template <class Adder, class Fold>
Maybe<Adder> FoldTwice(const std::vector<double>& x, const Fold& fold) {
  using Sum = std::conditional_t<Adder::kOmitsNan, Omitting<SumOf>, SumOf>;
  using Squares = std::conditional_t<Adder::kOmitsNan, Omitting<SquareSumOf>, SquareSumOf>;
  const auto is_missing = [](double e) { return Adder::kOmitsNan && std::isnan(e); };
  const double count = static_cast<double>(x.size()) -
                       static_cast<double>(std::count_if(x.begin(), x.end(), is_missing));
  if (count == 0) return std::nullopt;
  const double mean = fold(Sum{}, x).value() / count;
  std::vector<double> deviations;
  for (const double e : x) {
    deviations.push_back(e - mean);
    // From an infinite mean; not one that is missing.
    if (std::isnan(deviations.back()) && !is_missing(e)) {
      return typename Adder::Value{count, mean, deviations.back()};
    }
  }
  return typename Adder::Value{count, mean, fold(Squares{}, deviations).value()};
}

template <class Adder>
Maybe<Adder> Row(const std::vector<double>& x, std::size_t element_bytes) {
  const std::size_t vector = 16 / element_bytes;
  std::vector<Maybe<Adder>> tiles;
  for (std::size_t i = 0; i < x.size(); i += 256 * vector) {
    if constexpr (std::is_base_of_v<MomentsOf, Adder>) {
      const std::vector<double> tile(
          x.begin() + static_cast<std::ptrdiff_t>(i),
          x.begin() + static_cast<std::ptrdiff_t>(std::min(x.size(), i + 256 * vector)));
      tiles.push_back(FoldTwice<Adder>(tile, [&](auto adder, const std::vector<double>& y) {
        return Tile<decltype(adder)>(y, 0, vector);
      }));
    } else {
      tiles.push_back(Tile<Adder>(x, i, vector));
    }
  }
  return Tree<Adder>(tiles);
}

// Elements in order, one after another.
template <class Adder>
Maybe<Adder> Leaf(const std::vector<double>& x) {
  if constexpr (std::is_base_of_v<MomentsOf, Adder>) {
    return FoldTwice<Adder>(
        x, [](auto adder, const std::vector<double>& y) { return Leaf<decltype(adder)>(y); });
  } else {
    Maybe<Adder> leaf;
    for (const double e : x) Append<Adder>(leaf, e);
    return leaf;
  }
}

template <class Adder>
Maybe<Adder> Column(const std::vector<double>& x) {
  std::vector<Maybe<Adder>> leaves;
  for (std::size_t i = 0; i < x.size(); i += 8) {
    const std::vector<double> leaf(
        x.begin() + static_cast<std::ptrdiff_t>(i),
        x.begin() + static_cast<std::ptrdiff_t>(std::min(x.size(), i + 8)));
    leaves.push_back(Leaf<Adder>(leaf));
  }
  return Tree<Adder>(leaves);
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
template <class Adder>
class Canonical {
 public:
  // `data`: the elements as numbers; `element_bytes`: what each took in the tensor.
  Canonical(const std::vector<double>& data, std::size_t element_bytes,
            const std::vector<std::int64_t>& shape, const std::vector<bool>& reduced)
      : data_(data),
        element_bytes_(element_bytes),
        runs_(Runs(shape, reduced)),
        strides_(runs_.size()) {
    std::size_t stride = 1;
    for (std::size_t r = runs_.size(); r-- > 0;) {
      strides_[r] = stride;
      stride *= runs_[r].length;
    }
  }

  // One value for each output, in C order of the kept dimensions.
  std::vector<typename Adder::Value> All() const {
    std::vector<typename Adder::Value> values;
    Kept(0, 0, values);
    return values;
  }

 private:
  void Kept(std::size_t run, std::size_t base, std::vector<typename Adder::Value>& values) const {
    while (run < runs_.size() && runs_[run].reduced) ++run;
    if (run == runs_.size()) {
      values.push_back(Reduced(0, base).value_or(Adder::Nothing()));
      return;
    }
    for (std::size_t i = 0; i < runs_[run].length; ++i)
      Kept(run + 1, base + i * strides_[run], values);
  }

  Maybe<Adder> Reduced(std::size_t run, std::size_t base) const {
    while (run < runs_.size() && !runs_[run].reduced) ++run;
    if (run == runs_.size()) return Leaf<Adder>({data_[base]});
    std::size_t next = run + 1;
    while (next < runs_.size() && !runs_[next].reduced) ++next;
    if (next < runs_.size()) {
      std::vector<Maybe<Adder>> states;
      for (std::size_t i = 0; i < runs_[run].length; ++i) {
        states.push_back(Reduced(next, base + i * strides_[run]));
      }
      return Tree<Adder>(states);
    }
    std::vector<double> elements;
    for (std::size_t i = 0; i < runs_[run].length; ++i) {
      elements.push_back(data_[base + i * strides_[run]]);
    }
    return strides_[run] == 1 ? Row<Adder>(elements, element_bytes_) : Column<Adder>(elements);
  }

  const std::vector<double>& data_;
  const std::size_t element_bytes_;
  std::vector<Run> runs_;
  std::vector<std::size_t> strides_;
};

}  // namespace warpfold::reference

#endif  // WARPFOLD_TESTS_KERNELS_REFERENCE_H_
