#include "server/core/tensors/byte_ranges.h"

#include <iterator>

namespace warpfold {

void ByteRanges::Insert(const ByteRange& range) {
  if (range.size() <= 0) return;
  ends_[range.begin] = range.end;
  size_bytes_ += range.size();
}

void ByteRanges::Remove(const ByteRange& range) {
  auto at = ends_.upper_bound(range.begin);
  if (at != ends_.begin()) --at;
  while (at != ends_.end() && at->first < range.end) {
    const ByteRange old = {at->first, at->second};
    if (old.end <= range.begin) {
      ++at;
      continue;
    }
    at = ends_.erase(at);
    size_bytes_ -= old.size();
    Insert({old.begin, range.begin});
    Insert({range.end, old.end});
  }
}

void ByteRanges::Add(const ByteRange& range) {
  Remove(range);
  ByteRange joined = range;
  const auto after = ends_.find(range.end);
  if (after != ends_.end()) {
    joined.end = after->second;
    size_bytes_ -= after->second - after->first;
    ends_.erase(after);
  }
  const auto next = ends_.lower_bound(range.begin);
  if (next != ends_.begin() && std::prev(next)->second == range.begin) {
    const auto before = std::prev(next);
    joined.begin = before->first;
    size_bytes_ -= before->second - before->first;
    ends_.erase(before);
  }
  Insert(joined);
}

bool ByteRanges::Overlaps(const ByteRange& range) const {
  const auto next = ends_.lower_bound(range.end);
  return next != ends_.begin() && std::prev(next)->second > range.begin;
}

}  // namespace warpfold
