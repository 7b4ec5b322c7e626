// How elements are cut into tiles and leaves, which CPU and GPUs reduce as one piece. No result
// depends on it.
#ifndef WARPFOLD_KERNELS_TILES_H_
#define WARPFOLD_KERNELS_TILES_H_

#include <cstddef>
#include <cstdint>

namespace warpfold {

// A row tile is kTileRows rows of kLanes lanes x kVectorBytes: what a warp reads with kTileRows
// loads of 16 bytes a lane.
inline constexpr int kLanes = 32;
inline constexpr int kVectorBytes = 16;
inline constexpr int kTileRows = 8;
inline constexpr std::size_t kTileBytes = std::size_t{kLanes} * kVectorBytes * kTileRows;  // 4 KiB

// A column leaf is this many consecutive elements of one column.
inline constexpr int kLeafRows = 8;

// Elements of T in a lane's vector, in a tile's row, in a tile.
template <typename T>
inline constexpr int kVectorElements = kVectorBytes / static_cast<int>(sizeof(T));
template <typename T>
inline constexpr int kRowElements = kLanes* kVectorElements<T>;
template <typename T>
inline constexpr int kTileElements = kTileRows* kRowElements<T>;

constexpr std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// The smallest power of two that is >= n; 1 for n <= 1.
constexpr std::int64_t PowerOfTwoAtLeast(std::int64_t n) {
  std::int64_t power = 1;
  while (power < n) power *= 2;
  return power;
}

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_TILES_H_
