#include "server/core/upload_places.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace warpfold {
namespace {

class CountedUpload final : public Upload {
 public:
  void OnPlace() override { ++placed_; }
  int placed() const { return placed_; }

 private:
  std::atomic<int> placed_{0};
};

TEST(UploadPlacesTest, WhoWaitsGetsAPlaceInTurn) {
  UploadPlaces places(2);
  std::vector<std::shared_ptr<CountedUpload>> uploads;
  for (int i = 0; i < 6; ++i) uploads.push_back(std::make_shared<CountedUpload>());
  for (int i = 0; i < 6; ++i) EXPECT_EQ(places.Take(uploads[i]), i < 2) << i;
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
  EXPECT_TRUE(places.Take(uploads[0]));
  EXPECT_TRUE(places.Take(uploads[1]));
  EXPECT_FALSE(places.Take(uploads[2]));
  places.Leave(*uploads[2]);
}

// Against a model: who has a place, and who waits in which order.
TEST(UploadPlacesTest, KeepsItsPromisesInAnyOrder) {
  constexpr unsigned kSeed = 5;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  constexpr std::size_t kPlaces = 3;
  UploadPlaces places(kPlaces);
  std::vector<std::shared_ptr<CountedUpload>> uploads;
  for (int i = 0; i < 10; ++i) uploads.push_back(std::make_shared<CountedUpload>());
  std::vector<int> expected(uploads.size(), 0);
  std::set<std::size_t> placed;
  std::vector<std::size_t> waiting;
  for (int step = 0; step < 1'000'000; ++step) {
    const std::size_t i = random() % uploads.size();
    const auto place = std::find(waiting.begin(), waiting.end(), i);
    if (placed.count(i) == 0 && place == waiting.end()) {
      ASSERT_EQ(places.Take(uploads[i]), placed.size() < kPlaces);
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

TEST(UploadPlacesTest, ManyThreadsNeverShareAPlace) {
  UploadPlaces places(2);
  std::atomic<int> inside{0};
  std::atomic<bool> too_many{false};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) {
        const auto upload = std::make_shared<CountedUpload>();
        if (!places.Take(upload)) {
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
