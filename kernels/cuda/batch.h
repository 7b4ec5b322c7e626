// A batch: many tensors of one dtype and fused op set, each small, at any addresses, in one launch.
// reduce.h's FoldBatch runs it. What a block has to do stands in a table in device memory, one
// BatchItem a tensor; this is the table and the launch's shape. Host arithmetic, tested without a
// GPU.
#ifndef WARPFOLD_KERNELS_CUDA_BATCH_H_
#define WARPFOLD_KERNELS_CUDA_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/host_device.h"
#include "kernels/tiles.h"
#include "kernels/types.h"

namespace warpfold::cuda {

// What became of an item's results. Written by the GPU after them, `outcome` last: a host that sees
// another outcome than kPending there may read them, and the item's data and its place in the table
// are no longer used. May lie in pinned host memory, where a thread can watch it.
struct alignas(16) BatchItemStatus {
  // kUndecided: bounded sums do not tell a result, and it has to be summed exactly.
  enum class Outcome : std::uint32_t { kPending, kFits, kOverflows, kUndecided };
  Outcome outcome = Outcome::kPending;
  Op op = Op::kSum;       // that overflows
  std::int64_t high = 0;  // the exact sum is high * 2^64 + low; 0 for a product
  std::uint64_t low = 0;
};

// One tensor, or one row of a tensor: `count` elements side by side that fold to one state. All
// pointers are device pointers, or pinned host memory that the device can read and write.
struct alignas(16) BatchItem {
  const void* d_data = nullptr;  // any alignment that the element type has; 16 bytes are fastest
  void* d_out = nullptr;         // the state; or the results, op i's array op_stride * i bytes on
  BatchItemStatus* d_status =
      nullptr;                    // null: sums and products fit, and nobody waits for this item
  double correction = 0;          // of VAR and STD
  std::int32_t count = 1;         // 1 ... kBatchBytesMax / (bytes of an element)
  std::int32_t output_index = 0;  // in the arrays
  std::int32_t op_stride = 16;    // a multiple of 8
  std::int32_t op_count = 0;      // 0: the state itself is wanted, fold.h's F::State
  Op ops[kRequestOpsMax] = {};
};
static_assert(sizeof(BatchItem) == 64);

// A block's warps fold a tile each, a power of two of them an item; of items with more tiles than a
// block has warps each warp folds up to kBatchTilesPerWarp.
inline constexpr int kBatchWarps = 8;
inline constexpr int kBatchTilesPerWarp = 16;
inline constexpr std::int64_t kBatchBytesMax =
    kBatchWarps * kBatchTilesPerWarp * static_cast<std::int64_t>(kTileBytes);  // 512 KiB

// Which items a block folds: those that need all of its warps come first in the table, those that
// need half of them next, and so on.
struct BatchLaunch {
  static constexpr int kSizes = 4;  // 8, 4, 2 and 1 warps an item
  std::uint32_t items_end[kSizes] = {};
  std::uint32_t blocks_end[kSizes] = {};

  // Warp w of a block folds tiles of item first_item + w / warps_per_item, if that is below
  // items_end.
  struct Block {
    std::uint32_t first_item;
    std::uint32_t items_end;
    int warps_per_item;
  };

  std::uint32_t blocks() const { return blocks_end[kSizes - 1]; }
  // REQUIRES: block < blocks().
  WARPFOLD_HD Block At(std::uint32_t block) const {
    int size = 0;
    while (block >= blocks_end[size]) ++size;
    const std::uint32_t first_block = size == 0 ? 0 : blocks_end[size - 1];
    const std::uint32_t first_item = size == 0 ? 0 : items_end[size - 1];
    return {first_item + ((block - first_block) << size), items_end[size], kBatchWarps >> size};
  }
};

// Puts `items`, still in host memory, in that order. REQUIRES: counts are as said above; fewer than
// 2^31 items.
BatchLaunch PlanBatch(DType dtype, std::span<BatchItem> items);

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_BATCH_H_
