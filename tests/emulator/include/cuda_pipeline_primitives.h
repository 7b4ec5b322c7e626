// Asynchronous copies of a thread, for the emulated GPU.
#ifndef WARPFOLD_TESTS_EMULATOR_INCLUDE_CUDA_PIPELINE_PRIMITIVES_H_
#define WARPFOLD_TESTS_EMULATOR_INCLUDE_CUDA_PIPELINE_PRIMITIVES_H_

#include <cstddef>

#include "tests/emulator/device.h"

inline void __pipeline_memcpy_async(void* to, const void* from, std::size_t bytes) {
  warpfold::emulator::CopyAsync(to, from, bytes);
}
inline void __pipeline_commit() { warpfold::emulator::CommitCopies(); }
inline void __pipeline_wait_prior(int groups_left) { warpfold::emulator::AwaitCopies(groups_left); }

#endif  // WARPFOLD_TESTS_EMULATOR_INCLUDE_CUDA_PIPELINE_PRIMITIVES_H_
