// A set of bytes as ranges that do not touch: which part of a tensor has been written, or is being
// written.
//
// Step of a request: 2, decide. A value; not safe for concurrent use.
#ifndef WARPFOLD_SERVER_CORE_TENSORS_BYTE_RANGES_H_
#define WARPFOLD_SERVER_CORE_TENSORS_BYTE_RANGES_H_

#include <cstddef>
#include <cstdint>
#include <map>

namespace warpfold {

struct ByteRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;  // one past the last; > begin

  std::int64_t size() const { return end - begin; }
};

class ByteRanges {
 public:
  void Add(const ByteRange& range);
  void Remove(const ByteRange& range);
  bool Overlaps(const ByteRange& range) const;

  // The bytes in it, and the ranges that they make.
  std::int64_t size_bytes() const { return size_bytes_; }
  std::size_t count() const { return ends_.size(); }

 private:
  void Insert(const ByteRange& range);

  std::map<std::int64_t, std::int64_t> ends_;  // by begin; no two overlap or touch
  std::int64_t size_bytes_ = 0;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_TENSORS_BYTE_RANGES_H_
