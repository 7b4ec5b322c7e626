// How the parts of a reduction's scratch memory lie in one block of it.
#ifndef WARPFOLD_KERNELS_SCRATCH_OFFSETS_H_
#define WARPFOLD_KERNELS_SCRATCH_OFFSETS_H_

#include <cstddef>

namespace warpfold {

// Offsets in a block of scratch memory, one behind the other.
class ScratchOffsets {
 public:
  // Of the block and of all offsets in it.
  static constexpr std::size_t kAlignment = 256;

  // Where so many bytes begin.
  std::size_t Take(std::size_t bytes) {
    const std::size_t offset = total_bytes_;
    total_bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return offset;
  }
  std::size_t total_bytes() const { return total_bytes_; }

 private:
  std::size_t total_bytes_ = 0;
};

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_SCRATCH_OFFSETS_H_
