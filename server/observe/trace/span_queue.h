// Spans on their way to a collector: a bounded queue, and a thread that sends what is in it.
//
// Step of a request: 4, report. No timer: spans that come while others are being sent go in one
// batch after them. Safe from any thread.
#ifndef WARPFOLD_SERVER_OBSERVE_TRACE_SPAN_QUEUE_H_
#define WARPFOLD_SERVER_OBSERVE_TRACE_SPAN_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/observe/trace/span_sink.h"

namespace warpfold {

class SpanQueue final : public SpanSink {
 public:
  static constexpr std::size_t kSpansMax = 2048;  // that wait; some 1 MiB
  static constexpr std::size_t kBatchMax = 64;    // that are sent together

  // Sends spans, and waits until they are there, or will not be: false. On the queue's thread.
  using Export = std::function<bool(const std::vector<SpanFacts>&)>;
  // Told when an export has failed after one that had not, or the first, and the other way round.
  // On the queue's thread.
  using OnReached = std::function<void(bool reached)>;

  SpanQueue(Export send, OnReached on_reached);
  // Sends what is left, unless the last export failed.
  ~SpanQueue() override;

  void Take(SpanFacts facts) override ABSL_LOCKS_EXCLUDED(mutex_);
  DroppedSpans dropped() const override ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return ends_ || !queue_.empty(); }
  std::vector<SpanFacts> TakeBatch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of spans that were sent.
  void Note(bool reached, std::size_t spans) ABSL_LOCKS_EXCLUDED(mutex_);

  const Export send_;
  const OnReached on_reached_;
  mutable absl::Mutex mutex_;
  std::deque<SpanFacts> queue_ ABSL_GUARDED_BY(mutex_);
  DroppedSpans dropped_ ABSL_GUARDED_BY(mutex_);
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;
  bool reached_ ABSL_GUARDED_BY(mutex_) = true;
  std::jthread thread_;  // last: it uses the above
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_OBSERVE_TRACE_SPAN_QUEUE_H_
