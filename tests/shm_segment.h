// A POSIX shared memory segment of a test's own, gone with the object.
#ifndef WARPFOLD_TESTS_SHM_SEGMENT_H_
#define WARPFOLD_TESTS_SHM_SEGMENT_H_

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "gtest/gtest.h"

namespace warpfold {

class ShmSegment {
 public:
  static constexpr char kPrefix[] = "/warpfold-test-";

  explicit ShmSegment(std::string_view bytes, const std::string& prefix = kPrefix)
      : key_(prefix + std::to_string(getpid()) + "-" + std::to_string(Number())) {
    shm_unlink(key_.c_str());
    descriptor_ = shm_open(key_.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    EXPECT_GE(descriptor_, 0) << key_;
    Write(bytes, 0);
  }
  ShmSegment(const ShmSegment&) = delete;
  ShmSegment& operator=(const ShmSegment&) = delete;
  ~ShmSegment() {
    close(descriptor_);
    shm_unlink(key_.c_str());
  }

  const std::string& key() const { return key_; }
  void Write(std::string_view bytes, std::int64_t offset) const {
    EXPECT_EQ(pwrite(descriptor_, bytes.data(), bytes.size(), offset), std::ssize(bytes));
  }
  std::string Read(std::size_t size, std::int64_t offset) const {
    std::string bytes(size, '\0');
    EXPECT_EQ(pread(descriptor_, bytes.data(), size, offset), std::ssize(bytes));
    return bytes;
  }
  void Truncate(std::int64_t bytes) const { EXPECT_EQ(ftruncate(descriptor_, bytes), 0); }
  // Its name goes; whoever has it open keeps it.
  void Unlink() const { EXPECT_EQ(shm_unlink(key_.c_str()), 0); }

 private:
  static int Number() {
    static std::atomic<int> next{0};
    return next++;
  }

  const std::string key_;
  int descriptor_ = -1;
};

}  // namespace warpfold

#endif  // WARPFOLD_TESTS_SHM_SEGMENT_H_
