#include "server/core/admission/upload_places.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace warpfold {
namespace {

using Ms = UploadPlaces::Milliseconds;

constexpr std::int64_t kNoBytes = 0;

class CountedUpload final : public Upload {
 public:
  explicit CountedUpload(std::int64_t bytes = 0) : bytes_(bytes) {}

  void OnPlace() override { ++placed_; }
  void OnAsked() override { ++asked_; }
  std::int64_t EndSilent() override {
    ++ended_;
    return bytes_;
  }
  int placed() const { return placed_; }
  int asked() const { return asked_; }
  int ended() const { return ended_; }

 private:
  const std::int64_t bytes_;
  std::atomic<int> placed_{0};
  int asked_ = 0;
  int ended_ = 0;
};

std::vector<std::shared_ptr<CountedUpload>> MakeUploads(int count, std::int64_t bytes = 0) {
  std::vector<std::shared_ptr<CountedUpload>> uploads;
  for (int i = 0; i < count; ++i) uploads.push_back(std::make_shared<CountedUpload>(bytes));
  return uploads;
}

TEST(UploadPlacesTest, ConnectionsTakeTurns) {
  UploadPlaces places(1, kNoBytes);
  const int hostile = 0, honest = 0;
  const auto many = MakeUploads(100);
  for (const auto& upload : many) places.Take(&hostile, upload);
  const auto few = MakeUploads(3);
  for (const auto& upload : few) EXPECT_FALSE(places.Take(&honest, upload));
  places.Leave(*few[1]);
  places.Leave(*many[0]);
  EXPECT_EQ(many[1]->placed(), 1);
  places.Leave(*many[1]);
  EXPECT_EQ(few[0]->placed(), 1) << "not behind all that came before";
  places.Leave(*few[0]);
  EXPECT_EQ(many[2]->placed(), 1);
  places.Leave(*many[2]);
  EXPECT_EQ(few[2]->placed(), 1);
  places.Leave(*few[2]);
  places.Leave(*many[3]);
  EXPECT_EQ(many[4]->placed(), 1) << "who is alone has all turns";
}

TEST(UploadPlacesTest, WhoWaitsGetsAPlaceInTurn) {
  UploadPlaces places(2, kNoBytes);
  const auto uploads = MakeUploads(6);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(places.Take(nullptr, uploads[i]), i < 2) << i;
  places.Leave(*uploads[3]);  // who waits no more
  places.Leave(*uploads[1]);
  EXPECT_EQ(uploads[2]->placed(), 1);
  places.Leave(*uploads[1]);  // it has left
  EXPECT_EQ(uploads[4]->placed(), 0);
  places.Leave(*uploads[2]);
  EXPECT_EQ(uploads[4]->placed(), 1);
  EXPECT_EQ(uploads[3]->placed(), 0);
  places.Leave(*uploads[0]);
  EXPECT_EQ(uploads[5]->placed(), 1);
  places.Leave(*uploads[4]);
  places.Leave(*uploads[5]);
  EXPECT_TRUE(places.Take(nullptr, uploads[0]));
  EXPECT_TRUE(places.Take(nullptr, uploads[1]));
  EXPECT_FALSE(places.Take(nullptr, uploads[2]));
  places.Leave(*uploads[2]);
}

// Against a model: who has a place, and who waits in which order.
TEST(UploadPlacesTest, KeepsItsPromisesInAnyOrder) {
  constexpr unsigned kSeed = 5;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  constexpr std::size_t kPlaces = 3;
  UploadPlaces places(kPlaces, kNoBytes);
  const auto uploads = MakeUploads(10);
  std::vector<int> expected(uploads.size(), 0);
  std::set<std::size_t> placed;
  std::vector<std::size_t> waiting;
  for (int step = 0; step < 1'000'000; ++step) {
    const std::size_t i = random() % uploads.size();
    const auto place = std::find(waiting.begin(), waiting.end(), i);
    if (placed.count(i) == 0 && place == waiting.end()) {
      ASSERT_EQ(places.Take(nullptr, uploads[i]), placed.size() < kPlaces);
      if (placed.size() < kPlaces) {
        placed.insert(i);
      } else {
        waiting.push_back(i);
      }
      continue;
    }
    places.Leave(*uploads[i]);
    if (place != waiting.end()) {
      waiting.erase(place);
    } else {
      placed.erase(i);
      if (!waiting.empty()) {
        placed.insert(waiting.front());
        ++expected[waiting.front()];
        waiting.erase(waiting.begin());
      }
    }
    for (std::size_t k = 0; k < uploads.size(); ++k) ASSERT_EQ(uploads[k]->placed(), expected[k]);
  }
}

// One place, and a thousand that bring nothing: twice as many have their turn each time.
TEST(UploadPlacesTest, SilentUploadsAreBeforeNobodyForLong) {
  UploadPlaces places(1, kNoBytes);
  const auto uploads = MakeUploads(1000);
  for (const auto& upload : uploads) places.Take(nullptr, upload);
  std::vector<Upload*> in_their_turn = {uploads[0].get()};
  std::size_t begun = 1;
  int rounds = 0;
  for (; begun < uploads.size(); ++rounds) {
    std::vector<Upload*> next;
    for (Upload* upload : in_their_turn) {
      const UploadPlaces::Granted granted = places.LeaveSilent(*upload);
      EXPECT_LE(granted.placed.size(), 1U);
      for (const auto& one : granted.placed) next.push_back(one.get());
      for (const auto& one : granted.asked) next.push_back(one.get());
      granted.Tell();
    }
    for (Upload* upload : next) EXPECT_EQ(upload, uploads[begun++].get()) << "not in turn";
    in_their_turn = std::move(next);
  }
  EXPECT_LE(rounds, 10);
  for (std::size_t i = 1; i < uploads.size(); ++i) {
    EXPECT_EQ(uploads[i]->placed() + uploads[i]->asked(), 1) << i;
  }
}

TEST(UploadPlacesTest, WhoIsAskedAndSendsGetsAPlaceThatIsFree) {
  UploadPlaces places(1, kNoBytes);
  const auto uploads = MakeUploads(5);
  for (const auto& upload : uploads) places.Take(nullptr, upload);
  places.LeaveSilent(*uploads[0]).Tell();
  EXPECT_EQ(uploads[1]->placed(), 1);
  EXPECT_EQ(uploads[2]->asked(), 1);
  EXPECT_FALSE(places.TakeForBytes(*uploads[2])) << "the only place is taken";
  places.Leave(*uploads[2]);
  EXPECT_EQ(uploads[3]->placed() + uploads[3]->asked(), 0) << "one that sends lets nobody by";
  places.Leave(*uploads[1]);
  EXPECT_EQ(uploads[3]->placed(), 1);
  places.Leave(*uploads[4]);  // it waits no more
  places.Leave(*uploads[3]);
  EXPECT_TRUE(places.TakeForBytes(*uploads[0])) << "it had its turn, and sends now";
  EXPECT_TRUE(places.TakeForBytes(*uploads[0])) << "it has it already";
  EXPECT_FALSE(places.Take(nullptr, uploads[1]));
  places.Leave(*uploads[1]);
}

TEST(UploadPlacesTest, NobodyIsAskedOnceNobodyWaits) {
  UploadPlaces places(1, kNoBytes);
  const auto uploads = MakeUploads(4);
  places.Take(nullptr, uploads[0]);
  places.LeaveSilent(*uploads[0]).Tell();
  places.Take(nullptr, uploads[1]);
  places.Take(nullptr, uploads[2]);
  places.Take(nullptr, uploads[3]);
  places.Leave(*uploads[1]);
  EXPECT_EQ(uploads[2]->placed(), 1);
  EXPECT_EQ(uploads[3]->asked(), 0) << "of a silence before it came";
  places.Leave(*uploads[3]);
}

TEST(UploadPlacesTest, TheLongestSilentAreEndedForTheBytesThatOthersNeed) {
  UploadPlaces places(1, kNoBytes);
  auto uploads = MakeUploads(5, 10);
  for (std::size_t i = 0; i < uploads.size(); ++i) {
    places.BeginSilence(uploads[i], Ms(static_cast<int>(i)));
  }
  places.EndSilence(*uploads[1]);
  uploads[0].reset();  // gone without a word
  const Ms now = UploadPlaces::kSilentMax + Ms(3);
  places.EndSilentOnes(0, now);
  EXPECT_EQ(uploads[2]->ended(), 0);
  places.EndSilentOnes(1, now);
  EXPECT_EQ(uploads[2]->ended(), 1);
  EXPECT_EQ(uploads[3]->ended(), 0);
  places.EndSilentOnes(100, now);
  EXPECT_EQ(uploads[3]->ended(), 1);
  EXPECT_EQ(uploads[4]->ended(), 0) << "not silent for long enough";
  EXPECT_EQ(uploads[1]->ended(), 0) << "not silent any more";
  places.BeginSilence(uploads[4], now);  // it has sent something meanwhile
  places.EndSilentOnes(1, now + Ms(1));
  EXPECT_EQ(uploads[4]->ended(), 0);
}

TEST(ByteBudgetTest, IsKeptExceptByOneThatIsAlone) {
  ByteBudget budget(10);
  EXPECT_TRUE(budget.TryAdd(100, 0));
  EXPECT_TRUE(budget.TryAdd(1, 100)) << "its own";
  EXPECT_FALSE(budget.TryAdd(1, 0));
  budget.Drop(95);
  EXPECT_EQ(budget.used_bytes(), 6);
  EXPECT_TRUE(budget.HasRoomFor(4));
  EXPECT_FALSE(budget.HasRoomFor(5));
  EXPECT_TRUE(budget.TryAdd(4, 0));
  EXPECT_FALSE(budget.TryAdd(1, 9));
}

TEST(UploadPlacesTest, ManyThreadsNeverShareAPlace) {
  UploadPlaces places(2, kNoBytes);
  std::atomic<int> inside{0};
  std::atomic<bool> too_many{false};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) {
        const auto upload = std::make_shared<CountedUpload>();
        if (!places.Take(nullptr, upload)) {
          while (upload->placed() == 0) std::this_thread::yield();
        }
        if (inside.fetch_add(1) >= 2) too_many = true;
        inside.fetch_sub(1);
        places.Leave(*upload);
      }
    });
  }
  threads.clear();
  EXPECT_FALSE(too_many);
}

}  // namespace
}  // namespace warpfold
