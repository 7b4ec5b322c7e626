#include "server/observe/trace/span_queue.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "server/observe/trace/span_collector.h"

namespace warpfold {
namespace {

SpanFacts Facts(const std::string& id) { return {.request_id = id}; }

// A collector that takes nothing before it is opened.
class Gate {
 public:
  // Takes a batch, and says `answer`.
  bool Send(const std::vector<SpanFacts>& spans) {
    if (sizes_.empty()) begun_.Notify();
    opened_.WaitForNotification();
    sizes_.push_back(spans.size());
    for (const SpanFacts& facts : spans) ids_.push_back(facts.request_id);
    return answer_;
  }
  void AwaitBegun() { begun_.WaitForNotification(); }
  void Open(bool answer = true) {
    answer_ = answer;
    opened_.Notify();
  }
  // Once the queue has ended.
  const std::vector<std::string>& ids() const { return ids_; }
  const std::vector<std::size_t>& sizes() const { return sizes_; }

 private:
  absl::Notification begun_;
  absl::Notification opened_;
  bool answer_ = true;
  std::vector<std::string> ids_;
  std::vector<std::size_t> sizes_;
};

std::unique_ptr<SpanQueue> QueueTo(Gate& gate, std::vector<bool>* reached) {
  return std::make_unique<SpanQueue>(
      [&gate](const std::vector<SpanFacts>& spans) { return gate.Send(spans); },
      [reached](bool now) { reached->push_back(now); });
}

TEST(SpanQueueTest, WhatComesWhileSpansAreSentGoesTogetherInItsOrder) {
  Gate gate;
  std::vector<bool> reached;
  auto queue = QueueTo(gate, &reached);
  queue->Take(Facts("0"));
  gate.AwaitBegun();
  for (int i = 1; i <= 100; ++i) queue->Take(Facts(std::to_string(i)));
  gate.Open();
  queue = nullptr;  // sends what is left
  ASSERT_EQ(gate.ids().size(), 101U);
  for (int i = 0; i <= 100; ++i)
    EXPECT_EQ(gate.ids()[static_cast<std::size_t>(i)], std::to_string(i));
  EXPECT_EQ(gate.sizes(), (std::vector<std::size_t>{1, SpanQueue::kBatchMax, 36}));
  EXPECT_TRUE(reached.empty()) << "it was never out of reach";
}

TEST(SpanQueueTest, ACollectorThatTakesNothingHoldsUpNobodyAndLosesWhatHasNoRoom) {
  Gate gate;
  std::vector<bool> reached;
  auto queue = QueueTo(gate, &reached);
  queue->Take(Facts("first"));
  gate.AwaitBegun();  // it is out of the queue
  for (std::size_t i = 0; i < SpanQueue::kSpansMax + 7; ++i) queue->Take(Facts("more"));
  EXPECT_EQ(queue->dropped().by_queue, 7U);
  EXPECT_EQ(queue->dropped().by_export, 0U);
  gate.Open();
  queue = nullptr;
  EXPECT_EQ(gate.ids().size(), SpanQueue::kSpansMax + 1);
}

TEST(SpanQueueTest, WhatTheCollectorDoesNotTakeIsCountedAndTheEndDoesNotWaitForIt) {
  Gate gate;
  std::vector<bool> reached;
  auto queue = QueueTo(gate, &reached);
  queue->Take(Facts("first"));
  gate.AwaitBegun();
  for (int i = 0; i < 1000; ++i) queue->Take(Facts("more"));
  gate.Open(/*answer=*/false);
  queue = nullptr;
  EXPECT_GE(gate.ids().size(), 1U);
  EXPECT_LE(gate.sizes().size(), 1 + 1000 / SpanQueue::kBatchMax + 1);
  EXPECT_EQ(reached, std::vector<bool>{false}) << "told once";
}

TEST(SpanQueueTest, ItIsToldWhenTheCollectorIsThereAgain) {
  std::atomic<bool> answer{false};
  std::vector<bool> reached;
  absl::Notification lost;
  absl::Notification found;
  {
    SpanQueue queue([&](const std::vector<SpanFacts>&) { return answer.load(); },
                    [&](bool now) {
                      reached.push_back(now);
                      (now ? found : lost).Notify();
                    });
    queue.Take(Facts("lost"));
    lost.WaitForNotification();
    EXPECT_EQ(queue.dropped().by_export, 1U);
    answer = true;
    queue.Take(Facts("found"));
    found.WaitForNotification();
    EXPECT_EQ(queue.dropped().by_export, 1U);
  }
  EXPECT_EQ(reached, (std::vector<bool>{false, true}));
}

}  // namespace
}  // namespace warpfold
