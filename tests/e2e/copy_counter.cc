// Preloaded into the server (LD_PRELOAD): counts the bytes that memcpy and memmove copy, whoever
// calls them, in the file that $WARPFOLD_COPY_COUNTER names, where a test of another process reads
// them (copy_test.cc).
//
// Copies below kBytesMin, which are headers, names and numbers, do not count; compilers copy
// nothing longer by themselves.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace {

constexpr std::size_t kBytesMin = 512;

std::atomic<std::uint64_t>* copied_bytes = nullptr;  // set before main

__attribute__((constructor)) void MapCounter() {
  const char* path = std::getenv("WARPFOLD_COPY_COUNTER");
  if (path == nullptr) return;
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  void* page = mmap(nullptr, sizeof(*copied_bytes), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (page != MAP_FAILED) copied_bytes = static_cast<std::atomic<std::uint64_t>*>(page);
}

// Loops that the compiler leaves be: GCC would make a call of them to what they are. (Not as an
// option of the command line, which clang-tidy does not know.)
#ifndef __clang__
__attribute__((optimize("no-tree-loop-distribute-patterns")))
#endif
void* Copy(void* to, const void* from, std::size_t bytes, bool backwards) {
  if (copied_bytes != nullptr && bytes >= kBytesMin) {
    copied_bytes->fetch_add(bytes, std::memory_order_relaxed);
  }
  auto* out = static_cast<unsigned char*>(to);
  const auto* in = static_cast<const unsigned char*>(from);
  if (backwards) {
    while (bytes-- > 0) out[bytes] = in[bytes];
  } else {
    for (std::size_t i = 0; i < bytes; ++i) out[i] = in[i];
  }
  return to;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) void* memcpy(void* to, const void* from, std::size_t bytes) {
  return Copy(to, from, bytes, false);
}

__attribute__((visibility("default"))) void* memmove(void* to, const void* from,
                                                     std::size_t bytes) {
  const auto* begin = static_cast<const char*>(from);
  return Copy(to, from, bytes, bytes > 0 && to > from && to < begin + bytes);
}

// What _FORTIFY_SOURCE makes of them.
__attribute__((visibility("default"))) void* __memcpy_chk(void* to, const void* from,
                                                          std::size_t bytes, std::size_t) {
  return memcpy(to, from, bytes);
}

__attribute__((visibility("default"))) void* __memmove_chk(void* to, const void* from,
                                                           std::size_t bytes, std::size_t) {
  return memmove(to, from, bytes);
}

}  // extern "C"
