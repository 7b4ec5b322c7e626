// From a state to the results: the last step of every op, the same text on CPU and GPU.
#ifndef WARPFOLD_KERNELS_FINISH_H_
#define WARPFOLD_KERNELS_FINISH_H_

#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/fold.h"
#include "kernels/host_device.h"
#include "kernels/types.h"

namespace warpfold {

// Where results go: one array an op, indexed by the output element.
struct ResultTargets {
  int count = 0;
  Op ops[kOpCount] = {};
  void* arrays[kOpCount] = {};
  std::int64_t reduced_count = 0;  // elements behind each output, for MEAN
};

// An integer sum that does not fit its result. Of several, the one with the lowest output index is
// reported.
struct Overflow {
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  std::int64_t output_index = kNone;
  std::int64_t high = 0;  // the exact sum is high * 2^64 + low
  std::uint64_t low = 0;
  std::int32_t lock = 0;  // held while the other fields change
};

// Where folded states go: into `states` when it is set (one for each output), else, finished, into
// the targets' arrays from index `first_result` on. All pointers are the backend's own: host memory
// on the CPU, device memory on a GPU. `overflow` is only ever lowered, so that several calls may
// share one.
struct Output {
  void* states = nullptr;
  ResultTargets targets;
  std::int64_t first_result = 0;
  Overflow* overflow = nullptr;
};

// NaN of any sign and payload to the one NaN of the contract: x86 makes 0xffc00000 where a GPU
// makes 0x7fffffff.
template <typename T>
WARPFOLD_HD T CanonicalNan(T x) {
  if constexpr (std::is_same_v<T, float>) {
    return x != x ? BitCast<float>(std::uint32_t{0x7fc00000}) : x;
  } else {
    return x != x ? BitCast<double>(std::uint64_t{0x7ff8000000000000}) : x;
  }
}

// Rounds to nearest even. Written out because the conversion is a library call whose rounding
// differs between compilers.
WARPFOLD_HD double ToDouble(int128 x) {
  const bool negative = x < 0;
  uint128 magnitude = negative ? uint128{0} - static_cast<uint128>(x) : static_cast<uint128>(x);
  double scale = 1.0;
  // Shifted to 64 bits with the lost bits kept as a sticky one, the hardware's conversion rounds as
  // it would the whole.
  while ((magnitude >> 64) != 0) {
    magnitude = (magnitude >> 1) | (magnitude & 1);
    scale *= 2.0;
  }
  const double rounded = static_cast<double>(static_cast<std::uint64_t>(magnitude)) * scale;
  return negative ? -rounded : rounded;
}

template <typename T>
WARPFOLD_HD T FromKey(OrderedKey<T> key) {
  if constexpr (std::is_floating_point_v<T>) {
    return CanonicalNan(BitCast<T>(FlipNegative<T>(key)));
  } else {
    return key;
  }
}

// Writes `state`'s result of every op in `targets` at `index`. False when the integer sum does not
// fit; it is then in
// `*overflow` and the op's result is unspecified.
template <class F>
WARPFOLD_HD bool WriteResults(const ResultTargets& targets, std::int64_t index,
                              const typename F::State& state, int128* overflow) {
  using T = typename F::Element;
  bool fits = true;
  for (int i = 0; i < targets.count; ++i) {
    switch (targets.ops[i]) {
      case Op::kSum:
        if constexpr (F::template kHas<Sum<T>>) {
          const auto sum = F::template Get<Sum<T>>(state);
          if constexpr (std::is_floating_point_v<T>) {
            static_cast<T*>(targets.arrays[i])[index] = CanonicalNan(static_cast<T>(sum));
          } else {
            const std::int64_t narrow = static_cast<std::int64_t>(sum);
            static_cast<std::int64_t*>(targets.arrays[i])[index] = narrow;
            if (narrow != sum) {
              *overflow = sum;
              fits = false;
            }
          }
        }
        break;
      case Op::kMean:
        if constexpr (F::template kHas<Sum<T>>) {
          const auto sum = F::template Get<Sum<T>>(state);
          const double count = static_cast<double>(targets.reduced_count);
          if constexpr (std::is_floating_point_v<T>) {
            static_cast<T*>(targets.arrays[i])[index] = CanonicalNan(static_cast<T>(sum / count));
          } else {
            static_cast<double*>(targets.arrays[i])[index] = ToDouble(sum) / count;
          }
        }
        break;
      case Op::kMin:
        if constexpr (F::template kHas<Min<T>>) {
          static_cast<T*>(targets.arrays[i])[index] = FromKey<T>(F::template Get<Min<T>>(state));
        }
        break;
      case Op::kMax:
        if constexpr (F::template kHas<Max<T>>) {
          static_cast<T*>(targets.arrays[i])[index] = FromKey<T>(F::template Get<Max<T>>(state));
        }
        break;
    }
  }
  return fits;
}

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_FINISH_H_
