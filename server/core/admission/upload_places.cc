#include "server/core/admission/upload_places.h"

#include <utility>

namespace warpfold {

void UploadPlaces::Granted::Tell() const {
  for (const std::shared_ptr<Upload>& upload : placed) upload->OnPlace();
  for (const std::shared_ptr<Upload>& upload : asked) upload->OnAsked();
}

bool UploadPlaces::Take(const void* connection, const std::shared_ptr<Upload>& upload) {
  absl::MutexLock lock(&mutex_);
  if (free_ == 0) {
    waiting_.Push(connection, upload);
    return false;
  }
  --free_;
  placed_.insert(upload.get());
  return true;
}

void UploadPlaces::Leave(Upload& upload) {
  Granted granted;
  {
    absl::MutexLock lock(&mutex_);
    Forget(upload);
    waiting_.Remove(&upload);
    silent_.Remove(&upload);
    granted = Grant();
  }
  granted.Tell();
}

UploadPlaces::Granted UploadPlaces::LeaveSilent(Upload& upload) {
  absl::MutexLock lock(&mutex_);
  Forget(upload);
  ++asked_max_;
  return Grant();
}

bool UploadPlaces::TakeForBytes(Upload& upload) {
  absl::MutexLock lock(&mutex_);
  if (placed_.count(&upload) > 0) return true;
  if (asked_.erase(&upload) > 0 && asked_max_ > 0) --asked_max_;
  if (free_ == 0) return false;
  --free_;
  placed_.insert(&upload);
  return true;
}

void UploadPlaces::Forget(const Upload& upload) {
  free_ += static_cast<int>(placed_.erase(&upload));
  asked_.erase(&upload);
}

UploadPlaces::Granted UploadPlaces::Grant() {
  Granted granted;
  while (!waiting_.empty() && free_ > 0) {
    --free_;
    granted.placed.push_back(waiting_.Pop());
    placed_.insert(granted.placed.back().get());
  }
  while (!waiting_.empty() && asked_.size() < asked_max_) {
    granted.asked.push_back(waiting_.Pop());
    asked_.insert(granted.asked.back().get());
  }
  if (waiting_.empty()) asked_max_ = 0;
  return granted;
}

bool UploadPlaces::has_waiting() const {
  absl::MutexLock lock(&mutex_);
  return !waiting_.empty();
}

void UploadPlaces::BeginSilence(const std::shared_ptr<Upload>& upload, Milliseconds now) {
  absl::MutexLock lock(&mutex_);
  while (!silent_.empty() && silent_.front().upload.expired()) silent_.Pop();
  silent_.Remove(upload.get());
  silent_.Push({upload.get(), upload, now});
}

void UploadPlaces::EndSilence(const Upload& upload) {
  absl::MutexLock lock(&mutex_);
  silent_.Remove(&upload);
}

std::shared_ptr<Upload> UploadPlaces::TakeSilent(Milliseconds now) {
  absl::MutexLock lock(&mutex_);
  while (!silent_.empty() && now - silent_.front().since >= kSilentMax) {
    if (std::shared_ptr<Upload> upload = silent_.Pop().upload.lock(); upload != nullptr) {
      return upload;
    }
  }
  return nullptr;
}

void UploadPlaces::EndSilentOnes(std::int64_t bytes, Milliseconds now) {
  while (bytes > 0) {
    const std::shared_ptr<Upload> upload = TakeSilent(now);
    if (upload == nullptr) return;
    bytes -= upload->EndSilent();
  }
}

}  // namespace warpfold
