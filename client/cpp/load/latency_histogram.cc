#include "client/cpp/load/latency_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

namespace warpfold::client {
namespace {

using std::chrono::nanoseconds;

// Values below 2^kBits have a bucket each; from there on 2^(kBits - 1) buckets share each power of
// two.
constexpr int kBits = 10;
constexpr std::size_t kHalf = std::size_t{1} << (kBits - 1);
static_assert(LatencyHistogram::kErrorMax == 1.0 / kHalf);

std::size_t BucketOf(std::uint64_t value) {
  const int shift = std::max(0, static_cast<int>(std::bit_width(value)) - kBits);
  return static_cast<std::size_t>(shift) * kHalf + static_cast<std::size_t>(value >> shift);
}

// The largest value in a bucket.
std::int64_t UpperEnd(std::size_t bucket) {
  const std::size_t shift = bucket < 2 * kHalf ? 0 : bucket / kHalf - 1;
  const std::uint64_t value = bucket - shift * kHalf;
  return static_cast<std::int64_t>(((value + 1) << shift) - 1);
}

}  // namespace

void LatencyHistogram::Record(nanoseconds latency) {
  latency = std::max(latency, nanoseconds(0));
  const std::size_t bucket = BucketOf(static_cast<std::uint64_t>(latency.count()));
  if (bucket >= counts_.size()) counts_.resize(bucket + 1);
  ++counts_[bucket];
  ++count_;
  max_ = std::max(max_, latency);
  sum_ns_ += static_cast<double>(latency.count());
}

void LatencyHistogram::Add(const LatencyHistogram& other) {
  counts_.resize(std::max(counts_.size(), other.counts_.size()));
  for (std::size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  max_ = std::max(max_, other.max_);
  sum_ns_ += other.sum_ns_;
}

nanoseconds LatencyHistogram::mean() const {
  if (count_ == 0) return nanoseconds(0);
  return nanoseconds(std::llround(sum_ns_ / static_cast<double>(count_)));
}

nanoseconds LatencyHistogram::Percentile(double percent) const {
  const auto rank = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(std::ceil(percent / 100 * static_cast<double>(count_))));
  std::int64_t seen = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= rank) return std::min(nanoseconds(UpperEnd(i)), max_);
  }
  return max_;
}

}  // namespace warpfold::client
