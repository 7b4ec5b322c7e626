#include "server/memory_watch.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "server/memory_limit.h"
#include "tests/temp_folder.h"

namespace warpfold {
namespace {

constexpr std::chrono::milliseconds kOften{1};

TEST(NextPressureTest, ALevelBeginsAtItsPartAndIsLeftFiveHundredthsBelow) {
  const auto next = [](Pressure now, std::int64_t used) { return NextPressure(now, used, 100); };
  for (const Pressure now : {Pressure::kNone, Pressure::kHigh, Pressure::kCritical}) {
    EXPECT_EQ(next(now, 0), Pressure::kNone);
    EXPECT_EQ(next(now, 80), Pressure::kNone);
    EXPECT_EQ(next(now, 85), Pressure::kHigh);
    EXPECT_EQ(next(now, 92), Pressure::kCritical);
    EXPECT_EQ(next(now, 1000), Pressure::kCritical);
  }
  EXPECT_EQ(next(Pressure::kNone, 84), Pressure::kNone);
  EXPECT_EQ(next(Pressure::kHigh, 81), Pressure::kHigh);
  EXPECT_EQ(next(Pressure::kHigh, 91), Pressure::kHigh);
  EXPECT_EQ(next(Pressure::kCritical, 88), Pressure::kCritical);
  EXPECT_EQ(next(Pressure::kCritical, 87), Pressure::kHigh);
  EXPECT_EQ(next(Pressure::kCritical, 81), Pressure::kHigh) << "as it was above 0.85";
}

// Memory in use as the test tells it, look by look.
TEST(MemoryWatchTest, TellsEachChangeOnceAndGivesBackWhileItSheds) {
  const std::vector<std::int64_t> used = {10, 86, 86, 93, 90, 84, 80, 10};
  std::size_t looks = 0;
  int given_back = 0;
  std::vector<std::pair<Pressure, std::int64_t>> changes;
  absl::Notification over;
  {
    const MemoryWatch watch(
        {.limit_bytes = 100,
         .read_used =
             [&] {
               if (looks == used.size() && !over.HasBeenNotified()) {
                 over.Notify();
               }
               return looks < used.size() ? used[looks++] : used.back();
             },
         .give_back = [&] { ++given_back; },
         .on_change = [&](Pressure pressure,
                          std::int64_t used_bytes) { changes.emplace_back(pressure, used_bytes); }},
        kOften);
    over.WaitForNotification();
    EXPECT_EQ(watch.used_bytes(), 10);
    EXPECT_EQ(watch.pressure(), Pressure::kNone);
  }
  const std::vector<std::pair<Pressure, std::int64_t>> expected = {{Pressure::kHigh, 86},
                                                                   {Pressure::kCritical, 93},
                                                                   {Pressure::kHigh, 84},
                                                                   {Pressure::kNone, 80}};
  EXPECT_EQ(changes, expected);
  EXPECT_EQ(given_back, 5);
}

TEST(MemoryWatchTest, ItsEndDoesNotWaitForTheNextLook) {
  const MemoryWatch watch({.limit_bytes = 100,
                           .read_used = [] { return std::int64_t{10}; },
                           .give_back = [] {},
                           .on_change = [](Pressure, std::int64_t) {}},
                          std::chrono::hours(1));
}

// From the kernel's files to admission's answers.
class WatchedGroupTest : public ::testing::Test {
 protected:
  WatchedGroupTest() {
    Put("proc/self/cgroup", "0::/pod\n");
    Put("cgroup/pod/memory.max", "1000000\n");
    Put("cgroup/pod/memory.stat", "inactive_file 100000\n");
    Use(100'000);
    watch_ = std::make_unique<MemoryWatch>(
        MemoryWatch::Parts{.limit_bytes = limit().bytes,
                           .read_used = [this] { return ReadUsedMemory(limit(), folders_); },
                           .give_back = GiveBackFreeMemory,
                           .on_change =
                               [this](Pressure pressure, std::int64_t /*used_bytes*/) {
                                 admission_.SetPressure(pressure);
                                 absl::MutexLock lock(&mutex_);
                                 pressure_ = pressure;
                               }},
        kOften);
  }
  // So much without the files that the kernel gives up first.
  void Use(std::int64_t bytes) {
    // Whole in one step, as the kernel's are.
    Put("cgroup/pod/next", std::to_string(bytes + 100'000) + "\n");
    std::filesystem::rename(folder_.Path("cgroup/pod/next"),
                            folder_.Path("cgroup/pod/memory.current"));
  }
  void Await(Pressure pressure) {
    const auto reached = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return pressure_ == pressure; };
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&reached));
  }
  MemoryLimit limit() const { return ReadMemoryLimit(folders_); }

  AdmissionController admission_{AdmissionOptions{}};

 private:
  void Put(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(folder_.Path(name)).parent_path());
    folder_.Write(name, text);
  }

  const UniqueTempFolder folder_;
  const KernelFolders folders_{.proc = folder_.Path("proc"), .cgroup = folder_.Path("cgroup")};
  absl::Mutex mutex_;
  Pressure pressure_ ABSL_GUARDED_BY(mutex_) = Pressure::kNone;
  std::unique_ptr<MemoryWatch> watch_;
};

TEST_F(WatchedGroupTest, AFullGroupIsSpared) {
  constexpr std::int64_t kLarge = (1 << 20) + 1;
  EXPECT_TRUE(admission_.Admit({.payload = kLarge}).ok());
  Use(850'000);
  Await(Pressure::kHigh);
  EXPECT_FALSE(admission_.Admit({.payload = kLarge}).ok());
  EXPECT_TRUE(admission_.Admit({.payload = kLarge - 1}).ok());
  Use(920'000);
  Await(Pressure::kCritical);
  EXPECT_FALSE(admission_.Admit({.payload = 0}).ok());
  Use(800'000);
  Await(Pressure::kNone);
  EXPECT_TRUE(admission_.Admit({.payload = kLarge}).ok());
}

}  // namespace
}  // namespace warpfold
