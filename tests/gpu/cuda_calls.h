// How often this program and the libraries beside it call what takes memory or waits for a GPU, by
// functions of the CUDA runtime's names that stand in front of its own.
#ifndef WARPFOLD_TESTS_GPU_CUDA_CALLS_H_
#define WARPFOLD_TESTS_GPU_CUDA_CALLS_H_

namespace warpfold {

// Of this thread, so far: allocations and frees of the device's or of pinned memory, and of the
// C++ heap; waits and copies that wait.
struct CudaCalls {
  int allocations = 0;
  int waits = 0;

  friend bool operator==(const CudaCalls&, const CudaCalls&) = default;
};
CudaCalls CudaCallsOfThread();

}  // namespace warpfold

#endif  // WARPFOLD_TESTS_GPU_CUDA_CALLS_H_
