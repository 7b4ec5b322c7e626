// Memory that ends where nothing may be read or written.
#ifndef WARPFOLD_TESTS_EMULATOR_GUARDED_MEMORY_H_
#define WARPFOLD_TESTS_EMULATOR_GUARDED_MEMORY_H_

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace warpfold::emulator {

// `bytes` bytes that start `offset` past a multiple of 16, filled with a pattern. A page in front
// of them and one behind ends the process when it is touched; less than 16 bytes behind them are
// not watched.
class GuardedMemory {
 public:
  explicit GuardedMemory(std::size_t bytes, std::size_t offset = 0) {
    constexpr std::size_t kAlignment = 16;
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t body = (bytes + offset + kAlignment + page - 1) / page * page;
    map_bytes_ = body + 2 * page;
    map_ = static_cast<char*>(
        mmap(nullptr, map_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (map_ == MAP_FAILED) std::abort();
    mprotect(map_, page, PROT_NONE);
    mprotect(map_ + page + body, page, PROT_NONE);
    std::memset(map_ + page, 0xA5, body);
    // The end of the body is a multiple of 16.
    data_ =
        map_ + page + body - (bytes + offset + kAlignment - 1) / kAlignment * kAlignment + offset;
  }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  ~GuardedMemory() { munmap(map_, map_bytes_); }

  char* data() const { return data_; }

 private:
  char* map_;
  std::size_t map_bytes_;
  char* data_;
};

}  // namespace warpfold::emulator

#endif  // WARPFOLD_TESTS_EMULATOR_GUARDED_MEMORY_H_
