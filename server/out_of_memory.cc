#include "server/out_of_memory.h"

#include <unistd.h>

#include <new>

#include "server/device/host_bytes.h"

// tcmalloc's, which the server's binary has and a test's or a sanitizer's has not.
extern "C" int tc_set_new_mode(int calls_new_handler) __attribute__((weak));

namespace warpfold {
namespace {

// Allocates nothing, and runs no destructor: any of them might.
[[noreturn]] void EndWithALine() {
  if (BadAllocScope::IsOpen()) throw std::bad_alloc();
  constexpr char kLine[] = "warpfold-server: out of memory: ends with exit code 70\n";
  if (write(STDERR_FILENO, kLine, sizeof(kLine) - 1) < 0) {
    // Nobody is left to be told.
  }
  _exit(kExitOutOfMemory);
}

}  // namespace

void EndWhenOutOfMemory() {
  std::set_new_handler(EndWithALine);
  if (tc_set_new_mode != nullptr) tc_set_new_mode(1);
}

}  // namespace warpfold
