// Latencies counted in buckets as HdrHistogram has them: powers of two, each cut into as many equal
// parts, so that the error is relative. Any number of requests in little memory, and the tail is as
// exact as the median.
//
// Thread safety: none; every thread counts in its own, and Add joins them.
#ifndef WARPFOLD_CLIENT_CPP_LOAD_LATENCY_HISTOGRAM_H_
#define WARPFOLD_CLIENT_CPP_LOAD_LATENCY_HISTOGRAM_H_

#include <chrono>
#include <cstdint>
#include <vector>

namespace warpfold::client {

class LatencyHistogram {
 public:
  // No latency is reported as more than this much above what it was, as a part of it.
  static constexpr double kErrorMax = 1.0 / 512;

  void Record(std::chrono::nanoseconds latency);  // negative counts as 0
  void Add(const LatencyHistogram& other);

  std::int64_t count() const { return count_; }
  std::chrono::nanoseconds max() const { return max_; }
  std::chrono::nanoseconds mean() const;  // 0 of none

  // The latency that `percent` of them do not exceed (nearest rank): the upper end of its bucket,
  // and never more than max(). 0 of none.
  std::chrono::nanoseconds Percentile(double percent) const;

 private:
  std::vector<std::int64_t> counts_;  // as long as the largest latency needs
  std::int64_t count_ = 0;
  std::chrono::nanoseconds max_{0};
  double sum_ns_ = 0;
};

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_LOAD_LATENCY_HISTOGRAM_H_
