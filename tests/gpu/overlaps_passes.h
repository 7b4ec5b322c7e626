// Whether the GPU tests let passes overlap, where the GPU can.
#ifndef WARPFOLD_TESTS_GPU_OVERLAPS_PASSES_H_
#define WARPFOLD_TESTS_GPU_OVERLAPS_PASSES_H_

#include <cstdlib>

namespace warpfold {

// WARPFOLD_TEST_OVERLAPS_PASSES=0 launches one pass after another, as GPUs before Hopper do.
inline bool TestsOverlapPasses() {
  const char* value = std::getenv("WARPFOLD_TEST_OVERLAPS_PASSES");
  return value == nullptr || *value != '0';
}

}  // namespace warpfold

#endif  // WARPFOLD_TESTS_GPU_OVERLAPS_PASSES_H_
