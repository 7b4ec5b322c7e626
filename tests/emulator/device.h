// A GPU that is emulated, for kernels compiled as C++: each of a block's threads runs on a stack of
// its own until it waits for its warp or its block. What a GPU leaves open is drawn: the order of
// blocks, of a block's warps and of a warp's lanes. What would be undefined there ends the process
// here: a warp whose lanes wait in different places, a load that is not aligned.
//
// One block at a time, and one launch: nothing of the memory order between kernels, or between
// blocks, is emulated, nor how fast anything is. Not safe for concurrent use.
#ifndef WARPFOLD_TESTS_EMULATOR_DEVICE_H_
#define WARPFOLD_TESTS_EMULATOR_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <functional>

namespace warpfold::emulator {

inline constexpr int kWarpThreads = 32;

// How a launch's blocks and warps are ordered, from now on.
void SetSeed(std::uint64_t seed);

// Runs `body` once for each thread of each block, in multiples of warps. Dynamic shared
// memory is filled with a pattern before each block. Returns once all have ended.
void Run(unsigned blocks, unsigned threads_per_block, std::size_t shared_bytes,
         const std::function<void()>& body);
// Launches so far that gave their blocks dynamic shared memory.
int LaunchesWithSharedMemory();

// For the thread that calls: what the names of CUDA C++ are made of.

void AwaitBlock();
// Waits until all lanes of the warp are in a call of the same `place`, each with a word. Returns
// their words, valid until the next call.
enum class Place {
  kSyncWarp,
  kShuffle,
  kAny,
  kAll,
  kBallot,
  kReduceMin,
  kReduceMax,
  kReduceAdd,
  kReduceOr
};
const std::uint32_t* Exchange(Place place, std::uint32_t word);
int Lane();

// Asynchronous copies into shared memory: the bytes are a pattern until the wait that covers them.
void CopyAsync(void* to, const void* from, std::size_t bytes);
void CommitCopies();
void AwaitCopies(int groups_left);
void* DynamicShared();

// Ends the process unless `address` is a multiple of `bytes`.
void CheckAligned(const void* address, std::size_t bytes);

}  // namespace warpfold::emulator

#endif  // WARPFOLD_TESTS_EMULATOR_DEVICE_H_
