#include "server/memory_limit.h"

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>

#include "gtest/gtest.h"
#include "tests/temp_folder.h"

namespace warpfold {
namespace {

constexpr std::int64_t kLimitMiB = std::int64_t{1} << 20;

// A kernel's files in a folder of the test's own.
class MemoryLimitTest : public ::testing::Test {
 protected:
  MemoryLimitTest() {
    Put("proc/meminfo", "MemTotal:        8388608 kB\nMemFree:            1024 kB\n");
    Put("proc/self/statm", "1000 300 200 10 0 500 0\n");
  }
  void Put(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(folder_.Path(name)).parent_path());
    folder_.Write(name, text);
  }
  void PutGroup(const std::string& lines) const { Put("proc/self/cgroup", lines); }
  KernelFolders folders() const {
    return {.proc = folder_.Path("proc"), .cgroup = folder_.Path("cgroup")};
  }
  MemoryLimit Read() const { return ReadMemoryLimit(folders()); }
  std::string Source(const std::string& file, const std::string& group) const {
    return file + " of " + folder_.Path("cgroup") + group;
  }

 private:
  const UniqueTempFolder folder_;
};

TEST_F(MemoryLimitTest, WithoutGroupsItIsTheMachines) {
  EXPECT_EQ(Read().bytes, 8192 * kLimitMiB);
  EXPECT_EQ(Read().source, "the machine's memory");
  EXPECT_EQ(ReadUsedMemory(Read(), folders()), 300 * getpagesize());
}

TEST_F(MemoryLimitTest, TheOwnGroupsLimitCounts) {
  PutGroup("0::/pod/server\n");
  Put("cgroup/pod/server/memory.max", "4294967296\n");
  EXPECT_EQ(Read().bytes, 4096 * kLimitMiB);
  EXPECT_EQ(Read().source, Source("memory.max", "/pod/server"));
}

TEST_F(MemoryLimitTest, ALowerOneOfAGroupAboveCounts) {
  PutGroup("0::/pod/server/worker\n");
  Put("cgroup/pod/server/worker/memory.max", "4294967296\n");
  Put("cgroup/pod/server/memory.max", "max\n");
  Put("cgroup/pod/memory.max", "2147483648\n");
  EXPECT_EQ(Read().bytes, 2048 * kLimitMiB);
  EXPECT_EQ(Read().source, Source("memory.max", "/pod"));
}

TEST_F(MemoryLimitTest, MemoryHighCountsAsWell) {
  PutGroup("0::/pod\n");
  Put("cgroup/pod/memory.max", "4294967296\n");
  Put("cgroup/pod/memory.high", "3221225472\n");
  EXPECT_EQ(Read().bytes, 3072 * kLimitMiB);
  EXPECT_EQ(Read().source, Source("memory.high", "/pod"));
}

TEST_F(MemoryLimitTest, InAContainerTheRootIsTheGroup) {
  Put("other/memory.max", "1\n");  // outside of what is seen
  for (const char* path : {"/", "/docker/1a2b", "/../other", ""}) {
    PutGroup(std::string("0::") + path + "\n");
    Put("cgroup/memory.max", "1073741824\n");
    EXPECT_EQ(Read().bytes, 1024 * kLimitMiB) << path;
    EXPECT_EQ(Read().source, Source("memory.max", "")) << path;
  }
}

TEST_F(MemoryLimitTest, WithoutV2ItIsThatOfV1) {
  PutGroup("5:cpu,cpuacct:/\n4:memory:/docker/1a2b\n0::/\n");
  Put("cgroup/memory/docker/1a2b/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(Read().source, "the machine's memory");
  Put("cgroup/memory/docker/memory.limit_in_bytes", "2147483648\n");
  EXPECT_EQ(Read().bytes, 2048 * kLimitMiB);
  EXPECT_EQ(Read().source, Source("memory.limit_in_bytes", "/memory/docker"));
}

TEST_F(MemoryLimitTest, WhatIsNoNumberIsNoLimit) {
  PutGroup("0::/pod\n");
  for (const char* text : {"max\n", "", "\n", "-1\n", "4 GiB\n", "99999999999999999999\n"}) {
    Put("cgroup/pod/memory.max", text);
    const bool is_number = std::string(text) == "4 GiB\n";  // its first word
    EXPECT_EQ(Read().bytes, is_number ? 4 : 8192 * kLimitMiB) << text;
  }
  for (const char* lines : {"", "0::", "no colon\n", ":\n", "0:\n", "::\n"}) {
    PutGroup(lines);
    EXPECT_EQ(Read().source.empty(), false) << lines;
  }
}

TEST_F(MemoryLimitTest, AMachineThatDoesNotSayHasNoLimit) {
  Put("proc/meminfo", "");
  EXPECT_EQ(Read().bytes, std::numeric_limits<std::int64_t>::max());
}

TEST_F(MemoryLimitTest, WhatTheKernelGivesUpFirstIsNotUsed) {
  PutGroup("0::/pod/server\n");
  Put("cgroup/pod/memory.max", "1073741824\n");  // that of the group above is what counts
  Put("cgroup/pod/memory.current", "700000000\n");
  Put("cgroup/pod/memory.stat", "anon 5\ninactive_file 200000000\nactive_file 7\n");
  EXPECT_EQ(ReadUsedMemory(Read(), folders()), 500000000);
  Put("cgroup/pod/memory.current", "100000000\n");
  EXPECT_EQ(ReadUsedMemory(Read(), folders()), 0);
}

TEST_F(MemoryLimitTest, InV1AsWell) {
  PutGroup("4:memory:/pod\n");
  Put("cgroup/memory/pod/memory.limit_in_bytes", "1073741824\n");
  Put("cgroup/memory/pod/memory.usage_in_bytes", "700000000\n");
  Put("cgroup/memory/pod/memory.stat", "inactive_file 1\ntotal_inactive_file 200000000\n");
  EXPECT_EQ(ReadUsedMemory(Read(), folders()), 500000000);
}

}  // namespace
}  // namespace warpfold
