#include "server/core/upload_places.h"

#include <algorithm>
#include <utility>

namespace warpfold {

bool UploadPlaces::Take(const std::shared_ptr<Upload>& upload) {
  absl::MutexLock lock(&mutex_);
  if (free_ == 0) {
    waiting_.push_back(upload);
    return false;
  }
  --free_;
  placed_.insert(upload.get());
  return true;
}

void UploadPlaces::Leave(Upload& upload) {
  std::shared_ptr<Upload> next;
  {
    absl::MutexLock lock(&mutex_);
    if (placed_.erase(&upload) == 0) {
      const auto place = std::find_if(
          waiting_.begin(), waiting_.end(),
          [&](const std::shared_ptr<Upload>& other) { return other.get() == &upload; });
      if (place != waiting_.end()) waiting_.erase(place);
      return;
    }
    if (waiting_.empty()) {
      ++free_;
      return;
    }
    next = std::move(waiting_.front());
    waiting_.pop_front();
    placed_.insert(next.get());
  }
  next->OnPlace();
}

}  // namespace warpfold
