#include "server/core/upload_places.h"

namespace warpfold {

bool UploadPlaces::Take(const std::shared_ptr<Upload>& upload) {
  absl::MutexLock lock(&mutex_);
  if (free_ == 0) {
    waiting_.Push(upload);
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
      waiting_.Remove(&upload);
      return;
    }
    if (waiting_.empty()) {
      ++free_;
      return;
    }
    next = waiting_.Pop();
    placed_.insert(next.get());
  }
  next->OnPlace();
}

}  // namespace warpfold
