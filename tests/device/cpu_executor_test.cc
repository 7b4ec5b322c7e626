// What the CPU backend says of itself.
#include "server/device/cpu/cpu_executor.h"

#include <sys/sysinfo.h>

#include <fstream>
#include <iterator>
#include <string>

#include "gtest/gtest.h"
#include "tests/device/host_budget.h"

namespace warpfold {
namespace {

TEST(CpuExecutorTest, NamesItsProcessorAndItsMemory) {
  std::ifstream file("/proc/cpuinfo");
  const std::string cpuinfo((std::istreambuf_iterator<char>(file)), {});
  const std::string start = "\nmodel name\t: ";
  std::string model = "unknown processor";
  if (const std::size_t at = cpuinfo.find(start); at != std::string::npos) {
    const std::size_t begin = at + start.size();
    model = cpuinfo.substr(begin, cpuinfo.find('\n', begin) - begin);
  }
  struct sysinfo machine {};
  ASSERT_EQ(sysinfo(&machine), 0);

  const CpuExecutor executor{WorkerOptions{}};
  EXPECT_EQ(executor.info().name, "cpu");
  EXPECT_EQ(executor.info().model, model);
  EXPECT_EQ(executor.info().memory_bytes,
            static_cast<std::int64_t>(machine.totalram) * machine.mem_unit);
}

TEST(CpuExecutorTest, TensorsTakeOfTheBudgetAndGiveItBack) {
  CpuExecutor executor{WorkerOptions{}};
  const std::int64_t before = testing::UsedHostBytes();
  const testing::LeftInBudget left(3 << 20);
  {
    const auto tensor = executor.AllocateTensor(2 << 20);
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    EXPECT_EQ(testing::UsedHostBytes() - before, 2 << 20);
    const absl::Status refused = executor.AllocateTensor((1 << 20) + 1).status();
    EXPECT_TRUE(IsNoHostMemory(refused)) << refused;
    EXPECT_TRUE(executor.AllocateTensor(1 << 20).ok());
  }
  EXPECT_EQ(testing::UsedHostBytes(), before);
}

}  // namespace
}  // namespace warpfold
