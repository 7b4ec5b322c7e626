#include "tests/emulator/device.h"

#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "cuda_runtime.h"

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace warpfold::emulator {
namespace {

constexpr std::size_t kStackBytes = 256 << 10;
constexpr unsigned kThreadsMax = 1024;
constexpr int kPattern = 0xEE;

struct Copy {
  void* to;
  const void* from;
  std::size_t bytes;
  int group;
};

struct Thread {
  enum class State { kRuns, kAtWarp, kAtBlock, kEnded };
  const std::unique_ptr<char[]> stack{new char[kStackBytes]};
  ucontext_t context{};
  State state = State::kRuns;
  Place place{};
  std::uint32_t word = 0;
  std::vector<Copy> copies;
  int group = 0;
};

struct Warp {
  enum class State { kRuns, kAtBlock, kEnded };
  State state = State::kRuns;
  std::uint32_t words[kWarpThreads];
};

std::mt19937_64 random_order(1);
int launches_with_shared_memory = 0;

// The block that runs.
std::vector<Thread> threads(kThreadsMax);
std::vector<Warp> warps;
std::vector<uint4> dynamic_shared;
const std::function<void()>* body_of_all = nullptr;
ucontext_t scheduler;
unsigned current = 0;

[[noreturn]] void Die(const char* what) {
  std::fprintf(stderr, "emulated GPU: %s, block %u, thread %u\n", what, blockIdx.x, current);
  std::abort();
}

void Wait(Thread::State state) {
  Thread& thread = threads[current];
  thread.state = state;
  swapcontext(&thread.context, &scheduler);
}

void RunBody() {
  (*body_of_all)();
  Wait(Thread::State::kEnded);
}

void Start(Thread& thread) {
  thread.state = Thread::State::kRuns;
  thread.copies.clear();
  thread.group = 0;
  getcontext(&thread.context);
  thread.context.uc_stack.ss_sp = thread.stack.get();
  thread.context.uc_stack.ss_size = kStackBytes;
  thread.context.uc_link = nullptr;
  makecontext(&thread.context, RunBody, 0);
}

void Resume(unsigned number) {
  current = number;
  threadIdx.x = number;
  swapcontext(&scheduler, &threads[number].context);
}

// All lanes of warp `number` up to where they wait next, which must be the same place.
void Step(unsigned number) {
  Warp& warp = warps[number];
  const unsigned first = number * kWarpThreads;
  std::array<unsigned, kWarpThreads> order;
  std::iota(order.begin(), order.end(), first);
  std::shuffle(order.begin(), order.end(), random_order);
  for (const unsigned thread : order) Resume(thread);
  const Thread& leader = threads[first];
  for (unsigned lane = 1; lane < kWarpThreads; ++lane) {
    const Thread& thread = threads[first + lane];
    if (thread.state != leader.state) Die("lanes of a warp wait in different places");
    if (leader.state == Thread::State::kAtWarp && thread.place != leader.place) {
      Die("lanes of a warp exchange words in different ways");
    }
  }
  switch (leader.state) {
    case Thread::State::kAtWarp:
      for (unsigned lane = 0; lane < kWarpThreads; ++lane) {
        warp.words[lane] = threads[first + lane].word;
      }
      return;
    case Thread::State::kAtBlock:
      warp.state = Warp::State::kAtBlock;
      return;
    case Thread::State::kEnded:
      warp.state = Warp::State::kEnded;
      return;
    case Thread::State::kRuns:
      Die("a thread neither waits nor has ended");
  }
}

void RunBlock() {
  for (Warp& warp : warps) warp.state = Warp::State::kRuns;
  for (unsigned t = 0; t < blockDim.x; ++t) Start(threads[t]);
  std::vector<unsigned> running;
  while (true) {
    running.clear();
    for (unsigned w = 0; w < warps.size(); ++w) {
      if (warps[w].state == Warp::State::kRuns) running.push_back(w);
    }
    if (!running.empty()) {
      Step(running[random_order() % running.size()]);
      continue;
    }
    // All that have not ended wait for each other.
    bool any = false;
    for (Warp& warp : warps) {
      if (warp.state != Warp::State::kAtBlock) continue;
      warp.state = Warp::State::kRuns;
      any = true;
    }
    if (!any) return;
  }
}

}  // namespace

void SetSeed(std::uint64_t seed) { random_order.seed(seed); }

int LaunchesWithSharedMemory() { return launches_with_shared_memory; }

void Run(unsigned blocks, unsigned threads_per_block, std::size_t shared_bytes,
         const std::function<void()>& body) {
  if (blocks == 0 || threads_per_block == 0 || threads_per_block > kThreadsMax ||
      threads_per_block % kWarpThreads != 0) {
    Die("no such launch");
  }
  if (shared_bytes > 0) ++launches_with_shared_memory;
  blockDim.x = threads_per_block;
  gridDim.x = blocks;
  body_of_all = &body;
  warps.resize(threads_per_block / kWarpThreads);
  dynamic_shared.resize((shared_bytes + sizeof(uint4) - 1) / sizeof(uint4));
  std::vector<unsigned> order(blocks);
  std::iota(order.begin(), order.end(), 0U);
  std::shuffle(order.begin(), order.end(), random_order);
  for (const unsigned block : order) {
    blockIdx.x = block;
    std::memset(static_cast<void*>(dynamic_shared.data()), kPattern,
                dynamic_shared.size() * sizeof(uint4));
    RunBlock();
  }
}

void AwaitBlock() { Wait(Thread::State::kAtBlock); }

const std::uint32_t* Exchange(Place place, std::uint32_t word) {
  threads[current].place = place;
  threads[current].word = word;
  Wait(Thread::State::kAtWarp);
  return warps[current / kWarpThreads].words;
}

int Lane() { return static_cast<int>(current % kWarpThreads); }

void CopyAsync(void* to, const void* from, std::size_t bytes) {
  CheckAligned(to, bytes);
  CheckAligned(from, bytes);
  Thread& thread = threads[current];
  thread.copies.push_back({to, from, bytes, thread.group});
  std::memset(to, kPattern, bytes);
}

void CommitCopies() { ++threads[current].group; }

void AwaitCopies(int groups_left) {
  Thread& thread = threads[current];
  std::erase_if(thread.copies, [&](const Copy& copy) {
    if (copy.group >= thread.group - groups_left) return false;
    std::memcpy(copy.to, copy.from, copy.bytes);
    return true;
  });
}

void* DynamicShared() { return dynamic_shared.data(); }

void CheckAligned(const void* address, std::size_t bytes) {
  if (reinterpret_cast<std::uintptr_t>(address) % bytes != 0) Die("an address is not aligned");
}

}  // namespace warpfold::emulator
