// Who may read a tensor's chunks now: so many uploads at a time, in the order in which they came.
// The others are not read, so that their senders wait and hold next to nothing here.
//
// Step of a request: 2, decide. Safe from any thread. A place is for uploads that are as fast as
// their connections: whoever waits for its client gives the place up, goes on without, and makes
// room.
#ifndef WARPFOLD_SERVER_CORE_UPLOAD_PLACES_H_
#define WARPFOLD_SERVER_CORE_UPLOAD_PLACES_H_

#include <memory>
#include <unordered_set>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/core/keyed_fifo.h"

namespace warpfold {

class Upload {
 public:
  virtual ~Upload() = default;
  // It has a place now. Comes once after a Take that said false, from whoever gave its own up, with
  // no lock held; at the moment of a Leave perhaps after that.
  virtual void OnPlace() = 0;
};

inline const Upload* KeyOf(const std::shared_ptr<Upload>& upload) { return upload.get(); }

class UploadPlaces {
 public:
  explicit UploadPlaces(int count) : free_(count) {}

  // True: `upload` has a place. False: it waits for one.
  bool Take(const std::shared_ptr<Upload>& upload) ABSL_LOCKS_EXCLUDED(mutex_);

  // Gives up the place, or the wait for one; without effect when it has neither.
  void Leave(Upload& upload) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::Mutex mutex_;
  int free_ ABSL_GUARDED_BY(mutex_);
  std::unordered_set<const Upload*> placed_ ABSL_GUARDED_BY(mutex_);
  KeyedFifo<std::shared_ptr<Upload>> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_UPLOAD_PLACES_H_
