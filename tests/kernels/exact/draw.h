// What the generators of inputs draw from: the same numbers for the same engine.
#ifndef WARPFOLD_TESTS_KERNELS_EXACT_DRAW_H_
#define WARPFOLD_TESTS_KERNELS_EXACT_DRAW_H_

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace warpfold::testing {

class Draw {
 public:
  explicit Draw(std::mt19937_64& random) : random_(random) {}

  // In [low, high].
  long Between(long low, long high) {
    return std::uniform_int_distribution<long>(low, high)(random_);
  }
  std::uint64_t UpTo(std::uint64_t high) {
    return std::uniform_int_distribution<std::uint64_t>(0, high)(random_);
  }
  bool OneIn(int n) { return Between(1, n) == 1; }
  std::uint64_t Bits() { return random_(); }
  template <typename T>
  const T& AnyOf(const std::vector<T>& choices) {
    return choices[UpTo(choices.size() - 1)];
  }
  double Normal() { return std::normal_distribution<double>()(random_); }
  void Shuffle(std::vector<std::uint64_t>& x) { std::shuffle(x.begin(), x.end(), random_); }

 private:
  std::mt19937_64& random_;
};

}  // namespace warpfold::testing

#endif  // WARPFOLD_TESTS_KERNELS_EXACT_DRAW_H_
